"""The server: lets those who have the token look at a session and steer it.

It pulls: nothing is made before it is asked for, one answer at a time for each client, so a
slow one neither slows the run nor lets anything pile up. Who has no token is heard for one
short line and a few seconds, and told nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
    MOST_HELLO,
    MOST_REQUEST,
    VERSION,
    Hello,
    Request,
    decode,
    encode,
    read_line,
)

#: Seconds in which a token must have been shown.
HELLO_S = 5.0
#: Connections without a token, and with one, that are held at once.
MOST_STRANGERS = 8
MOST_CLIENTS = 16
#: Seconds that a client gets to read the goodbye.
GOODBYE_S = 1.0

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
        self._strangers: set[asyncio.StreamWriter] = set()
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
        """Hear a new connection, if there are not too many of them."""
        if self._is_closing or len(self._strangers) >= MOST_STRANGERS:
            writer.transport.abort()
            return
        self._strangers.add(writer)
        task = asyncio.get_running_loop().create_task(self._hear(reader, writer), name="remote")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            is_known = await self._is_known(reader)
            self._strangers.discard(writer)
            if is_known and len(self._clients) < MOST_CLIENTS:
                await self._attend(reader, writer)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
        except OSError:
            pass  # it has gone
        finally:
            self._strangers.discard(writer)
            writer.transport.abort()

    async def _is_known(self, reader: asyncio.StreamReader) -> bool:
        """Read the first line and say whether it shows the token."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELLO_S):
                line = await read_line(reader)
            return line is not None and self._shows_token(line)
        return False

    def _shows_token(self, line: bytes) -> bool:
        if len(line) > MOST_HELLO:
            return False
        try:
            hello = decode(line, Hello)
        except msgspec.MsgspecError:
            return False
        return tokens.is_same(hello.token, self.token) and hello.aiflow == VERSION

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a client until it goes, or until the server closes."""
        # One answer is on its way at a time; the next is made when it has been read.
        writer.transport.set_write_buffer_limits(0)
        desk = self._clients[writer] = Desk(self._session)
        self.joined.set()
        try:
            await self._send(writer, {"aiflow": VERSION, "graph": self._session.plan.name})
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

    async def _part(self, writer: asyncio.StreamWriter, desk: Desk) -> None:
        """Say goodbye; who does not read it in time goes without."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(GOODBYE_S):
                await self._send(writer, {"bye": desk.goodbye()})
                writer.close()
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        writer.write(encode(message))
        await writer.drain()

    def _answer(self, desk: Desk, line: bytes) -> dict[str, Any]:
        try:
            request = decode(line, Request)
        except msgspec.MsgspecError as error:
            return {"id": None, "error": f"this is no request: {error}"}
        try:
            return {"id": request.id, "result": desk.answer(request.call, request.arguments)}
        except AiFlowError as error:
            return {"id": request.id, "error": str(error)}
        except Exception as error:  # noqa: BLE001 - the border: a client must not end the run
            _log.exception("a client's request failed")
            return {"id": request.id, "error": f"this is a bug in aiflow: {type(error).__name__}"}


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
