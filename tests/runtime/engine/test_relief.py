"""Relief: a younger event that keeps out what a join waits for steps aside, and only then."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from aiflow.compiler.strategies import apply_strategy
from aiflow.engine.session import Session
from aiflow.events import Message
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.builtin.aggregate import Aggregate, AggregateParams
from aiflow.operators.builtin.join import Join, JoinParams
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual
from tests.runtime.engine.random_graphs import GraphSpec, NodeSpec, check_books, run


def node(
    kind: str, before: list[str], places: int, workers: int, ahead: int, pace: int
) -> NodeSpec:
    """Return a node that is full by blocking."""
    edges = tuple((name, None) for name in before)
    return NodeSpec(kind, edges, places, workers, ahead, "block", pace)


def meeting(max_parts: int, *, conversations: int = 1) -> PlanBuilder:
    """Return a graph where a short and a slow way meet before one port of a join.

    Only every tenth event takes the slow way to its end, so the short way is far ahead.
    """

    async def slowly(message: Message, scope: Scope) -> Message:
        await scope.sleep(1.0)
        return message

    builder = PlanBuilder(conversations)
    builder.source("s", [Message(str(number)) for number in range(50)], conversations=conversations)
    builder.node("few", lambda message: message if int(message.text) % 10 == 0 else None)
    builder.node("slow", slowly)
    builder.node("m", lambda message: message, queue_capacity=2)
    builder.node("none", lambda message: None)
    join = Join(JoinParams(mode="all", max_parts=max_parts))
    builder.operator("j", join, queue_capacity=4 * conversations).sink("k", str)
    builder.chain("s", "few", "slow", "m").edge("s", "m").edge("m", "j.a")
    return builder.chain("s", "none").edge("none", "j.b").edge("j", "k")


def end_of(builder: PlanBuilder) -> Snapshot:
    """Run to the end on the virtual clock."""

    async def go() -> Snapshot:
        return await Session(builder.build()).run()

    return run_virtual(go())


@pytest.mark.parametrize(("first", "second", "third"), list(product(range(2), range(4), range(2))))
def test_branches_that_meet_before_a_join_never_keep_each_other_out(
    first: int, second: int, third: int
) -> None:
    """What the join needs comes behind a younger event of the same source, in a node's order."""
    nodes = {
        "n0": node("timed", ["s0"], 2, 3, 3, first),
        "n1": node("wait", ["n0"], 2, 1, 3, 0),
        "n2": node("stream", ["s0", "n0"], 3, 2, 3, second),
        "n3": node("join", ["n2", "s0"], 3, 3, 3, third),
        "n4": node("join", ["s0", "n3"], 2, 3, 0, 0),
    }

    noted = run(GraphSpec({"s0": (6, 1, True)}, nodes, 2, 2, is_droppable=False))

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error


def test_nothing_steps_aside_while_what_is_needed_is_at_work() -> None:
    """A fast way is held back as long as a slow one works, so a small store is enough."""
    snapshot = end_of(meeting(4))

    assert snapshot.phase == "completed", snapshot.error
    assert snapshot.nodes["k"].processed == 50
    assert snapshot.in_flight == 0
    assert snapshot.bound is not None
    assert snapshot.max_in_flight <= snapshot.bound


def test_a_store_that_is_full_is_told_with_what_to_raise() -> None:
    """It is no deadlock: the join can say what it lacks."""
    snapshot = end_of(meeting(0))

    assert snapshot.phase == "failed"
    error = str(snapshot.error)
    assert "node j still waits for an earlier event when more comes over m.out>j.a" in error
    assert "raise its max_parts or queue_capacity" in error


def test_a_pair_steps_aside_where_a_younger_one_came_first() -> None:
    """A zip of one source's branches keeps them beside its queue, and pairs none wrongly."""
    nodes = {
        "n0": node("stream", ["s0"], 1, 1, 0, 0),
        "n1": node("filter", ["s0", "n0"], 1, 1, 0, 0),
        "n3": node("zip", ["n1"], 1, 1, 0, 0),
    }

    noted = run(GraphSpec({"s0": (2, 0, False)}, nodes, 1, 1, is_droppable=False))

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error


@pytest.mark.parametrize(("parts", "phase"), [(60, "completed"), (3, "failed")])
def test_what_is_kept_to_the_end_does_not_stop_the_source_for_good(parts: int, phase: str) -> None:
    """While an aggregate waits for the end, a join stores the other branch, or says it is full."""
    builder = PlanBuilder(1).source("s", [Message(str(number)) for number in range(50)])
    builder.operator("g", Aggregate(AggregateParams()), state="serialized")
    join = Join(JoinParams(mode="all", max_parts=parts))
    builder.operator("j", join, queue_capacity=4).sink("k", str)
    builder.chain("s", "g").edge("g", "j.a").edge("s", "j.b").edge("j", "k")

    snapshot = end_of(builder)

    assert snapshot.phase == phase, snapshot.error
    assert snapshot.bound is not None
    assert snapshot.max_in_flight <= snapshot.bound
    if phase == "failed":
        assert "node j still waits for an earlier event" in str(snapshot.error)


def test_a_source_reads_on_where_a_pair_waits_for_it() -> None:
    """Under `callback` one payload at a time is carried as far as it can go: none hangs."""
    builder = PlanBuilder(1).source("s", [Message("1"), Message("2")])
    builder.source("t", [Message("a"), Message("b")])
    seen: list[str] = []
    builder.operator("j", Join(JoinParams(mode="zip")), queue_capacity=2)
    builder.sink("k", lambda joined: seen.append(joined.text))
    builder.edge("s", "j.a").edge("t", "j.b").edge("j", "k")

    async def go() -> Snapshot:
        return await Session(apply_strategy(builder.build(), "callback")).run()

    snapshot = run_virtual(go())

    assert snapshot.phase == "completed", snapshot.error
    assert seen == ["1 a", "2 b"]


def test_a_ring_is_ended_while_other_nodes_are_at_work() -> None:
    """It takes as long as the slow way does, though a node elsewhere works for much longer."""

    async def rests(message: Message, scope: Scope) -> None:
        await scope.sleep(1_000.0)

    seen: list[float] = []
    builder = meeting(4)
    builder.source("t", [Message("0")]).sink("rest", rests).edge("t", "rest")
    builder.sink("clock", lambda _: seen.append(asyncio.get_running_loop().time()))

    snapshot = end_of(builder.edge("j", "clock"))

    assert snapshot.phase == "completed", snapshot.error
    assert len(seen) == 50
    assert seen[-1] - seen[0] < 20
