"""Tests of `aiflow.providers.resource`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ProviderError, ResourceError
from aiflow.events import Token
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import TraceWriter
from tests.keyrings import MemoryKeyring, memory_keyring
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, closed_port, serving

__all__ = ["memory_keyring"]

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace in the ollama dialect."""
    path = tmp_path / "pond.trace"
    with TraceWriter(path, "ollama") as writer:
        writer.write(0.0, b'{"message":{"content":"x"},"done":true,"done_reason":"stop"}\n')
    return path


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({}, "either an endpoint or a trace"),
        ({"endpoint": "http://h", "trace": "t"}, "either an endpoint or a trace"),
        ({"endpoint": "h:80"}, "the endpoint h:80 is no http or https address"),
        ({"endpoint": "ftp://h"}, "is no http or https address"),
        ({"endpoint": "http://"}, "is no http or https address"),
        ({"endpoint": "http://h:99999"}, "is no address"),
        ({"endpoint": "http://u:secret@h"}, "the endpoint holds a password; name the key's"),
        ({"endpoint": "http://h", "dialect": "x"}, "the dialect cannot be used: .*ollama"),
        ({"trace": "none.trace"}, r"there is no trace none\.trace"),
        ({"trace": "bad.trace"}, "the trace cannot be read: .*line 1"),
        ({"trace": "pond.trace", "dialect": "openai-chat"}, "is in ollama and not in openai-chat"),
    ],
)
def test_what_keeps_a_provider_from_starting_is_found_without_starting(
    tmp_path: Path, trace: Path, params: dict[str, str], fault: str
) -> None:
    """One clause for each mistake, the same from `check` and from `start`; no secret in it."""
    (tmp_path / "bad.trace").write_text("not a trace\n")
    provider = Provider("p", ProviderParams.model_validate(params), [tmp_path])

    faults = list(provider.check())

    assert len(faults) == 1
    with pytest.raises(ResourceError, match=f"resource p: .*{fault}") as caught:
        asyncio.run(provider.start(SystemClock()))
    assert faults[0] in str(caught.value)
    assert "secret" not in faults[0]


def test_a_good_provider_has_no_fault(trace: Path) -> None:
    """An endpoint as people write it, and a trace with or without its dialect."""
    for params in (
        ProviderParams(endpoint="http://127.0.0.1:11434", dialect="ollama"),
        ProviderParams(trace=str(trace)),
        ProviderParams(trace=str(trace), dialect="ollama"),
    ):
        assert list(Provider("p", params).check()) == []


def test_only_a_trace_runs_on_the_virtual_clock(trace: Path) -> None:
    """A server's time is real."""
    assert Provider("p", ProviderParams(trace=str(trace))).needs_real_clock() == ""
    assert (
        "whose time is real"
        in Provider("p", ProviderParams(endpoint="http://h")).needs_real_clock()
    )


def test_a_key_that_is_not_set_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which variable; blank counts as not set."""
    monkeypatch.setenv("POND_KEY", " ")
    provider = Provider("p", ProviderParams(endpoint="http://h", credential="POND_KEY"))

    assert provider.credentials() == ("POND_KEY",)
    with pytest.raises(ResourceError, match="variable POND_KEY is not set, and the keyring has"):
        asyncio.run(provider.start(SystemClock()))


def test_a_key_is_taken_from_the_keyring(
    memory_keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the environment has none; on the virtual clock too, where nobody waits for a thread."""
    monkeypatch.delenv("POND_KEY", raising=False)
    memory_keyring.set_password("aiflow", "POND_KEY", "very-secret-value")
    provider = Provider("p", ProviderParams(endpoint="http://h", credential="POND_KEY"))
    loop = VirtualLoop()

    async def start(clock: Clock) -> str:
        await provider.start(clock)
        await provider.stop()
        return provider._secret

    try:
        assert loop.run_until_complete(start(VirtualClock(loop))) == "very-secret-value"
    finally:
        loop.close()
    assert asyncio.run(start(SystemClock())) == "very-secret-value"


@pytest.mark.parametrize("name", ["sk-abc", "A B", "1A", "A=b"])
def test_a_credential_is_a_name_and_not_a_key(name: str) -> None:
    """What cannot be a variable's name is refused, so that no key ends up in a file."""
    with pytest.raises(ValidationError):
        ProviderParams(credential=name)


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes into the header; a refusal names the variable only."""
    monkeypatch.setenv("POND_KEY", "very-secret-value")

    async def answer(exchange: Exchange) -> None:
        await exchange.whole("401 Unauthorized", b"bad very-secret-value", "text/plain")

    async def main() -> str:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, credential="POND_KEY"))
            await provider.start(SystemClock())
            with pytest.raises(ProviderError) as caught:
                await anext(provider.stream_chat(HELLO))
            await provider.stop()
            assert b"authorization: Bearer very-secret-value" in server.requests[0]
        return str(caught.value)

    text = asyncio.run(main())

    assert text.startswith("provider p (127.0.0.1:")
    assert text.endswith("401 (Unauthorized): bad [redacted]; check the key POND_KEY")


@pytest.mark.parametrize("credential", ["", "POND_KEY"])
def test_an_answer_that_breaks_off_is_told_once(
    monkeypatch: pytest.MonkeyPatch, credential: str
) -> None:
    """The provider, what happened, what to do; with a key as without."""
    monkeypatch.setenv("POND_KEY", "very-secret-value")

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        exchange.reset()

    async def main() -> str:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, credential=credential))
            await provider.start(SystemClock())
            with pytest.raises(ProviderError) as caught:
                async for _ in provider.stream_chat(HELLO):
                    pass
            await provider.stop()
        return str(caught.value)

    text = asyncio.run(main())

    assert text.count("provider p") == text.count("try again") == 1
    assert "broke off in mid-stream" in text


def test_an_endpoint_streams_over_one_client() -> None:
    """Several answers, one connection, each read to its end."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, STOP)
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url))
            await provider.start(SystemClock())
            for _ in range(3):
                payloads = [payload async for payload, _ in provider.stream_chat(HELLO)]
                assert payloads[1] == Token("x")
            assert server.opened == 1
            await provider.stop()
            await server.gone[0].wait()

    asyncio.run(main())


def test_nobody_at_the_endpoint_is_an_error_at_the_first_payload() -> None:
    """Starting does not connect, so a graph opens while its server is down."""

    async def main() -> None:
        url = f"http://127.0.0.1:{await closed_port()}"
        provider = Provider("pond", ProviderParams(endpoint=url))
        await provider.start(SystemClock())
        place = url.removeprefix("http://")
        with pytest.raises(ProviderError, match=rf"provider pond \({place}\): no connection"):
            await anext(provider.stream_chat(HELLO))
        await provider.stop()

    asyncio.run(main())


def test_a_trace_finds_its_dialect_and_its_file_by_itself(trace: Path) -> None:
    """Relative to the folders it was given; the dialect stands in the trace."""
    provider = Provider("p", ProviderParams(trace="pond.trace"), [trace.parent])
    loop = VirtualLoop()

    async def main() -> list[object]:
        await provider.start(VirtualClock(loop))
        got: list[object] = [payload async for payload, _ in provider.stream_chat(HELLO)]
        await provider.stop()
        return got

    try:
        assert Token("x") in loop.run_until_complete(main())
    finally:
        loop.close()


def test_a_torn_trace_is_told_at_the_start(trace: Path) -> None:
    """Not in the middle of a run."""
    trace.write_bytes(trace.read_bytes()[:-4])

    with pytest.raises(ResourceError, match="line 3: the file was cut off here"):
        asyncio.run(Provider("p", ProviderParams(trace=str(trace))).start(SystemClock()))


def test_a_provider_that_does_not_run_says_so(trace: Path) -> None:
    """Before its start and after its stop."""
    provider = Provider("p", ProviderParams(trace=str(trace)))

    with pytest.raises(ResourceError, match="has not been started"):
        provider.stream_chat(HELLO)


def test_every_shipped_trace_is_whole_and_reads_to_its_end() -> None:
    """Traces are kept under names that no tool takes for a graph."""
    paths = sorted((graphs_dir() / "traces").iterdir())

    assert {path.suffix for path in paths} == {".trace"}
    for path in paths:
        provider = Provider("p", ProviderParams(trace=str(path)))
        loop = VirtualLoop()

        async def main(provider: Provider = provider, loop: VirtualLoop = loop) -> object:
            await provider.start(VirtualClock(loop))
            last = None
            async for payload, _ in provider.stream_chat(HELLO):
                last = payload
            await provider.stop()
            return last

        last = loop.run_until_complete(main())
        loop.close()
        assert getattr(last, "data", {}).get("reason") in ("stop", "tool_calls")
