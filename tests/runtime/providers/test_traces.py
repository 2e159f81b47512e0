"""Tests of `aiflow.providers.traces`, through the provider that answers from several."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.events import Token
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import TraceWriter


def written(folder: Path, name: str, dialect: str = "ollama") -> str:
    """Write a trace whose answer is its own name."""
    with TraceWriter(folder / f"{name}.trace", dialect) as writer:
        line = f'{{"message":{{"content":"{name}"}},"done":true,"done_reason":"stop"}}\n'
        writer.write(0.0, line.encode())
    return f"{name}.trace"


def request(answers: int) -> ChatRequest:
    """Return a request in whose messages a model has answered that often."""
    said = [ChatMessage("user", "?"), ChatMessage("assistant", "!")] * answers
    return ChatRequest("m", (*said, ChatMessage("user", "?")))


async def ask(provider: Provider, answers: int) -> str:
    """Return the text of one answer."""
    stream = provider.stream_chat(request(answers))
    return "".join([each.payload.text async for each in stream if isinstance(each.payload, Token)])


@pytest.mark.parametrize("is_virtual", [True, False])
def test_the_answers_in_the_messages_choose_the_trace(tmp_path: Path, is_virtual: bool) -> None:
    """Through sockets and in process; asked again it is the same, and the last one stays."""
    names = [written(tmp_path, name) for name in ("one", "two", "three")]
    params = ProviderParams(trace=names[0], more_traces=tuple(names[1:]))

    async def scenario() -> list[str]:
        loop = asyncio.get_running_loop()
        clock: Clock = VirtualClock(loop) if isinstance(loop, VirtualLoop) else SystemClock()
        provider = Provider("p", params, [tmp_path])
        await provider.start(clock)
        try:
            return [await ask(provider, answers) for answers in (1, 0, 2, 1, 7)]
        finally:
            await provider.stop()

    with asyncio.Runner(loop_factory=VirtualLoop if is_virtual else None) as runner:
        assert runner.run(scenario()) == ["two", "one", "three", "two", "three"]


@pytest.mark.parametrize(
    ("trace", "more", "fault"),
    [
        ("", ["one.trace"], "set that as well"),
        ("one.trace", ["gone.trace"], r"there is no trace gone\.trace"),
        ("one.trace", ["two.trace"], "one provider speaks one dialect"),
    ],
)
def test_traces_that_cannot_answer_are_told_before_the_run(
    tmp_path: Path, trace: str, more: list[str], fault: str
) -> None:
    """Also that one of them is in another dialect."""
    written(tmp_path, "one")
    written(tmp_path, "two", "gemini")
    params = ProviderParams(
        trace=trace, more_traces=tuple(more), endpoint="" if trace else "http://h"
    )

    (found,) = Provider("p", params, [tmp_path]).check()

    assert fault.replace("\\", "") in found
