"""A ring of waiting nodes in one part of a graph is told while the rest goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


async def back(token: Token, scope: Scope) -> Token:
    """Pass a token on after a while."""
    await scope.sleep(0.1)
    return token


async def stream(scope: Scope) -> AsyncIterator[Token]:
    """Yield many for the first conversation, and few over a long time for the others."""
    if scope.conversation == "c1":
        for number in range(20):
            yield Token(str(number))
        return
    for number in range(10):
        yield Token(str(number))
        await scope.sleep(10.0)


def ring(*, others: bool) -> PlanBuilder:
    """Return a ring a → b → a that only the first conversation enters, and a way beside it."""

    def way(token: Token, scope: Scope) -> Any:
        return Emit("ring" if scope.conversation == "c1" else "beside", token)

    builder = PlanBuilder(2).source("s", stream, conversations=2 if others else 1)
    builder.node("way", way, outputs=("ring", "beside"), queue_capacity=2)
    builder.node("a", lambda token: token, queue_capacity=1).node("b", back, queue_capacity=1)
    builder.sink("k", back)
    builder.edge("s", "way").edge("way.ring", "a").edge("a", "b").edge("b", "a")
    return builder.edge("way.beside", "k")


def run(builder: PlanBuilder) -> tuple[Snapshot, dict[str, float]]:
    """Run on the virtual clock; return the end, and when each conversation was last heard of."""
    ended: dict[str, float] = {}

    def note(line: str) -> None:
        record = json.loads(line)
        if record["record"] == "ended":
            ended[record["conversation"]] = record["at"]

    return run_virtual(Session(builder.build(), log=note).run()), ended


def test_a_ring_is_told_though_another_conversation_goes_on() -> None:
    """It fails within seconds, by the names of its nodes; the other is served meanwhile."""
    snapshot, ended = run(ring(others=True))

    assert snapshot.conversations["c1"] == "failed"
    assert snapshot.error is not None
    assert snapshot.error.startswith("deadlock: a waits for b waits for a (a: 1 of 1 waiting")
    assert ended["c1"] < 5.0
    assert snapshot.nodes["k"].processed == 10
    # The ends of the second one wait for one another in the ring too, when its source has ended.
    assert snapshot.conversations["c2"] == "failed"
    assert ended["c2"] == pytest.approx(100.0)
    assert snapshot.in_flight == 0


def test_alone_it_is_told_at_once() -> None:
    """When nothing is left to do, nobody has to wait for a timer."""
    snapshot, _ = run(ring(others=False))

    assert snapshot.conversations == {"c1": "failed"}
    assert snapshot.at < 1.0


@pytest.mark.parametrize("seconds", [5.0, 50.0])
def test_who_waits_for_an_operator_is_in_no_ring(seconds: float) -> None:
    """However long it takes: everything waits for it, and is right to."""

    async def slow(token: Token, scope: Scope) -> None:
        await scope.sleep(seconds)

    builder = PlanBuilder(1).source("s", [Token(str(n)) for n in range(9)])
    builder.node("a", lambda token: token, queue_capacity=1).node("b", back, queue_capacity=1)
    builder.sink("k", slow, queue_capacity=1).chain("s", "a", "b", "k")

    snapshot, _ = run(builder)

    assert snapshot.phase == "completed"


def test_nobody_looks_while_nobody_new_waits() -> None:
    """The timer ceases, though somebody waits for a day: no event, no turn of the loop."""
    turns: list[float] = []

    async def slow(token: Token, scope: Scope) -> None:
        await scope.sleep(86_400.0)

    async def go() -> None:
        builder = PlanBuilder(1).source("s", [Token(str(n)) for n in range(3)])
        session = Session(builder.sink("k", slow, queue_capacity=1).edge("s", "k").build())
        loop: Any = asyncio.get_running_loop()
        really = loop._run_once

        def counting() -> None:
            turns.append(loop.time())
            really()

        loop._run_once = counting
        await session.run()

    run_virtual(go())

    assert len(turns) < 100
