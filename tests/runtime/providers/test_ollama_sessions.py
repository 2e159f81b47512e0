"""Sessions with Ollama over real sockets: asked as it wants it, recorded answers read right."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.events import Control, Payload, Token, ToolCall
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.messages import ChatMessage, ChatRequest, Reasoning, Sampling, ToolSpec
from aiflow.providers.reading import summarize
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import Trace
from aiflow.transport.trace_server import TraceServer
from tests.runtime.providers.read_stream import agrees
from tests.runtime.transport.faulty_server import Exchange, serving

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "streams" / "recorded"
CALL = ToolCall("call_1", "weather", {"city": "Köln"}, '{"city": "Köln"}')
# The second question of a session: the model has asked for a tool, and the tool has answered.
ASKED = ChatRequest(
    "qwen3",
    (
        ChatMessage("user", "Is it cold in Köln?"),
        ChatMessage("assistant", "", (CALL,)),
        ChatMessage("tool", "7 degrees", tool_call_id="call_1", name="weather"),
    ),
    "Be brief.",
    (ToolSpec("weather"),),
    sampling=Sampling(temperature=0, max_tokens=50),
    reasoning=Reasoning("high"),
)


def recordings() -> list[dict[str, Any]]:
    """Return what is expected of each recording; none where they are not beside the checkout."""
    file = RECORDED / "expected.json"
    entries: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return [each for each in entries if each["dialect"] == "ollama"]


async def answer(provider: Provider, request: ChatRequest = ASKED) -> list[Payload]:
    """Return all that a provider answers."""
    await provider.start(SystemClock())
    try:
        return [each.payload async for each in provider.stream_chat(request)]
    finally:
        await provider.stop()


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the shared streams are not here")
@pytest.mark.parametrize("entry", recordings(), ids=lambda entry: entry["file"])
def test_a_recorded_answer_reads_right_over_a_socket(entry: dict[str, Any]) -> None:
    """Each line a chunk of its own, as Ollama sends it; nothing but the last line ends it."""
    lines = (RECORDED / entry["file"]).read_bytes().splitlines(keepends=True)

    async def send(exchange: Exchange) -> None:
        await exchange.head(content_type="application/x-ndjson")
        await exchange.chunks(*lines)
        await exchange.end()

    async def main() -> list[Payload]:
        async with serving(send) as server:
            return await answer(
                Provider("p", ProviderParams(endpoint=server.url, dialect="ollama"))
            )

    summary = summarize(asyncio.run(main()))

    assert summary["reasoning"] == entry["reasoning"]["text"]
    assert summary["answer"] == entry["answer"]["text"]
    assert [each["name"] for each in summary["tool_calls"]] == [
        each["name"] for each in entry["tool_calls"]
    ]
    assert agrees(
        [{"arguments": each["arguments_json"]} for each in entry["tool_calls"]],
        summary["tool_calls"],
    )
    assert summary["finish"] == entry["finish_suggested"]
    assert agrees(entry["usage"], summary["usage"])


def test_a_session_is_asked_on_as_ollama_wants_it() -> None:
    """At /api/chat; arguments are an object, options in their own place, effort is a switch."""

    async def send(exchange: Exchange) -> None:
        end = (
            b'{"message":{"role":"assistant","content":"Yes."},"done":true,"done_reason":"stop"}\n'
        )
        await exchange.whole("200 OK", end, "application/x-ndjson")

    async def main() -> bytes:
        async with serving(send) as server:
            params = ProviderParams(endpoint=server.url, dialect="ollama")
            payloads = await answer(Provider("p", params))
            assert [each.text for each in payloads if isinstance(each, Token)] == ["Yes."]
            return server.requests[0]

    head, _, raw = asyncio.run(main()).partition(b"\r\n\r\n")
    body = json.loads(raw)

    assert head.startswith(b"POST /api/chat ")
    assert [each["role"] for each in body["messages"]] == ["system", "user", "assistant", "tool"]
    call = body["messages"][2]["tool_calls"][0]["function"]
    assert (call["name"], call["arguments"]) == ("weather", {"city": "Köln"})
    assert body["messages"][3]["content"] == "7 degrees"
    assert body["options"] == {"temperature": 0, "num_predict": 50}
    assert body["tools"][0]["function"]["name"] == "weather"
    assert (body["think"], body["stream"]) == (True, True)


def test_the_shipped_session_plays_through_a_socket() -> None:
    """Its thoughts come before its answer, and its counts at the end."""
    trace = Trace.open(graphs_dir() / "traces" / "ollama-weather.trace")

    async def main() -> list[Payload]:
        server = TraceServer(trace, SystemClock(), speed=None)
        await server.start()
        try:
            params = ProviderParams(endpoint=server.url, dialect="ollama")
            return await answer(Provider("p", params))
        finally:
            await server.stop()

    payloads = asyncio.run(main())

    channels = [each.channel for each in payloads if isinstance(each, Token)]
    assert channels == sorted(channels, reverse=True)
    assert set(channels) == {"reasoning", "answer"}
    *_, usage, finish = [each for each in payloads if isinstance(each, Control)]
    assert (usage.data["input"], usage.data["output"]) == (42, 80)
    assert finish.data["reason"] == "stop"
