"""Tests of `aiflow.providers.recording` and `known`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError, TraceError
from aiflow.events import Token
from aiflow.providers.chat import ChatStream
from aiflow.providers.dialect import dialect_names
from aiflow.providers.known import KNOWN
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.recording import TraceRecorder
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import Trace
from tests.runtime.transport.faulty_server import EVENT, STOP, Answer, Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))
SECRET = "very-secret-value"


def data_of(path: Path) -> bytes:
    """Return all bytes of a trace."""
    return b"".join(piece.data for piece in Trace.open(path).pieces())


def run(answer: Answer, use: Callable[[Provider], Awaitable[None]], credential: str = "") -> None:
    """Serve an answer on a real socket, and use a provider of it."""

    async def main() -> None:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, credential=credential))
            await provider.start(SystemClock())
            try:
                await use(provider)
            finally:
                await provider.stop()

    asyncio.run(main())


async def read_on(stream: ChatStream) -> None:
    """Read a stream to its end."""
    while True:
        try:
            await anext(stream)
        except StopAsyncIteration:
            return


async def whole(exchange: Exchange) -> None:
    """Answer with two pieces and an end."""
    await exchange.head(content_type="text/event-stream; charset=utf-8")
    await exchange.chunks(EVENT, STOP)
    await exchange.end()


def test_an_answer_is_recorded_as_it_came(tmp_path: Path) -> None:
    """Its bytes, their times, what they are called, and that the end was clean."""
    path = tmp_path / "a.trace"

    async def use(provider: Provider) -> None:
        async for _ in provider.stream_chat(HELLO, record_to=path):
            pass

    run(whole, use)

    trace = Trace.open(path)
    assert data_of(path) == EVENT + STOP
    assert trace.check() == "closed"
    assert (trace.dialect, trace.content_type) == (
        "openai-chat",
        "text/event-stream; charset=utf-8",
    )
    assert all(piece.at >= 0 for piece in trace.pieces())


def test_a_reset_keeps_what_came(tmp_path: Path) -> None:
    """The trace is whole and says that the connection broke."""
    path = tmp_path / "a.trace"

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await got_one.wait()
        exchange.reset()

    async def use(provider: Provider) -> None:
        stream = provider.stream_chat(HELLO, record_to=path)
        while not isinstance((await anext(stream)).payload, Token):
            pass
        got_one.set()
        with pytest.raises(ProviderError, match="broke off in mid-stream"):
            await read_on(stream)

    got_one = asyncio.Event()
    run(answer, use)

    assert data_of(path) == EVENT
    assert Trace.open(path).check() == "broken"


def test_an_error_in_the_stream_is_an_end_like_any_other(tmp_path: Path) -> None:
    """The connection did not break, so a replay does not either."""
    path = tmp_path / "a.trace"
    report = b'data: {"error": {"message": "no"}}\n\n'

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, report)
        await exchange.end()

    async def use(provider: Provider) -> None:
        with pytest.raises(ProviderError, match="an error: no"):
            async for _ in provider.stream_chat(HELLO, record_to=path):
                pass

    run(answer, use)

    assert data_of(path) == EVENT + report
    assert Trace.open(path).check() == "closed"


def test_an_answer_that_is_left_is_kept_as_far_as_it_was_read(tmp_path: Path) -> None:
    """At every moment before that, too: a program that is killed leaves a whole trace."""
    path = tmp_path / "a.trace"
    seen: list[tuple[bytes, str]] = []

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await exchange.gone.wait()

    async def use(provider: Provider) -> None:
        stream = provider.stream_chat(HELLO, record_to=path)
        async for payload, _ in stream:
            if isinstance(payload, Token):
                seen.append((data_of(path), Trace.open(path).check()))
                await stream.aclose()

    run(answer, use)

    assert seen == [(EVENT, "broken")]
    assert (data_of(path), Trace.open(path).check()) == (EVENT, "broken")


def test_a_refusal_leaves_an_older_trace_alone(tmp_path: Path) -> None:
    """There is no answer, so there is nothing to record."""
    path = tmp_path / "a.trace"
    path.write_text("older")

    async def answer(exchange: Exchange) -> None:
        await exchange.whole("400 Bad Request", b"no such model", "text/plain")

    async def use(provider: Provider) -> None:
        with pytest.raises(ProviderError, match="400"):
            await anext(provider.stream_chat(HELLO, record_to=path))

    run(answer, use)

    assert path.read_text() == "older"


def test_a_key_that_the_server_repeats_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when it comes in two pieces; the request's headers never are."""
    path = tmp_path / "a.trace"
    monkeypatch.setenv("POND_KEY", SECRET)

    async def answer(exchange: Exchange) -> None:
        assert SECRET.encode() in exchange.request
        await exchange.head()
        await exchange.chunks(EVENT, b": your key is very-sec")
        await got_one.wait()
        await exchange.chunks(b"ret-value\n\n", STOP)
        await exchange.end()

    async def use(provider: Provider) -> None:
        async for payload, _ in provider.stream_chat(HELLO, record_to=path):
            if isinstance(payload, Token):
                got_one.set()

    got_one = asyncio.Event()
    run(answer, use, credential="POND_KEY")

    text = path.read_text("utf-8")
    assert SECRET not in text
    assert "authorization" not in text.lower()
    assert data_of(path) == EVENT + b": your key is " + b"*" * len(SECRET) + b"\n\n" + STOP


@given(st.lists(st.text("ab", max_size=6), max_size=8), st.text("ab", min_size=1, max_size=4))
def test_a_key_is_hidden_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], secret: str
) -> None:
    """What is recorded is what came, of the same length and with stars for each key."""
    path = tmp_path_factory.mktemp("masks") / "a.trace"
    recorder = TraceRecorder(path, "ollama", secret)

    for at, piece in enumerate(pieces):
        recorder.write(at, piece.encode(), "")
    recorder.write(len(pieces), b"", "")
    recorder.close(len(pieces), "closed")

    came = "".join(pieces)
    assert data_of(path).decode() == came.replace(secret, "*" * len(secret))


def test_a_file_that_cannot_be_written_ends_the_answer(tmp_path: Path) -> None:
    """With its name and the system's reason."""

    async def use(provider: Provider) -> None:
        stream = provider.stream_chat(HELLO, record_to=tmp_path)
        with pytest.raises(TraceError, match="it cannot be written"):
            await anext(stream)

    run(whole, use)


def test_every_known_provider_speaks_a_dialect_that_is_there() -> None:
    """Its endpoint is usable as it stands, and its key's name is one."""
    for name, known in KNOWN.items():
        assert known.dialect in dialect_names()
        params = ProviderParams(
            endpoint=known.endpoint, dialect=known.dialect, credential=known.credential
        )
        assert list(Provider(name, params).check()) == []
    assert set(KNOWN) == {
        *("anthropic", "deepseek", "gemini", "groq"),
        *("mistral", "ollama", "openai", "openrouter"),
    }
