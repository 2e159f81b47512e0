"""A server on this machine that misbehaves as it is told, and counts its connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@dataclass
class Exchange:
    """One request and the way to answer it.

    Attributes:
        gone: set once the client has closed the connection.
    """

    request: bytes
    writer: asyncio.StreamWriter
    gone: asyncio.Event

    async def send(self, *pieces: bytes) -> None:
        """Write pieces, each in its own turn."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def head(
        self, status: str = "200 OK", content_type: str = "text/event-stream", more: str = ""
    ) -> None:
        """Send the head of a chunked response."""
        head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n{more}"
        await self.send(f"{head}transfer-encoding: chunked\r\n\r\n".encode())

    async def chunks(self, *datas: bytes) -> None:
        """Send chunks of the body."""
        await self.send(*[f"{len(data):x}\r\n".encode() + data + b"\r\n" for data in datas])

    async def end(self) -> None:
        """End a chunked body."""
        await self.send(b"0\r\n\r\n")

    async def whole(self, status: str, body: bytes, content_type: str, more: str = "") -> None:
        """Send a whole response."""
        head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n{more}"
        await self.send(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    def reset(self) -> None:
        """Cut the connection without ending the body."""
        self.writer.transport.abort()


@dataclass
class FaultyServer:
    """What the server has seen.

    Attributes:
        requests: heads and bodies, in order.
        opened: connections that clients made. `closed`: set of events, one per connection.
    """

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    opened: int = 0
    gone: list[asyncio.Event] = field(default_factory=list)

    @property
    def open_connections(self) -> int:
        """Connections that the client has not closed."""
        return sum(not event.is_set() for event in self.gone)


Answer = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultyServer]:
    """Run a server that answers each request with `answer`, on a free port of this machine."""
    server = FaultyServer()
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.opened += 1
        gone = asyncio.Event()
        server.gone.append(gone)
        task = asyncio.get_running_loop().create_task(_talk(reader, writer, gone, server, answer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()


async def closed_port() -> int:
    """Return a port of this machine at which nobody listens."""
    listener = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port: int = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    return port


async def _talk(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    gone: asyncio.Event,
    server: FaultyServer,
    answer: Answer,
) -> None:
    try:
        while request := await _request(reader):
            server.requests.append(request)
            watcher = asyncio.get_running_loop().create_task(_watch(reader, gone))
            try:
                await answer(Exchange(request, writer, gone))
            except ConnectionError:
                return
            finally:
                if not watcher.done() and not writer.transport.is_closing():
                    watcher.cancel()
                await asyncio.gather(watcher, return_exceptions=True)
            if writer.transport.is_closing():
                return
    finally:
        gone.set()
        writer.transport.abort()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Return a request's head and body; b"" where the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = (
            int(line.partition(b":")[2])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        )
        length = next(lengths, 0)  # a GET has no body
        return head + await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def _watch(reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
    """Set `gone` when the client closes; a client that waits for an answer sends nothing."""
    try:
        if await reader.read(1) == b"":
            gone.set()
    except ConnectionError:
        gone.set()
