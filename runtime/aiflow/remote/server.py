"""The server: lets those who have the token look at a session and steer it.

It pulls: nothing is made before it is asked for, one answer at a time for each client, so a
slow one neither slows the run nor lets anything pile up. Who has no token is heard for one
short line and a few seconds, and told nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import msgspec

from aiflow.clock import VirtualLoop
from aiflow.engine.session import Session
from aiflow.errors import AiFlowError, RemoteError
from aiflow.remote import tokens
from aiflow.remote.addresses import cannot_listen, listening_address, written
from aiflow.remote.desk import Desk
from aiflow.remote.lifetime import Lifetime
from aiflow.remote.wire import (
    MOST_ANSWER,
    MOST_HELLO,
    MOST_REQUEST,
    VERSION,
    Hello,
    Request,
    decode,
    encode,
    fitting,
    read_line,
)

#: Seconds in which a token must have been shown.
HELLO_S = 5.0
#: Connections without a token, and with one, that are held at once.
MOST_STRANGERS = 8
MOST_CLIENTS = 16
#: Seconds that a client gets to read the goodbye.
GOODBYE_S = 1.0

#: Seconds without a word after which the system asks whether a client is still there, seconds
#: between two such questions, and how many stay without an answer until it is not.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}

#: How many times as long as an answer took nothing more is answered to that client.
_REST = 4

_log = logging.getLogger(__name__)


class Server(Lifetime):
    """Serves one session; `serve` makes it.

    An async context manager, or to be awaited for its start and closed with `close`.

    Attributes:
        address: where it listens, `host:port`; "" before its start.
        token: what a client must show. `token_file`: where it is kept; None where it came from
            elsewhere.
        on_left: called when the last client has gone.
        joined: set when a client has shown the token for the first time.
    """

    def __init__(
        self, session: Session, address: str, token: str | None, *, anywhere: bool
    ) -> None:
        self._session = session
        self._host, self._port = listening_address(address, serve_anywhere=anywhere)
        given = tokens.token_of_environment() if token is None else tokens.checked(token)
        self._is_made = given is None
        self.token = given or tokens.new_token()
        self.address = ""
        self.token_file: Path | None = None
        self.on_left: Callable[[], None] | None = None
        self.joined = asyncio.Event()
        self._server: asyncio.Server | None = None
        # In the order in which they came.
        self._strangers: dict[asyncio.StreamWriter, None] = {}
        self._clients: dict[asyncio.StreamWriter, Desk] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closing = False

    @property
    def clients(self) -> int:
        """How many have shown the token and are here."""
        return len(self._clients)

    async def close(self) -> None:
        """Say goodbye to the clients with the last numbers, and listen no more."""
        if self._server is None or self._is_closing:
            return
        self._is_closing = True
        self._server.close()
        for writer in tuple(self._strangers):
            writer.transport.abort()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.token_file is not None:
            tokens.discard(self.token_file)

    async def _start(self) -> Self:
        if isinstance(asyncio.get_running_loop(), VirtualLoop):
            raise RemoteError("a run on the virtual clock cannot be served: its time jumps")
        try:
            self._server = await asyncio.start_server(
                self._met, self._host, self._port, limit=MOST_REQUEST
            )
        except OSError as error:
            raise cannot_listen(self._host, self._port, error) from error
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = written(host, port)
        if self._is_made:
            try:
                self.token_file = tokens.keep(self.token, port)
            except RemoteError:
                self._server.close()
                raise
        return self

    def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear a new connection; where there are too many, the one that is silent longest goes.

        Who has a token shows it at once, so that those who only hold a place keep nobody out.
        """
        if self._is_closing:
            writer.transport.abort()
            return
        while len(self._strangers) >= MOST_STRANGERS:
            longest = next(iter(self._strangers))
            del self._strangers[longest]
            longest.transport.abort()
        self._strangers[writer] = None
        task = asyncio.get_running_loop().create_task(self._hear(reader, writer), name="remote")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = await self._hello(reader)
            if hello is None or writer not in self._strangers:
                return
            del self._strangers[writer]
            refusal = self._refusal(hello)
            if refusal:
                await self._refuse(writer, refusal)
            else:
                await self._attend(reader, writer)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
        except OSError:
            pass  # it has gone
        finally:
            self._strangers.pop(writer, None)
            writer.transport.abort()

    async def _hello(self, reader: asyncio.StreamReader) -> Hello | None:
        """Read the first line; None where it does not show the token, or comes too late."""
        with contextlib.suppress(TimeoutError, msgspec.MsgspecError):
            async with asyncio.timeout(HELLO_S):
                line = await read_line(reader)
            if line is not None and len(line) <= MOST_HELLO:
                hello = decode(line, Hello)
                return hello if tokens.is_same(hello.token, self.token) else None
        return None

    def _refusal(self, hello: Hello) -> str:
        """Return why somebody who has the token is not let in, "" where he is."""
        if hello.aiflow != VERSION:
            return (
                f"it speaks version {VERSION} and was spoken to in version {hello.aiflow};"
                " use the aiflow that has started it"
            )
        if len(self._clients) >= MOST_CLIENTS:
            return f"{MOST_CLIENTS} are looking at it already; leave one of them"
        return ""

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a client until it goes, or until the server closes."""
        # One answer is on its way at a time; the next is made when it has been read.
        writer.transport.set_write_buffer_limits(0)
        _notice_silence(writer)
        desk = self._clients[writer] = Desk(self._session)
        self.joined.set()
        try:
            hello = {"aiflow": VERSION, "graph": self._session.plan.name}
            await self._send(writer, encode(hello))
            while (line := await read_line(reader)) is not None:
                began = time.monotonic()
                await self._send(writer, self._answer(desk, line))
                # Requests may lie ready by the thousand: the run's turn comes between two.
                await asyncio.sleep(_REST * (time.monotonic() - began))
        except asyncio.CancelledError:
            if self._is_closing:
                await self._part(writer, desk)
            raise
        finally:
            desk.close()
            del self._clients[writer]
            if not self._clients and self.on_left is not None and not self._is_closing:
                self.on_left()

    async def _refuse(self, writer: asyncio.StreamWriter, refusal: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await self._send(writer, encode({"aiflow": VERSION, "error": refusal}))
                writer.close()
                await writer.wait_closed()

    async def _part(self, writer: asyncio.StreamWriter, desk: Desk) -> None:
        """Say goodbye; who does not read it in time goes without."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(GOODBYE_S):
                await self._send(writer, encode({"bye": desk.goodbye()}))
                writer.close()
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter, line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    def _answer(self, desk: Desk, line: bytes) -> bytes:
        try:
            request = decode(line, Request)
        except msgspec.MsgspecError as error:
            return encode({"id": None, "error": f"this is no request: {error}"})
        try:
            result = desk.answer(request.call, request.arguments)
            return fitting({"id": request.id, "result": result}, MOST_ANSWER, "the answer")
        except AiFlowError as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 - the border: a client must not end the run
            _log.exception("a client's request failed")
            said = f"this is a bug in aiflow: {type(error).__name__}"
        return encode({"id": request.id, "error": said})


def _notice_silence(writer: asyncio.StreamWriter) -> None:
    """Have the system ask a machine that has gone without a word, and what it held be let go."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def serve(
    session: Session,
    address: str = "127.0.0.1:0",
    token: str | None = None,
    *,
    serve_anywhere: bool = False,
) -> Server:
    """Let other processes look at a session and steer it, for as long as the block lasts.

    ```python
    async with aiflow.remote.serve(session) as server:
        print(f"aiflow attach {server.address}")
        await session.run()
    ```

    Args:
        session: running, or about to run on the loop that runs here.
        address: `host:port` or `port`; port 0 is any free one.
        token: what clients must show; None takes `AIFLOW_TOKEN`, or makes one and keeps it in
            a file that only this user can read.
        serve_anywhere: allow an address that other machines can reach. Nothing is encrypted.

    Raises:
        RemoteError: the address is none, is taken, or is not of this machine; the token is too
            short.
    """
    return Server(session, address, token, anywhere=serve_anywhere)
