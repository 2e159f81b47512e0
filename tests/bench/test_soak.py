"""A long run: memory stays flat, nothing is lost, the counts add up."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder

EVENTS = 1_000_000


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
