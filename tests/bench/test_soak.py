"""A long run: memory stays flat, nothing is lost, the counts add up."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator

import pytest

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder

#: As many as are asked for: ten million take some minutes.
EVENTS = int(os.environ.get("AIFLOW_SOAK", "1_000_000"))
CONVERSATIONS = 1_000


def slope(sizes: list[int]) -> float:
    """Return how many blocks a run's memory grows by from one look to the next, fitted."""
    middle, mean = (len(sizes) - 1) / 2, sum(sizes) / len(sizes)
    up = sum((place - middle) * (size - mean) for place, size in enumerate(sizes))
    return up / sum((place - middle) ** 2 for place in range(len(sizes)))


@pytest.mark.soak
def test_a_million_events_through_five_nodes_leave_memory_flat() -> None:
    """Inline, filtered, several outputs, through a worker task, and out; both branches merge."""
    seen = 0
    sizes: list[int] = []

    def stream(scope: Scope) -> Iterator[Token]:
        for number in range(EVENTS):
            if number % (EVENTS // 20) == 0:
                gc.collect()
                sizes.append(sys.getallocatedblocks())
            yield Token(str(number))

    async def through(token: Token) -> Token:
        return token

    def take(token: Token) -> None:
        nonlocal seen
        seen += 1

    builder = PlanBuilder(1).source("s", stream)
    builder.node("plain", lambda token: token)
    builder.node("even", lambda token: token if int(token.text) % 2 == 0 else None)
    builder.node("worker", through)
    builder.node("twice", lambda token: [token, token], max_outputs=2)
    builder.sink("k", take).chain("s", "plain", "even", "twice", "k")
    builder.chain("plain", "worker", "k")

    snapshot = asyncio.run(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert seen == 2 * EVENTS
    assert snapshot.nodes["k"].processed == snapshot.nodes["k"].received == 2 * EVENTS
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled
    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    # Blocks of memory in use; after the first twentieth there is all that a run needs.
    assert max(sizes[2:]) - min(sizes[2:]) < 1_000
    assert abs(slope(sizes[2:])) < 50


@pytest.mark.soak
def test_a_thousand_conversations_leave_memory_flat() -> None:
    """Each has its lanes, state and end; eight are open at once."""
    seen = 0
    sizes: list[int] = []
    each = EVENTS // CONVERSATIONS

    def stream(scope: Scope) -> Iterator[Token]:
        if scope.number % (CONVERSATIONS // 20) == 0:
            gc.collect()
            sizes.append(sys.getallocatedblocks())
        for number in range(each):
            yield Token(str(number))

    async def through(token: Token) -> Token:
        return token

    def take(token: Token) -> None:
        nonlocal seen
        seen += 1

    builder = PlanBuilder(8).source("s", stream, conversations=CONVERSATIONS)
    builder.node("worker", through, workers=4, reorder_capacity=4, state=list)
    builder.sink("k", take).chain("s", "worker", "k")

    snapshot = asyncio.run(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert seen == each * CONVERSATIONS
    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    # The outcomes of all thousand are kept, some blocks for each; nothing of their events is.
    assert slope(sizes[2:]) < 20 * CONVERSATIONS / 20
