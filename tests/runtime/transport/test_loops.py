"""The transport on every event loop that is installed: asyncio's, uvloop and the studio's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aiflow.clock import SystemClock
from aiflow.transport.client import HttpClient, HttpRequest
from aiflow.transport.patience import Timeouts
from aiflow.transport.trace import Trace, TraceWriter
from aiflow.transport.trace_server import TraceServer


def loop_of(name: str, request: pytest.FixtureRequest) -> asyncio.AbstractEventLoop:
    """Return a new loop, or skip where its package is not installed."""
    if name == "qasync":
        studio = pytest.importorskip("aiflow_studio.app.loop")
        # The application that all tests of this process share.
        request.getfixturevalue("qapp")
        loop: asyncio.AbstractEventLoop = studio.new_loop()
    elif name == "uvloop":
        loop = pytest.importorskip("uvloop").new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    return loop


async def use(trace: Trace) -> None:
    """Read an answer, leave one in the middle, and cancel the reading of one."""
    clock = SystemClock()
    server = TraceServer(trace, clock)
    await server.start()
    client = HttpClient(server.url, clock)
    request = HttpRequest(f"{server.url}/v1/chat/completions", b'{"stream": true}')
    streams = [client.stream(request, Timeouts(30, 30)) for _ in range(3)]

    first = [await each.read() for each in streams]
    await streams[0].aclose()
    reader = asyncio.get_running_loop().create_task(streams[1].read())
    await asyncio.sleep(0)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    rest = await streams[2].read()
    end = await streams[2].read()

    assert first == [b"one"] * 3
    assert (rest, end) == (b"two", None)
    assert reader.cancelled()
    await client.aclose()
    await server._shared.is_idle.wait()
    await server.stop()
    assert server.counts.closed == server.counts.opened


@pytest.mark.parametrize("name", ["asyncio", "uvloop", "qasync"])
def test_streams_are_read_left_and_cancelled_on_every_loop(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The same on each, with nothing left at the server."""
    loop = loop_of(name, request)
    with TraceWriter(tmp_path / "t.trace", "openai-chat") as writer:
        writer.write(0.0, b"one")
        writer.write(0.05, b"two")

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(use(Trace.open(tmp_path / "t.trace")))
