"""The real model, end to end: `make test-live` runs this, and the one check does.

Real process, real sockets, real time; what the model says is held against itself only, for
another version of its server may say something else. Where the packages are not installed each
test is skipped and says so.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import aiflow
from aiflow.cli import main
from aiflow.clock import SystemClock
from aiflow.events import Control, Payload, Token, ToolCall, ToolFragment
from aiflow.graph import edits
from aiflow.graph.codec import load
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.local.child import ModelServer
from aiflow.providers.local.packages import lacking
from aiflow.providers.local.resource import LocalModel, LocalModelParams
from aiflow.providers.messages import ChatMessage, ChatRequest, Sampling, ToolSpec
from tests.runtime.providers.local.stubbed import gone, is_there, needs_linux

MISSING = "; ".join(lacking(needs_model=True))
pytestmark = [pytest.mark.live, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

GRAPH = graphs_dir() / "live" / "local-model.aiflow.json"
REASONING = graphs_dir() / "live" / "local-reasoning.aiflow.json"
TOOL_CALL = graphs_dir() / "live" / "local-tool-call.aiflow.json"
WEATHER = ToolSpec(
    "weather",
    "Tells the weather of a place.",
    {
        "type": "object",
        "properties": {"place": {"type": "string", "maxLength": 40}},
        "required": ["place"],
    },
)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[ModelServer]:
    """Return the list of the servers that are started, with their process ids as they were."""
    started: list[ModelServer] = []
    start = ModelServer.start

    async def noted(self: ModelServer, timeout_s: float) -> None:
        started.append(self)
        await start(self, timeout_s)

    monkeypatch.setattr(ModelServer, "start", noted)
    return started


@asynccontextmanager
async def running(**params: Any) -> AsyncIterator[LocalModel]:
    """Start a local model, and stop it."""
    model = LocalModel("local", LocalModelParams(**params))
    await model.start(SystemClock())
    try:
        yield model
    finally:
        await model.stop()


def asked(text: str, *more: ChatMessage, tokens: int = 60, **fields: Any) -> ChatRequest:
    """Return a request that has one answer."""
    sampling = Sampling(temperature=0, max_tokens=tokens)
    return ChatRequest("", (ChatMessage("user", text), *more), sampling=sampling, **fields)


async def answer(model: LocalModel, request: ChatRequest) -> list[Payload]:
    """Return all that a request brings."""
    return [each.payload async for each in model.stream_chat(request)]


def text(payloads: list[Payload], channel: str = "answer") -> str:
    """Return the text of one channel."""
    found = [each.text for each in payloads if isinstance(each, Token) and each.channel == channel]
    return "".join(found)


async def is_computing(server: ModelServer) -> bool:
    """Say whether the server works on an answer, as it says itself."""
    request = urllib.request.Request(
        f"{server.address}/slots", headers={"authorization": f"Bearer {server._order.key}"}
    )
    body = await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=10).read())
    return any(slot["is_processing"] for slot in json.loads(body))


def test_the_graph_streams_from_the_model_to_the_voice(
    servers: list[ModelServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """Within its bound, the screen writes before the model has ended, and nothing stays."""
    quick = ["--set", "speech.words_per_minute=1000", "--set", "model.max_tokens=40"]

    code = main(["run", str(GRAPH), "--json", *quick])

    result = json.loads(capsys.readouterr().out)
    assert (code, result["status"], result["error"]) == (0, "completed", None)
    assert result["nodes"]["router"]["received"] > 20
    assert result["sinks"]["screen"]["received"] == result["sinks"]["speech"]["received"] > 4
    assert 0 < result["model_ttft_ms"] <= result["ttfpt_ms"] < result["duration_s"] * 1000
    assert 0 < result["max_in_flight"] <= result["bound"]
    assert [server.pid for server in servers] == [None]


def test_forced_reasoning_goes_its_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Both channels come from one real stream, the thoughts first."""
    assert main(["run", str(REASONING), "--json"]) == 0

    sinks = json.loads(capsys.readouterr().out)["sinks"]
    assert sinks["thoughts"]["received"] > 10
    assert sinks["answer"]["received"] > 0
    assert sinks["thoughts"]["ttfpt_ms"] < sinks["answer"]["ttfpt_ms"]


def test_a_forced_tool_call_goes_round_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    """The model calls, the tool calculates, and the second question is answered in words."""
    assert main(["run", str(TOOL_CALL), "--json"]) == 0

    nodes = json.loads(capsys.readouterr().out)["nodes"]
    assert nodes["assemble"]["received"] > 5
    assert nodes["call"]["processed"] == nodes["results"]["received"] == 1
    assert nodes["model"]["processed"] == 2
    assert nodes["answer"]["received"] > 0


def test_a_forced_tool_call_comes_in_pieces_and_its_result_is_told() -> None:
    """One call with arguments that fit the schema; after the tool's answer the model speaks."""

    async def main() -> None:
        question = "What is the weather in Paris? Use the tool."
        async with running(force="tool-call") as model:
            payloads = await answer(model, asked(question, tools=(WEATHER,)))
            pieces = [each for each in payloads if isinstance(each, ToolFragment)]
            assert len(pieces) > 3
            assert {piece.index for piece in pieces} == {0}
            assert pieces[0].name == "weather"
            arguments = json.loads("".join(piece.arguments for piece in pieces))
            assert list(arguments) == ["place"]
            end = [each for each in payloads if isinstance(each, Control)][-1]
            assert end.data["reason"] == "tool_calls"

            call = ToolCall(pieces[0].id or "c", "weather", arguments, json.dumps(arguments))
            told = ChatMessage("tool", "7 degrees, rain", tool_call_id=call.id, name="weather")
            asking = ChatMessage("assistant", "", (call,))
            spoken = await answer(model, asked(question, asking, told, tools=(WEATHER,)))
            assert "7" in text(spoken)
            assert not [each for each in spoken if isinstance(each, ToolFragment)]

    asyncio.run(main())


def test_the_same_prompt_has_the_same_answer() -> None:
    """At temperature 0, so that a demonstration shows what was rehearsed; and no path is told."""

    async def main() -> None:
        async with running() as model:
            first, second = [await answer(model, asked("Why is bread soft?")) for _ in range(2)]
            assert text(first) == text(second)
            (start,) = [e for e in first if isinstance(e, Control) and e.kind == "start"]
            assert "/" not in start.data["model"]

    asyncio.run(main())


def test_a_second_answer_right_after_a_long_one_comes() -> None:
    """The server closes the kept connection just then, and the client takes a new one."""

    async def main() -> None:
        async with running() as model:
            assert text(await answer(model, asked("Tell a long story.", tokens=200)))
            assert text(await answer(model, asked("Hello.", tokens=5)))

    asyncio.run(main())


def test_closing_a_stream_stops_the_model() -> None:
    """The connection is closed, and the server sees it before the answer has an end."""

    async def main() -> None:
        endless = asked("Tell a long story.", tokens=4000, extra={"ignore_eos": True})
        async with running(context_tokens=4096) as model:
            assert model.server is not None
            stream = model.stream_chat(endless)
            for _ in range(5):
                await anext(stream)
            assert await is_computing(model.server)

            await stream.aclose()

            while await is_computing(model.server):
                pass
            assert model.undecoded_bytes == 0

    # The answer would take longer than that on any machine of today; waiting for it would be seen.
    asyncio.run(asyncio.wait_for(main(), 60))


def test_cancelling_a_turn_makes_room_for_the_next(servers: list[ModelServer]) -> None:
    """The model answers one at a time, so the second can only come if the first was let go."""
    graph = edits.merge_params(load(GRAPH), "model", {"conversations": 2, "max_tokens": 1500})
    graph = edits.merge_params(graph, "speech", {"words_per_minute": 1000})

    async def main() -> None:
        async with aiflow.open(graph, inputs="Tell a long story.") as run:
            events = run.sink("screen")
            first = await anext(events)
            assert first.conversation == "c1"
            assert run.cancel("c1")
            async for event in events:
                if event.conversation == "c2":
                    break
            assert await is_computing(servers[0])
            await events.aclose()
            assert set(run.snapshot().conversations.values()) == {"cancelled"}
        assert servers[0].pid is None

    asyncio.run(asyncio.wait_for(main(), 60))


@needs_linux
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_model_dies_with_the_program(how: signal.Signals) -> None:
    """Killed outright, or interrupted by Ctrl+C: nothing is left running."""
    command = [sys.executable, "-m", "aiflow", "run", str(GRAPH)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout is not None
        assert program.stdout.readline()
        (child,) = _children(program.pid)
        assert is_there(child)
        program.send_signal(how)
        if how == signal.SIGINT:
            assert program.wait(30) == 130

    asyncio.run(gone(child))


def _children(parent: int) -> list[int]:
    """Return the process ids of a process's children."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == parent:
            found.append(int(status.parent.name))
    return found
