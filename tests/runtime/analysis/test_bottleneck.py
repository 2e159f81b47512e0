"""Tests of `aiflow.analysis.bottleneck`, on runs of the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aiflow.analysis.bottleneck import Bottleneck, bottleneck
from aiflow.analysis.facts import Facts
from aiflow.compiler.plan import Plan
from aiflow.engine.session import Session
from aiflow.events import Message, Token
from aiflow.metrics.snapshot import NodeStats, Snapshot
from aiflow.operators.base import Joining
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def every(pause_s: float, count: int = 10_000) -> Callable[[Scope], AsyncIterator[Token]]:
    """Return a stream of so many tokens, one each pause."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for number in range(count):
            await scope.sleep(pause_s)
            yield Token(str(number))

    return stream


def takes(seconds: float) -> Callable[[Token, Scope], object]:
    """Return a step of so many seconds."""

    async def step(token: Token, scope: Scope) -> Token:
        await scope.sleep(seconds)
        return token

    return step


def serialized(plan: Plan, id: str) -> Plan:
    """Return the plan with a node whose state lets one event in at a time."""
    node = plan.nodes[id]
    policy = node.policy.model_copy(update={"state": State.SERIALIZED})
    return replace(plan, nodes={**plan.nodes, id: replace(node, policy=policy)})


def samples(plan: Plan, *times: float) -> list[Snapshot]:
    """Return snapshots of a run at these virtual times."""

    async def watch() -> list[Snapshot]:
        session = Session(plan)
        run = asyncio.create_task(session.run())
        taken, now = [], 0.0
        for at in times:
            await asyncio.sleep(at - now)
            now = at
            taken.append(session.snapshot())
        session.stop()
        await run
        return taken

    return run_virtual(watch())


def named(plan: Plan, since: float = 8.0, until: float = 10.0) -> Bottleneck | None:
    """Return the bottleneck of a plan's run between two times."""
    before, now = samples(plan, since, until)
    return bottleneck(before, now, Facts.of_plan(plan))


def test_the_slow_consumer_is_named_with_its_reason_and_all_who_wait() -> None:
    """Those in between are full too, and none of them is blamed."""
    builder = PlanBuilder(1).source("model", every(0.01)).node("router", takes(0.001))
    builder.node("chunks", takes(0.002), queue_capacity=2).sink("speech", takes(0.25))

    found = named(builder.chain("model", "router", "chunks", "speech").build())

    assert found is not None
    assert found.sentence == (
        "speech is the bottleneck: one event takes 250 ms with k = 1, at most 4.0/s, and 4.0/s"
        " arrive; model, router and chunks wait for it."
    )
    assert found.sources == ("model",)
    assert (found.depth, found.queue_capacity) == (8, 8)


def test_nobody_is_named_where_nobody_waits() -> None:
    """A node that works half of the time holds nobody back."""
    builder = PlanBuilder(1).source("model", every(0.1)).sink("log", takes(0.05))

    assert named(builder.edge("model", "log").build()) is None


def test_a_queue_that_still_fills_makes_nobody_wait_yet() -> None:
    """The bottleneck of a minute from now is told by its filling, not as one of now."""
    builder = PlanBuilder(1).source("model", every(0.1))
    builder.sink("log", takes(0.2), queue_capacity=1000)

    assert named(builder.edge("model", "log").build()) is None


def test_a_slow_node_in_the_middle_is_named_and_not_the_faster_one_behind_it() -> None:
    """Who comes after the bottleneck waits for events, which is not being held back."""
    builder = PlanBuilder(1).source("model", every(0.01)).node("slow", takes(0.2))
    builder.sink("log", takes(0.15))

    found = named(builder.chain("model", "slow", "log").build())

    assert found is not None
    assert (found.node, found.waiting) == ("slow", ("model",))


def test_the_slower_branch_of_a_diamond_is_named() -> None:
    """The other branch is as full of the same events and yet at rest."""
    builder = PlanBuilder(1).source("model", every(0.01)).node("quick", takes(0.05))
    builder.node("slow", takes(0.2)).sink("log", takes(0.02), inputs=("a", "b"))
    builder.edge("model", "quick").edge("model", "slow")
    builder.edge("quick.out", "log.a").edge("slow.out", "log.b")

    found = named(builder.build())

    assert found is not None
    assert (found.node, found.waiting) == ("slow", ("model",))


def test_the_branch_that_a_join_waits_for_is_named_and_not_the_join() -> None:
    """The join is full of what the quick branch has sent, and works on nothing."""
    builder = PlanBuilder(1).source("model", every(0.01)).node("quick", takes(0.001))
    builder.node("slow", takes(0.2), queue_capacity=1000)
    joining = Joining("all", max_parts=4)
    builder.node("both", lambda joined: None, inputs=("a", "b"), joining=joining, kept=4)
    builder.edge("model", "quick").edge("model", "slow")
    builder.edge("quick", "both.a").edge("slow", "both.b")

    found = named(builder.build())

    assert found is not None
    assert found.node == "slow"
    assert "quick" in found.waiting


def test_what_both_branches_of_a_diamond_wait_for_is_named_behind_them() -> None:
    """Both branches and the source wait for the one that joins them."""
    builder = PlanBuilder(1).source("model", every(0.01)).node("left", takes(0.01))
    builder.node("right", takes(0.02)).sink("log", takes(0.2), inputs=("a", "b"))
    builder.edge("model", "left").edge("model", "right")
    builder.edge("left.out", "log.a").edge("right.out", "log.b")

    found = named(builder.build())

    assert found is not None
    assert found.node == "log"
    assert {"model", "right"} <= set(found.waiting)


def test_a_slow_node_on_a_detached_edge_is_never_blamed() -> None:
    """It loses events and makes nobody wait, however busy it is."""
    builder = PlanBuilder(1).source("model", every(0.01)).sink("log", takes(1.0))
    builder.sink("speech", takes(0.25)).edge("model", "speech")
    builder.edge("model", "log", overflow="drop_oldest")
    alone = PlanBuilder(1).source("model", every(0.01)).sink("log", takes(1.0))
    alone.edge("model", "log", overflow="drop_oldest")

    found = named(builder.build())

    assert found is not None
    assert (found.node, found.waiting) == ("speech", ("model",))
    assert named(alone.build()) is None


def test_a_node_that_drops_makes_only_those_wait_that_bring_what_cannot_be_dropped() -> None:
    """Under drop_oldest tokens never wait; a message does."""

    async def messages(scope: Scope) -> AsyncIterator[Message]:
        for number in range(10_000):
            await scope.sleep(0.01)
            yield Message(str(number))

    found = {}
    for name, stream in (("tokens", every(0.01)), ("messages", messages)):
        builder = PlanBuilder(1).source("model", stream)
        builder.sink("speech", takes(0.25), overflow="drop_oldest").edge("model", "speech")
        found[name] = named(builder.build())

    assert found["tokens"] is None
    assert found["messages"] is not None
    assert found["messages"].node == "speech"


def test_a_window_shut_by_one_slow_event_is_the_reason_that_is_told() -> None:
    """Workers are free and may not begin: another worker would not help, a larger ρ would."""

    async def first_is_slow(token: Token, scope: Scope) -> Token:
        await scope.sleep(10.0 if int(token.text) % 8 == 0 else 0.01)
        return token

    builder = PlanBuilder(1).source("model", every(0.01))
    builder.node("tools", first_is_slow, workers=4, reorder_capacity=2, queue_capacity=2)
    builder.sink("log", takes(0.001)).chain("model", "tools", "log")

    found = named(builder.build(), 20.0, 60.0)

    assert found is not None
    assert (found.node, found.kind) == ("tools", "window")
    assert "the oldest keeps the others from leaving (k = 4, ρ = 2)" in found.sentence


def test_a_window_shut_by_its_receiver_is_not_blamed() -> None:
    """The oldest cannot leave because of who is behind it."""
    builder = PlanBuilder(1).source("model", every(0.01))
    builder.node("tools", takes(0.01), workers=4, reorder_capacity=2, queue_capacity=2)
    builder.sink("log", takes(0.5), queue_capacity=1).chain("model", "tools", "log")

    found = named(builder.build())

    assert found is not None
    assert (found.node, found.waiting) == ("log", ("model", "tools"))


def test_one_conversation_of_many_that_is_held_back_is_seen() -> None:
    """A source has a place for each of its conversations; most stand empty here."""
    builder = PlanBuilder(50).source("model", every(0.01), conversations=3)
    builder.sink("speech", takes(0.25)).edge("model", "speech")

    found = named(builder.build())

    assert found is not None
    assert (found.node, found.waiting) == ("speech", ("model",))


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 4)), min_size=2, max_size=5
    )
)
@settings(max_examples=20)
def test_in_a_chain_the_node_that_can_do_least_is_named(
    nodes: list[tuple[int, int, int]],
) -> None:
    """Whatever stands before and behind it, and all that stand before it wait."""
    times = sorted((seconds / workers for seconds, workers, _ in nodes), reverse=True)
    assume(times[0] > 1.5 * times[1])
    builder = PlanBuilder(1).source("source", every(0.001))
    names = [f"n{index}" for index in range(len(nodes))]
    for name, (seconds, workers, capacity) in zip(names, nodes, strict=True):
        policy: dict[str, Any] = {
            "workers": workers,
            "reorder_capacity": workers,
            "queue_capacity": capacity,
        }
        builder.node(name, takes(seconds), **policy)
    builder.sink("sink", lambda token: None).chain("source", *names, "sink")

    found = named(builder.build(), 300.0, 600.0)

    slowest = max(range(len(nodes)), key=lambda index: nodes[index][0] / nodes[index][1])
    assert found is not None
    assert (found.node, found.waiting) == (names[slowest], ("source", *names[:slowest]))


def test_serialized_state_is_told_as_the_reason() -> None:
    """Where another worker is no way out, nobody should read that k is one."""
    builder = PlanBuilder(1).source("model", every(0.01))
    builder.sink("speech", takes(0.25)).edge("model", "speech")

    found = named(serialized(builder.build(), "speech"))

    assert found is not None
    assert found.is_single
    assert "250 ms one at a time, as its state asks, at most 4.0/s" in found.sentence


def test_an_event_that_has_not_ended_yet_is_no_division_by_zero() -> None:
    """A first call of minutes is told as what it is."""
    builder = PlanBuilder(1).source("model", every(0.01)).sink("tool", takes(1000.0))

    found = named(builder.edge("model", "tool").build())

    assert found is not None
    assert "its first events are still at work (k = 1)" in found.sentence
    assert found.most_per_s is None


def test_a_name_stays_while_two_nodes_are_alike() -> None:
    """Loads that swing around one another do not make the sentence flicker."""
    nodes = {
        "s": NodeStats("s", backpressured_s=9.0),
        "a": NodeStats("a", busy_s=8.8, backpressured_s=1.0),
        "b": NodeStats("b", busy_s=9.2),
    }
    facts = Facts({"s": ("a",), "a": ("b",), "b": ()}, frozenset("s"), {})
    now = Snapshot(10.0, 0.0, "running", "aiflow", 9, 9, 9, nodes, {}, {})
    swung = {**nodes, "a": replace(nodes["a"], busy_s=9.9), "b": replace(nodes["b"], busy_s=8.5)}

    first = bottleneck(None, now, facts)
    second = bottleneck(None, replace(now, nodes=swung), facts, first)
    afresh = bottleneck(None, replace(now, nodes=swung), facts)

    assert [each.node for each in (first, second, afresh) if each] == ["b", "b", "a"]


def test_a_full_queue_that_nobody_works_on_is_named_as_stalled() -> None:
    """Everybody waits for a node that does nothing."""
    nodes = {
        "s": NodeStats("s", backpressured_s=10.0),
        "k": NodeStats("k", queue_capacity=4, depth=4),
    }
    facts = Facts({"s": ("k",), "k": ()}, frozenset("s"), {})
    now = Snapshot(10.0, 0.0, "running", "aiflow", 9, 9, 9, nodes, {}, {})

    found = bottleneck(None, now, facts)

    assert found is not None
    assert found.sentence == (
        "k is the bottleneck: 4 events wait in its queue and none is at work; s waits for it."
    )


def test_a_node_that_a_breakpoint_holds_is_not_called_slow() -> None:
    """Whoever has set it is told that it is the reason, not the operator."""
    nodes = {
        "s": NodeStats("s", backpressured_s=10.0),
        "k": NodeStats("k", queue_capacity=4, depth=4, busy_s=6.0, is_paused=True),
    }
    facts = Facts({"s": ("k",), "k": ()}, frozenset("s"), {})
    now = Snapshot(10.0, 0.0, "running", "aiflow", 9, 9, 9, nodes, {}, {})

    found = bottleneck(None, now, facts)

    assert found is not None
    assert found.sentence == (
        "k is the bottleneck: a breakpoint holds it, and 4 events wait in its queue;"
        " s waits for it."
    )


def test_a_snapshot_of_another_run_is_not_subtracted() -> None:
    """After a restart the counters begin again."""
    builder = PlanBuilder(1).source("model", every(0.01)).sink("speech", takes(0.25))
    plan = builder.edge("model", "speech").build()
    (now,) = samples(plan, 10.0)
    other = replace(now, started_at=-50.0, at=-10.0)

    assert bottleneck(other, now, Facts.of_plan(plan)) == bottleneck(
        None, now, Facts.of_snapshot(now)
    )


def test_before_anything_ran_nobody_waits() -> None:
    """No time has passed, so there are no shares of it."""
    now = Snapshot(0.0, 0.0, "idle", "aiflow", 9, 0, 0, {"s": NodeStats("s")}, {}, {})

    assert bottleneck(None, now, Facts.of_snapshot(now)) is None
