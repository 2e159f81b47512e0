"""Every operator of the catalog keeps its contract under the engine, whoever cancels when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from aiflow.clock import Clock
from aiflow.events import (
    Control,
    DeadLetter,
    Message,
    Payload,
    Retrieval,
    Token,
    ToolCall,
    ToolFragment,
)
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow.providers.chat import Arrival
from aiflow.retrieval.store import Found
from aiflow.testing.behaviour import check_operator
from aiflow.tools.resource import Tools, ToolsParams

CATALOG = Catalog.load()
WORDS = [
    Token(f"{word} ")
    for word in ["Streams", "flow.", "They", "never", "wait", "for", "the", "end", "of", "it."]
]


class Fake:
    """A resource that has nothing to start or to stop."""

    async def start(self, clock: Clock) -> None:
        """Be there."""

    async def stop(self) -> None:
        """Be gone."""


class Answer:
    """Three tokens, each after a while."""

    undecoded_bytes = 0
    request_sent_at = 0.0

    def __init__(self) -> None:
        finish = Control("finish", {"choice": 0, "reason": "stop"})
        self._left: list[Payload] = [Control("start"), *WORDS[:3], finish]

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> Arrival:
        await asyncio.sleep(0.1)
        if not self._left:
            raise StopAsyncIteration
        return Arrival(self._left.pop(0), asyncio.get_running_loop().time())

    async def aclose(self) -> None:
        """End."""


class Model(Fake):
    """A provider that gives everybody the same answer."""

    def stream_chat(self, request: object, profile: object = None) -> Answer:
        """Answer."""
        return Answer()


class Library(Fake):
    """An index that finds one passage for anything."""

    def search(self, query: str, limit: int) -> list[Found]:
        """Find it."""
        return [Found("a.md", 2, "A", "text a", 4.0, "…a")]

    def add(self, name: str, text: str) -> bool:
        """Take a document."""
        return True


def toolbox() -> Tools:
    """Return the tools that are shipped and need nothing."""
    return Tools("tools", ToolsParams(functions=("calculator",)))


RESOURCES: dict[str, Callable[[], Any]] = {"provider": Model, "index": Library, "tools": toolbox}
#: What comes in where words do not do.
PAYLOADS: dict[str, list[Payload]] = {
    "chat-loop": [Message("How far is it?", "user")],
    "chat-reply": [Message("How far is it?", "user"), Message("And back?", "user")],
    "dead-letter": [DeadLetter(word, "speech", "ValueError", 1) for word in WORDS],
    "rag-prompt": [Retrieval("how far", "A road"), *WORDS],
    "tool-assemble": [
        ToolFragment(0, "call_1", "look", '{"at": '),
        ToolFragment(0, "", "", '"this"}'),
        Control("finish", {"choice": 0, "reason": "tool_calls"}),
    ],
    "tool-call": [
        ToolCall(f"call_{number}", "calculator", {"expression": f"{number} + 1"}, "")
        for number in range(3)
    ],
}


@pytest.mark.parametrize("name", CATALOG.operators)
def test_an_operator_keeps_its_contract_under_the_engine(name: str) -> None:
    """No state on itself, what it declares and no more, and no trace of a cancelled call."""
    operator = CATALOG.operators[name]

    check_operator(
        operator(operator.Params(), [graphs_dir()]),
        PAYLOADS.get(name, WORDS) if operator.inputs else (),
        resources={each: RESOURCES[each] for each in operator.requires},
    )
