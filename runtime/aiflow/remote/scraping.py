"""A session's metrics for Prometheus, over HTTP: `GET /metrics`.

Pulled and never pushed: a snapshot is made when somebody asks, and nothing otherwise. One
request for each connection. It reads numbers only, so it asks for no token; it listens at this
machine unless more is asked for, and then answers no page that has led a browser here under
another name.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from aiflow.metrics.exposition import CONTENT_TYPE, exposition
from aiflow.metrics.snapshot import Snapshot
from aiflow.remote.addresses import (
    cannot_listen,
    is_of_this_machine,
    listening_address,
    written,
)

PATH = "/metrics"
#: Seconds for a request and its answer, connections at once, and bytes of a request's head.
PATIENCE_S = 5.0
MOST_CONNECTIONS = 16
MOST_HEAD = 8 * 1024


@contextlib.asynccontextmanager
async def scraped(
    snapshot: Callable[[], Snapshot], address: str, *, serve_anywhere: bool = False
) -> AsyncIterator[str]:
    """Answer Prometheus while the block lasts; gives the address, `host:port`.

    Args:
        snapshot: returns the numbers of now.
        address: where to listen; port 0 is any free one.
        serve_anywhere: allow an address that other machines can reach.

    Raises:
        RemoteError: it is no address, can be reached from elsewhere, or is taken.
    """
    host, port = listening_address(address, serve_anywhere=serve_anywhere)
    desk = _Desk(snapshot, is_of_this_machine(host))
    try:
        server = await asyncio.start_server(desk.answer, host, port, limit=MOST_HEAD)
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    try:
        name = server.sockets[0].getsockname()
        yield written(name[0], name[1])
    finally:
        server.close()
        await desk.close()


class _Desk:
    """Answers requests."""

    def __init__(self, snapshot: Callable[[], Snapshot], is_near: bool) -> None:
        self._snapshot = snapshot
        self._is_near = is_near
        # In the order in which they came.
        self._tasks: dict[asyncio.Task[None], None] = {}

    def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer who has come, in a task that is ended with the server.

        Where there are too many, those that are there longest go: who asks is soon done.
        """
        for longest in tuple(self._tasks)[: len(self._tasks) - MOST_CONNECTIONS + 1]:
            longest.cancel()
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        # Here, because one that is cancelled before it has begun does nothing more.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, answer it, and hang up."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(head))
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # who asks nothing, too much or too slowly hears nothing

    async def close(self) -> None:
        """Hang up on whoever is there."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _response(self, head: bytes) -> bytes:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        path = rest.split(" ")[0].partition("?")[0]
        if self._is_near and not _names_this_machine(lines):
            return _written("403 Forbidden", "ask for 127.0.0.1 by that name\n")
        if path != PATH:
            return _written("404 Not Found", f"the metrics are at {PATH}\n")
        if method not in ("GET", "HEAD"):
            return _written("405 Method Not Allowed", "GET them\n", "Allow: GET, HEAD\r\n")
        body = exposition(self._snapshot())
        return _written("200 OK", body, is_empty=method == "HEAD")


def _names_this_machine(lines: list[str]) -> bool:
    """Say whether the request was meant for this machine: a page's own name is not."""
    hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
    if len(hosts) != 1:
        return False
    host = hosts[0]
    bare = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return is_of_this_machine(bare.lower())


def _written(status: str, body: str, more: str = "", *, is_empty: bool = False) -> bytes:
    data = body.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(data)}\r\n"
        f"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{more}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if is_empty else data)
