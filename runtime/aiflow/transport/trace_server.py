"""A small HTTP server that answers every chat request with one trace, at the trace's own times.

So tests, the demo and `aiflow replay` go through real sockets without a key. It honours
backpressure: it writes on only when the client has taken what was written, and stops at
once when the client is gone. For this machine only, unless an address says otherwise.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from dataclasses import dataclass
from typing import Any, cast

import h11

from aiflow.clock import Clock
from aiflow.errors import TraceError
from aiflow.transport.trace import Trace, TracePiece

_LOG = logging.getLogger(__name__)
_MAX_REQUEST_BYTES = 16 * 1024 * 1024
# What the kernel may hold for a client that does not read.
SEND_BUFFER_BYTES = 32 * 1024
_PATHS = {
    "openai-chat": ("POST /v1/chat/completions", ("/chat/completions",)),
    "openai-responses": ("POST /v1/responses", ("/responses",)),
    "anthropic-messages": ("POST /v1/messages", ("/messages",)),
    "gemini": ("POST /v1beta/models/NAME:streamGenerateContent", (":streamGenerateContent",)),
    "ollama": ("POST /api/chat", ("/api/chat", "/api/generate")),
}
# In these a stream must be asked for; the others send one unless told otherwise.
_STREAMS_WHEN_ASKED = ("openai-chat", "openai-responses", "anthropic-messages")
_OTHER_DIALECT = ("POST /", ("/",))


@dataclass(slots=True)
class ServerCounts:
    """What has happened so far.

    Attributes:
        opened: connections that clients made. `closed`: those that are gone again.
        requests: requests for a stream. `finished`: those that were served to the end.
        written_bytes: bytes of traces handed to the sockets.
    """

    opened: int = 0
    closed: int = 0
    requests: int = 0
    finished: int = 0
    written_bytes: int = 0


class TraceServer:
    """Serves one trace.

    Args:
        trace: what every chat request is answered with.
        clock: paces it; must be a real one.
        host: address to listen at.
        port: port to listen at, 0 for any free one.
        speed: 2 is twice as fast as recorded; None as fast as the client reads.

    Attributes:
        counts: what has happened so far.
    """

    def __init__(
        self,
        trace: Trace,
        clock: Clock,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        speed: float | None = 1.0,
    ) -> None:
        self.counts = ServerCounts()
        self._host = host
        self._port = port
        self._shared = _Shared(trace, clock, speed, self.counts)
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The server's address, without a path; only while it runs."""
        if self._server is None:
            raise RuntimeError("the trace server has not been started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def open_connections(self) -> int:
        """Connections that are open now."""
        return len(self._shared.connections)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the address is taken or not this machine's.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._shared), self._host, self._port
        )

    async def stop(self) -> None:
        """Close all connections and the port; safe to repeat."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        tasks = [task for each in list(self._shared.connections) if (task := each.abort())]
        await asyncio.gather(*tasks, return_exceptions=True)
        # The loop tells a closed connection so only in its next turn.
        await self._shared.is_idle.wait()
        await server.wait_closed()


class _Shared:
    """What the connections of one server share."""

    def __init__(
        self, trace: Trace, clock: Clock, speed: float | None, counts: ServerCounts
    ) -> None:
        self.trace = trace
        self.clock = clock
        self.speed = speed
        self.counts = counts
        self.connections: set[_Connection] = set()
        self.is_idle = asyncio.Event()
        self.is_idle.set()


class _Connection(asyncio.Protocol):
    """One client's connection: reads requests, answers them one after another."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._trace = shared.trace
        self._counts = shared.counts
        self._http = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = b""
        self._answer: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._transport = cast(asyncio.Transport, None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection and make its buffers small."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=SEND_BUFFER_BYTES)
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._counts.opened += 1
        self._shared.connections.add(self)
        self._shared.is_idle.clear()

    def connection_lost(self, error: Exception | None) -> None:
        """Stop answering: nobody listens any more."""
        self._counts.closed += 1
        self._shared.connections.discard(self)
        if not self._shared.connections:
            self._shared.is_idle.set()
        if self._answer is not None:
            self._answer.cancel()

    def abort(self) -> asyncio.Task[None] | None:
        """Cut the connection; return the task that still has to end, if any."""
        self._transport.abort()
        if self._answer is not None:
            self._answer.cancel()
        return self._answer

    def pause_writing(self) -> None:
        """Hold the answer: the client does not read."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        """Read what the client sends."""
        try:
            self._http.receive_data(data)
            self._read_requests()
        except h11.RemoteProtocolError:
            self._transport.close()

    def _read_requests(self) -> None:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Request):
                self._request, self._body = event, b""
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > _MAX_REQUEST_BYTES:
                    self._transport.close()
                    return
            elif isinstance(event, h11.EndOfMessage):
                # Kept by the connection, which ends it; its errors are told by `_serve`.
                self._answer = asyncio.get_running_loop().create_task(self._serve())
            else:
                self._transport.close()
                return

    async def _serve(self) -> None:
        """Answer the request that has come, then look for the next."""
        try:
            if fault := self._fault():
                self._send_json(*fault)
            elif self._is_listing():
                self._send_json(200, self._models())
            else:
                await self._send_trace()
        except TraceError as error:
            _LOG.warning("%s", error)
            self._transport.abort()
        if self._transport.is_closing():
            return
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._read_requests()
        else:
            self._transport.close()

    async def _send_trace(self) -> None:
        self._counts.requests += 1
        clock, speed = self._shared.clock, self._shared.speed
        began = clock.now()
        content_type = self._trace.content_type or "text/plain"
        headers = [("content-type", content_type), ("transfer-encoding", "chunked")]
        self._send(h11.Response(status_code=200, headers=headers))
        end = "closed"
        for entry in self._trace.entries():
            if not isinstance(entry, TracePiece):
                end = entry
                break
            if speed is not None:
                await clock.sleep_until(began + entry.at / speed)
            self._send(h11.Data(data=entry.data))
            self._counts.written_bytes += len(entry.data)
            # A turn of the loop even where nothing waits, so that one client never has it all.
            await asyncio.sleep(0)
            await self._may_write.wait()
        if end == "broken":
            self._transport.abort()
            return
        self._send(h11.EndOfMessage())
        self._counts.finished += 1

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _send_json(self, status: int, value: Any) -> None:  # noqa: ANN401 - any JSON value
        body = json.dumps(value).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        self._send(h11.Response(status_code=status, headers=headers))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())

    def _fault(self) -> tuple[int, dict[str, Any]] | None:
        """Return the refusal of a request that a trace cannot answer."""
        method, path = self._method, self._path
        call, ends = _PATHS.get(self._trace.dialect, _OTHER_DIALECT)
        if self._is_listing():
            return None
        if method != "POST" or not path.endswith(ends):
            return _refusal(404, f"this is a trace in {self._trace.dialect}; ask it with {call}")
        try:
            body = json.loads(self._body)
        except (ValueError, RecursionError):  # nested too deep for the parser
            return _refusal(400, "the request's body is not JSON")
        is_default = self._trace.dialect not in _STREAMS_WHEN_ASKED
        if not isinstance(body, dict) or not body.get("stream", is_default):
            return _refusal(400, 'a trace is a stream; ask with "stream": true')
        return None

    def _is_listing(self) -> bool:
        return self._method == "GET" and self._path.endswith(("/models", "/api/tags"))

    def _models(self) -> dict[str, Any]:
        name = self._trace.path.stem
        entry = {"id": name, "name": name, "object": "model"}
        return {"object": "list", "data": [entry], "models": [entry]}

    @property
    def _method(self) -> str:
        return self._request.method.decode() if self._request else ""

    @property
    def _path(self) -> str:
        target = self._request.target.decode() if self._request else ""
        return target.partition("?")[0]


def _refusal(status: int, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "invalid_request_error", "code": status}}
