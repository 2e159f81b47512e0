"""Tests of `aiflow.transport.trace_server` over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.transport.client import HttpClient, HttpRequest, HttpStream
from aiflow.transport.patience import Timeouts
from aiflow.transport.trace import Trace, TraceWriter
from aiflow.transport.trace_server import SEND_BUFFER_BYTES, TraceServer

ASK = b'{"stream": true}'


def written(path: Path, *pieces: bytes, dialect: str = "openai-chat", every_s: float = 0) -> Trace:
    """Return a trace of these pieces."""
    with TraceWriter(path, dialect, "text/event-stream") as writer:
        for number, piece in enumerate(pieces):
            writer.write(number * every_s, piece)
    return Trace.open(path)


@asynccontextmanager
async def serving(trace: Trace, speed: float | None = None) -> AsyncIterator[TraceServer]:
    """Run a server of a trace, and see that it leaves nothing behind."""
    server = TraceServer(trace, SystemClock(), speed=speed)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        await server.stop()
    assert server.open_connections == 0
    assert server.counts.opened == server.counts.closed


@asynccontextmanager
async def asking(
    server: TraceServer, path: str = "/v1/chat/completions", body: bytes = ASK
) -> AsyncIterator[HttpStream]:
    """Ask a server and give the stream."""
    client = HttpClient(server.url, SystemClock())
    stream = client.stream(HttpRequest(server.url + path, body), Timeouts(30, 30))
    try:
        yield stream
    finally:
        await stream.aclose()
        await client.aclose()


async def read_all(stream: HttpStream) -> bytes:
    """Return the whole body."""
    pieces = []
    while (piece := await stream.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        ("openai-chat", "/v1/chat/completions"),
        ("openai-chat", "/chat/completions?x=1"),
        ("ollama", "/api/chat"),
        ("ollama", "/api/generate"),
    ],
)
def test_a_chat_request_is_answered_with_the_trace(tmp_path: Path, dialect: str, path: str) -> None:
    """Byte for byte, at the paths of its dialect."""
    trace = written(tmp_path / "t.trace", b"one\xff", b"two\n", dialect=dialect)

    async def main() -> None:
        async with serving(trace) as server, asking(server, path) as stream:
            assert await read_all(stream) == b"one\xfftwo\n"
            assert server.counts.finished == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/chat", ASK, "404 (Not Found): this is a trace in openai-chat; ask it with POST /v1"),
        (
            "/v1/chat/completions",
            b"{}",
            '400 (Bad Request): a trace is a stream; ask with "stream"',
        ),
        ("/v1/chat/completions", b"x", "400 (Bad Request): the request's body is not JSON"),
        ("/v1/chat/completions", b"[" * 100_000, "400 (Bad Request): the request's body is not"),
    ],
)
def test_a_request_that_a_trace_cannot_answer_is_refused(
    tmp_path: Path, path: str, body: bytes, said: str
) -> None:
    """The refusal says how to ask."""
    trace = written(tmp_path / "t.trace", b"x")

    async def main() -> None:
        async with serving(trace) as server, asking(server, path, body) as stream:
            with pytest.raises(ProviderError) as caught:
                await stream.read()
            assert said in str(caught.value)

    asyncio.run(main())


def test_models_are_listed_and_the_connection_serves_on(tmp_path: Path) -> None:
    """Two requests of an ordinary client over one connection."""
    trace = written(tmp_path / "pond.trace", b"x")

    async def main() -> None:
        async with serving(trace) as server:
            host, port = server.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            for path in ("/v1/models", "/api/tags"):
                writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                listed = json.loads(await reader.readexactly(length))
                assert listed["data"][0]["id"] == listed["models"][0]["name"] == "pond"
            writer.close()
            await writer.wait_closed()
            assert server.counts.opened == 1

    asyncio.run(main())


def test_a_client_that_speaks_no_http_is_dropped(tmp_path: Path) -> None:
    """Nonsense closes the connection and nothing else."""
    trace = written(tmp_path / "t.trace", b"x")

    async def main() -> None:
        async with serving(trace) as server:
            host, port = server.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"\x16\x03\x01 hello\r\n\r\n")
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
            async with asking(server) as stream:
                assert await read_all(stream) == b"x"

    asyncio.run(main())


def test_a_recorded_break_breaks_the_connection(tmp_path: Path) -> None:
    """The client sees what the recorder saw: bytes, then a reset."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        writer.write(0, b"half")
        writer.close("broken")

    async def main() -> None:
        async with serving(Trace.open(path)) as server, asking(server) as stream:
            assert await stream.read() == b"half"
            with pytest.raises(ProviderError, match="broke off in mid-stream"):
                await stream.read()

    asyncio.run(main())


def test_a_client_that_leaves_stops_the_answer(tmp_path: Path) -> None:
    """Though the next piece is due only in an hour, the server is free at once."""
    trace = written(tmp_path / "t.trace", b"first", b"much later", every_s=3600)

    async def main() -> None:
        async with serving(trace, speed=1.0) as server:
            async with asking(server) as stream:
                assert await stream.read() == b"first"
            await server._shared.is_idle.wait()
            assert (server.counts.closed, server.counts.finished) == (1, 0)

    asyncio.run(main())


def test_pieces_come_at_their_times_divided_by_the_speed(tmp_path: Path) -> None:
    """An hour at 100,000 times the speed: never early."""
    trace = written(tmp_path / "t.trace", b"a", b"b", every_s=3600)

    async def main() -> float:
        clock = SystemClock()
        async with serving(trace, speed=100_000) as server, asking(server) as stream:
            await read_all(stream)
            assert stream.request_sent_at is not None
            return clock.now() - stream.request_sent_at

    assert asyncio.run(main()) >= 0.036


def test_a_client_that_does_not_read_stops_the_server(tmp_path: Path) -> None:
    """Of 10 MB only what the sockets hold is written, until the client reads on."""
    piece = b"x" * 10_000
    trace = written(tmp_path / "t.trace", *[piece] * 1000)

    async def main() -> None:
        async with serving(trace) as server, asking(server) as stream:
            size = len(await stream.read() or b"")
            at_rest = -1
            while at_rest != server.counts.written_bytes:
                at_rest = server.counts.written_bytes
                for _ in range(200):
                    await asyncio.sleep(0)

            # Both kernels' buffers, each up to twice what was asked for, and the loop's own.
            assert at_rest < 16 * SEND_BUFFER_BYTES
            assert size + len(await read_all(stream)) == 10_000_000
            assert server.counts.finished == 1

    asyncio.run(main())


def test_a_port_that_is_taken_is_an_os_error(tmp_path: Path) -> None:
    """Whoever starts it says so in their own words."""
    trace = written(tmp_path / "t.trace", b"x")

    async def main() -> None:
        async with serving(trace) as server:
            port = int(server.url.rpartition(":")[2])
            second = TraceServer(trace, SystemClock(), port=port)
            with pytest.raises(OSError, match="address already in use"):
                await second.start()
            await second.stop()

    asyncio.run(main())


def test_a_server_that_does_not_run_has_no_address(tmp_path: Path) -> None:
    """Asking for it is a mistake of ours."""
    server = TraceServer(written(tmp_path / "t.trace", b"x"), SystemClock())

    with pytest.raises(RuntimeError, match="has not been started"):
        _ = server.url
