"""Tests of `aiflow.providers.streams`: a trace in process, and a socket that is not read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ProviderError
from aiflow.events import Control, Token
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import TraceWriter
from tests.runtime.providers.cases import STOP, chunk, sse
from tests.runtime.transport.faulty_server import Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))
EVENT = sse(chunk({"content": "x"}), done=False)


def provider_of(folder: Path, *pieces: tuple[float, bytes], end: str = "closed") -> Provider:
    """Return a provider of a trace with these pieces."""
    path = folder / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        for at, data in pieces:
            writer.write(at, data)
        writer.close("broken" if end == "broken" else "closed")
    return Provider("p", ProviderParams(trace=str(path)))


def on_virtual_loop(provider: Provider, pause_s: float = 0.0) -> list[tuple[object, float, float]]:
    """Return each payload with its arrival and the time at which it was handed over.

    Args:
        provider: of a trace.
        pause_s: how long the consumer holds each payload.
    """
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    got: list[tuple[object, float, float]] = []

    async def main() -> None:
        await clock.sleep(100)
        await provider.start(clock)
        stream = provider.stream_chat(HELLO)
        async for payload, at in stream:
            got.append((payload, at, clock.now()))
            await clock.sleep(pause_s)
        assert stream.request_sent_at == 100
        await provider.stop()

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return got


def test_a_trace_is_replayed_at_its_times_on_the_virtual_clock(tmp_path: Path) -> None:
    """Each payload arrives when its bytes once did, counted from the request."""
    provider = provider_of(tmp_path, (0.5, EVENT), (2.0, EVENT), (2.25, sse(STOP)))

    got = on_virtual_loop(provider)

    tokens = [(at, now) for payload, at, now in got if isinstance(payload, Token)]
    assert tokens == [(100.5, 100.5), (102.0, 102.0)]
    assert got[-1][0] == Control("finish", {"choice": 0, "reason": "stop", "raw": "stop"})
    assert got[-1][1] == 102.25
    assert provider.server is None


def test_a_slow_consumer_gets_the_arrival_and_not_its_own_time(tmp_path: Path) -> None:
    """Bytes that were due while the consumer was busy arrived when they were due."""
    provider = provider_of(tmp_path, (0.5, EVENT), (1.0, EVENT), (1.5, sse(STOP)))

    got = on_virtual_loop(provider, pause_s=10)

    tokens = [(at, now) for payload, at, now in got if isinstance(payload, Token)]
    assert tokens == [(100.5, 110.5), (101.0, 120.5)]


def test_the_same_run_twice_is_the_same(tmp_path: Path) -> None:
    """On the virtual clock nothing depends on the machine."""
    pieces = [(n / 7, EVENT * (n % 3)) for n in range(20)]

    runs = [on_virtual_loop(provider_of(tmp_path, *pieces, (9, sse(STOP)))) for _ in range(2)]

    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("body", "end", "kind", "said"),
    [
        (
            EVENT,
            "broken",
            "connection",
            r"broke off in mid-stream .*; what came before it is kept, try again",
        ),
        (EVENT, "closed", "incomplete", "without saying that it was finished; try again"),
        (EVENT + sse({"error": "no"}), "closed", "stream", "ended the stream with an error: no;"),
    ],
)
def test_an_error_comes_after_everything_before_it(
    tmp_path: Path, body: bytes, end: str, kind: str, said: str
) -> None:
    """Tokens first, then the finish, then one error that names the provider."""
    provider = provider_of(tmp_path, (0.0, body), end=end)
    got: list[object] = []

    async def take() -> None:
        await provider.start(SystemClock())
        stream = provider.stream_chat(HELLO)
        try:
            async for payload, _ in stream:
                got.append(payload)
        finally:
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            await provider.stop()

    with pytest.raises(ProviderError, match=said) as caught:
        asyncio.run(take())

    assert Token("x") in got
    assert isinstance(got[-1], Control)
    assert got[-1].data["reason"] in ("error", "incomplete")
    assert caught.value.kind == kind
    assert "provider p (" in str(caught.value)


def test_sockets_and_process_give_the_same_payloads(tmp_path: Path) -> None:
    """The trace's server on the real clock and the decoder on the virtual one agree."""
    pieces = [(n / 1000, sse(chunk({"content": str(n)}), done=False)) for n in range(50)]
    provider = provider_of(tmp_path, *pieces, (0.06, sse(STOP)))

    async def real() -> list[object]:
        await provider.start(SystemClock())
        got: list[object] = [payload async for payload, _ in provider.stream_chat(HELLO)]
        assert provider.server is not None
        await provider.stop()
        return got

    assert asyncio.run(real()) == [payload for payload, _, _ in on_virtual_loop(provider)]


@pytest.mark.slow
def test_fifty_thousand_deltas_wait_in_the_trace_and_not_with_us(tmp_path: Path) -> None:
    """A consumer that stops holds the server; what is undecoded stays below 64 KiB."""
    count = 50_000
    piece = b"".join(
        b"data: " + json.dumps(chunk({"content": str(n)})).encode() + b"\n\n" for n in range(10)
    )
    provider = provider_of(tmp_path, *[(0.0, piece)] * (count // 10), (0.0, sse(STOP)))

    async def main() -> tuple[int, int, int]:
        await provider.start(SystemClock())
        assert provider.server is not None
        tokens = most = written = 0
        stream = provider.stream_chat(HELLO)
        async for payload, _ in stream:
            most = max(most, stream.undecoded_bytes)
            tokens += isinstance(payload, Token)
            if tokens == 100 and not written:
                # Turns of the loop in which nobody reads: the server runs until it is held.
                for _ in range(5_000):
                    await asyncio.sleep(0)
                written = provider.server.counts.written_bytes
        assert provider.server.open_connections <= 1
        await provider.stop()
        return tokens, most, written

    tokens, most, written = asyncio.run(main())

    assert tokens == count
    assert most <= 64 * 1024
    assert written < count // 10 * len(piece) / 10


def test_closing_a_stream_closes_its_connection(tmp_path: Path) -> None:
    """A consumer that leaves in the middle leaves nothing open at the server."""
    provider = provider_of(tmp_path, (0.0, EVENT), (3600.0, sse(STOP)))

    async def main() -> None:
        await provider.start(SystemClock())
        assert provider.server is not None
        stream = provider.stream_chat(HELLO)
        async for payload, _ in stream:
            if isinstance(payload, Token):
                break
        await stream.aclose()
        await stream.aclose()
        await provider.server._shared.is_idle.wait()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await provider.stop()

    asyncio.run(main())


def test_cancelling_whoever_waits_closes_the_connection(tmp_path: Path) -> None:
    """Cancellation passes through, and the server is told."""
    provider = provider_of(tmp_path, (0.0, EVENT), (3600.0, sse(STOP)))

    async def main() -> None:
        await provider.start(SystemClock())
        assert provider.server is not None
        got: list[object] = []
        has_token = asyncio.Event()

        async def consume() -> None:
            async for payload, _ in provider.stream_chat(HELLO):
                got.append(payload)
                if isinstance(payload, Token):
                    has_token.set()

        task = asyncio.create_task(consume())
        await has_token.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.server._shared.is_idle.wait()
        await provider.stop()
        assert Token("x") in got

    asyncio.run(main())


def test_an_error_that_the_provider_told_is_raised_and_not_the_reset_after_it(
    tmp_path: Path,
) -> None:
    """Over a socket too: the first thing that went wrong is the one to know."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "openai-responses") as writer:
        writer.write(0.0, b'data: {"type": "error", "code": "no_credit", "message": "broke"}\n\n')
        writer.close("broken")

    async def main() -> None:
        provider = Provider("p", ProviderParams(trace=str(path)))
        await provider.start(SystemClock())
        try:
            async for _ in provider.stream_chat(HELLO):
                pass
        finally:
            await provider.stop()

    with pytest.raises(ProviderError, match="ended the stream with an error: broke") as caught:
        asyncio.run(main())
    assert caught.value.code == "no_credit"


def test_a_whole_answer_that_takes_too_long_ends_after_what_came() -> None:
    """Over a socket: the token, a finish that says why, then one error that may be retried."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await exchange.gone.wait()

    kept: list[object] = []

    async def take(provider: Provider) -> None:
        async for payload, _ in provider.stream_chat(HELLO):
            kept.append(payload)

    async def main() -> None:
        async with serving(answer) as server:
            params = ProviderParams(endpoint=server.url, total_timeout_s=0.1)
            provider = Provider("p", params)
            await provider.start(SystemClock())
            with pytest.raises(ProviderError, match=r"not complete after 0\.1 s") as caught:
                await take(provider)
            assert caught.value.retryable
            await provider.stop()
            await server.gone[0].wait()

    asyncio.run(main())

    assert Token("x") in kept
    finish = kept[-1]
    assert isinstance(finish, Control)
    assert finish.data["reason"] == "error"
    assert finish.data["error"]["kind"] == "total_timeout"


@pytest.mark.parametrize(
    ("pieces", "params", "kind"),
    [
        ([(30.0, EVENT)], {"first_byte_timeout_s": 0.05}, "first_byte_timeout"),
        ([(0.0, EVENT), (30.0, EVENT)], {"idle_timeout_s": 0.05}, "idle_timeout"),
        (
            [(0.0, EVENT), *[(n / 100, b":\n") for n in range(1, 999)]],
            {"total_timeout_s": 0.1},
            "total_timeout",
        ),
    ],
)
def test_time_outs_end_a_trace_alike_on_both_clocks(
    tmp_path: Path, pieces: list[tuple[float, bytes]], params: dict[str, float], kind: str
) -> None:
    """Over sockets and in process: the same text, the same kind of end."""
    path = str(provider_of(tmp_path, *pieces).params.trace)
    ends: list[tuple[list[object], str, bool]] = []

    async def take(clock: Clock) -> None:
        provider = Provider("p", ProviderParams.model_validate({"trace": path, **params}))
        await provider.start(clock)
        tokens: list[object] = []
        try:
            async for payload, _ in provider.stream_chat(HELLO):
                tokens += [payload] if isinstance(payload, Token) else []
        except ProviderError as error:
            ends.append((tokens, error.kind, error.retryable))
        await provider.stop()

    asyncio.run(take(SystemClock()))
    loop = VirtualLoop()
    try:
        loop.run_until_complete(take(VirtualClock(loop)))
    finally:
        loop.close()

    has_text = pieces[0][0] == 0.0
    assert ends == [([Token("x")] * has_text, kind, True)] * 2
    assert loop.time() < 1
