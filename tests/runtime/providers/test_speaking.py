"""Tests of all dialects through a provider: what goes over the wire, and traces served in each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.events import Control, Token
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.resources import Resource
from aiflow.transport.trace import TraceWriter
from tests.runtime.providers import cases, cases_anthropic, cases_gemini, cases_responses
from tests.runtime.transport.faulty_server import Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))
SECRET = "very-secret-value"
RESPONSES = cases_responses

ANSWERS: Mapping[str, bytes] = {
    "anthropic-messages": cases_anthropic.named(
        cases_anthropic.start(), *cases_anthropic.said(0, "x"), *cases_anthropic.end()
    ),
    "gemini": cases_gemini.crlf(cases_gemini.answer({"text": "x"}, finish="STOP")),
    "ollama": cases.ndjson(cases.line(content="x"), cases.last_line()),
    "openai-chat": cases.sse(cases.chunk({"content": "x"}), cases.STOP),
    "openai-responses": RESPONSES.named(
        RESPONSES.START, RESPONSES.piece("output_text", "x"), RESPONSES.end()
    ),
}
HEADS = {
    "anthropic-messages": (
        "POST /v1/messages ",
        f"x-api-key: {SECRET}",
        "anthropic-version: 2023-06-01",
    ),
    "gemini": (
        "POST /v1beta/models/m:streamGenerateContent?alt=sse ",
        f"x-goog-api-key: {SECRET}",
    ),
    "ollama": ("POST /api/chat ", f"authorization: Bearer {SECRET}"),
    "openai-chat": ("POST /v1/chat/completions ", f"authorization: Bearer {SECRET}"),
    "openai-responses": ("POST /v1/responses ", f"authorization: Bearer {SECRET}"),
}


async def ask(provider: Resource[ProviderParams]) -> list[object]:
    """Start a provider, ask it, stop it, and return what it answered."""
    assert isinstance(provider, Provider)
    await provider.start(SystemClock())
    try:
        return [payload async for payload, _ in provider.stream_chat(HELLO)]
    finally:
        await provider.stop()


def is_right(payloads: list[object]) -> bool:
    """Say whether the answer is one token and a stop."""
    last = payloads[-1]
    has_stopped = isinstance(last, Control) and last.data["reason"] == "stop"
    return has_stopped and [each for each in payloads if isinstance(each, Token)] == [Token("x")]


@pytest.mark.parametrize("dialect", sorted(ANSWERS))
def test_an_endpoint_is_asked_where_and_how_its_dialect_says(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path, the version and the key's header, over a real socket."""
    monkeypatch.setenv("POND_KEY", SECRET)

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(ANSWERS[dialect])
        await exchange.end()

    async def main() -> tuple[list[object], bytes]:
        async with serving(answer) as server:
            params = ProviderParams(endpoint=server.url, dialect=dialect, credential="POND_KEY")
            return await ask(Provider("p", params)), server.requests[0]

    payloads, request = asyncio.run(main())

    assert is_right(payloads)
    for part in HEADS[dialect]:
        assert part.encode() in request
    assert SECRET not in json.dumps([str(each) for each in payloads])


@pytest.mark.parametrize("dialect", sorted(ANSWERS))
def test_a_refused_key_is_told_by_its_variable(
    dialect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever header carries it, neither the error nor the log shows the key."""
    monkeypatch.setenv("POND_KEY", SECRET)
    caplog.set_level("DEBUG")

    async def answer(exchange: Exchange) -> None:
        await exchange.whole("401 Unauthorized", f"bad {SECRET}".encode(), "text/plain")

    async def main() -> str:
        async with serving(answer) as server:
            params = ProviderParams(endpoint=server.url, dialect=dialect, credential="POND_KEY")
            with pytest.raises(ProviderError) as caught:
                await ask(Provider("p", params))
        return str(caught.value)

    text = asyncio.run(main())

    assert "check the key POND_KEY" in text
    assert SECRET not in text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("dialect", sorted(ANSWERS))
def test_a_trace_is_served_in_its_dialect(dialect: str, tmp_path: Path) -> None:
    """The trace's server knows the path that the dialect asks at."""
    path = tmp_path / "pond.trace"
    with TraceWriter(path, dialect) as writer:
        writer.write(0.0, ANSWERS[dialect])

    payloads = asyncio.run(ask(Provider("p", ProviderParams(trace=str(path)))))

    assert is_right(payloads)


def test_the_dialects_to_choose_from_are_those_that_are_installed() -> None:
    """The form offers what the registry has, plug-ins too."""
    extra = ProviderParams.model_fields["dialect"].json_schema_extra

    assert isinstance(extra, dict)
    choices = extra["x-choices"]
    assert isinstance(choices, list)
    assert set(ANSWERS) <= set(choices)
    assert choices == sorted(map(str, choices))
