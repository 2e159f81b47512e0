"""Balancing: an output takes the branch that has room, and waits only while none has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Message
from aiflow.graph.model import Feedback
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.builtin.partition import Partition, PartitionParams
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def run(builder: PlanBuilder, **options: Any) -> Snapshot:
    """Run to the end on the virtual clock."""

    async def go() -> Snapshot:
        return await Session(builder.build(), **options).run()

    return run_virtual(go())


def spread(
    times_s: list[float], seen: list[str], *, count: int = 24, conversations: int = 1, q: int = 1
) -> PlanBuilder:
    """Return a source that is spread by room over nodes that take so long."""

    def node(name: str, time_s: float) -> Any:
        async def slowly(message: Message, scope: Scope) -> Message:
            seen.append(name)
            await scope.sleep(time_s)
            return message

        return slowly

    builder = PlanBuilder(8)
    messages = [Message(str(number)) for number in range(count)]
    builder.source("s", messages, conversations=conversations)
    builder.operator("p", Partition(PartitionParams(mode="room"))).edge("s", "p")
    for port, time_s in zip("abcdefgh", times_s, strict=False):
        builder.node(port, node(port, time_s), queue_capacity=q).edge(f"p.{port}", port)
        builder.edge(port, "k")
    return builder.sink("k", str)


def test_branches_that_are_alike_take_turns() -> None:
    """Each gets as much as the others."""
    seen: list[str] = []

    snapshot = run(spread([0.1, 0.1, 0.1], seen))

    assert snapshot.phase == "completed"
    assert Counter(seen) == {"a": 8, "b": 8, "c": 8}


def test_a_fast_branch_gets_more_and_a_slow_one_holds_nobody_up() -> None:
    """Whoever is let in next goes where room is, also where it did not wait first."""
    seen: list[str] = []

    snapshot = run(spread([10.0, 0.1], seen))

    assert snapshot.phase == "completed"
    assert seen.count("a") == 2
    assert seen.count("b") == 22
    assert snapshot.at < 21


def test_it_waits_while_all_are_full_and_drops_nothing() -> None:
    """Fullness reaches the source."""
    seen: list[str] = []

    snapshot = run(spread([1.0, 1.0], seen, count=9))

    assert snapshot.nodes["k"].received == 9
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    assert snapshot.nodes["p"].backpressured_s > 0


@given(
    st.lists(st.sampled_from([0.0, 0.1, 1.0]), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 20),
)
@settings(max_examples=40)
def test_every_event_takes_exactly_one_branch(
    times_s: list[float], conversations: int, q: int, count: int
) -> None:
    """Whatever the branches take, however small they are, and the books are even."""
    seen: list[str] = []

    snapshot = run(spread(times_s, seen, count=count, conversations=conversations, q=q))

    assert snapshot.phase == "completed"
    assert len(seen) == snapshot.nodes["k"].processed == count * conversations
    assert snapshot.in_flight == 0
    assert all(edge.depth == 0 for edge in snapshot.edges.values())


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_log_tells_the_port_that_was_taken(is_logged: bool) -> None:
    """And a run is the same each time, with a log or without."""
    lines: list[str] = []
    seen: list[str] = []

    run(spread([0.3, 0.1], seen, count=5), **({"log": lines.append} if is_logged else {}))

    assert seen == ["a", "b", "b", "b", "a"]
    ports = [line.partition('"port":"')[2][0] for line in lines if '"node":"p","port"' in line]
    assert Counter(ports) == (Counter(seen) if is_logged else Counter())


@pytest.mark.parametrize("state", [None, "transactional"])
def test_a_way_that_only_leads_back_does_not_break_the_engine(state: str | None) -> None:
    """Nobody is busy behind a feedback edge; the others leave by the way ahead."""
    policy = {} if state is None else {"state": state}
    builder = PlanBuilder(1).source("s", [Message(str(number)) for number in range(4)])
    builder.operator("p", Partition(PartitionParams(mode="room")), **policy)
    builder.sink("k", str).edge("s", "p").edge("p.a", "k")
    builder.edge("p.b", "p", feedback=Feedback(1, 1, 9))

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert snapshot.nodes["k"].received == 4
