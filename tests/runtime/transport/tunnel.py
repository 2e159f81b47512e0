"""A proxy on this machine that makes tunnels (CONNECT) to one port, whatever host is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass
class TunnelProxy:
    """What the proxy has seen.

    Attributes:
        asked: heads of requests, in order.
        gone: one event per tunnel, set once its client has closed it.
    """

    url: str = ""
    asked: list[bytes] = field(default_factory=list)
    gone: list[asyncio.Event] = field(default_factory=list)


@asynccontextmanager
async def tunnelling(port: int, refusal: bytes = b"") -> AsyncIterator[TunnelProxy]:
    """Run a proxy.

    Args:
        port: of this machine, where every tunnel ends.
        refusal: status line that is answered in place of a tunnel, such as `403 Forbidden`.
    """
    proxy = TunnelProxy()
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_tunnel(proxy, reader, writer, port, refusal))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()


async def _tunnel(
    proxy: TunnelProxy,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    port: int,
    refusal: bytes,
) -> None:
    far: asyncio.StreamWriter | None = None
    gone = asyncio.Event()
    proxy.gone.append(gone)
    try:
        proxy.asked.append(await reader.readuntil(b"\r\n\r\n"))
        if refusal:
            writer.write(b"HTTP/1.1 " + refusal + b"\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            await reader.read()
            return
        far_reader, far = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_OPENED)
        back = asyncio.get_running_loop().create_task(_pump(far_reader, writer))
        try:
            await _pump(reader, far)
        finally:
            back.cancel()
            await asyncio.gather(back, return_exceptions=True)
    finally:
        gone.set()
        writer.transport.abort()
        if far is not None:
            far.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        return
