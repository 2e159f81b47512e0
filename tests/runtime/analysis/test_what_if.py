"""Tests of `aiflow.analysis.what_if`: what it foretells is what then happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from aiflow.analysis.what_if import Change, Outcome, changes_worth_trying, what_if
from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.plan import Plan
from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.graph.codec import loads
from aiflow.graph.shipped import graphs_dir
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.registry import Catalog
from aiflow.operators.scope import Scope
from aiflow.policies import Overflow, State
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def every(pause_s: float, count: int) -> Callable[[Scope], AsyncIterator[Token]]:
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


def chain(conversations: int = 1, **policy: Any) -> Plan:
    """Return a source, a slow node and a sink."""
    builder = PlanBuilder(conversations)
    builder.source("model", every(0.05, 40), conversations=conversations)
    builder.node("slow", takes(0.2), **policy).sink("log", takes(0.01))
    return builder.chain("model", "slow", "log").build()


def serialized(plan: Plan, id: str) -> Plan:
    """Return the plan with a node whose state lets one event in at a time."""
    node = plan.nodes[id]
    policy = node.policy.model_copy(update={"state": State.SERIALIZED})
    return replace(plan, nodes={**plan.nodes, id: replace(node, policy=policy)})


def tried(plan: Plan, *changes: Change) -> tuple[Outcome, ...]:
    """Run a plan, then return what changes would have done."""
    return what_if(plan, run_virtual(Session(plan).run()), changes)


def test_the_plan_as_it_is_comes_out_as_it_was() -> None:
    """Else no other figure would be worth anything."""
    plan = chain()
    real = run_virtual(Session(plan).run())

    (same,) = what_if(plan, real, [Change("slow")])

    assert same.max_depth == real.nodes["slow"].max_depth == 8
    assert same.duration_s == pytest.approx(real.at, rel=0.02)
    assert same.max_in_flight == real.max_in_flight
    assert (same.lost, same.is_over, same.bound) == (0, True, plan.bound)


@pytest.mark.parametrize(
    ("change", "policy"),
    [
        (Change("slow", workers=3, reorder_capacity=3), {"workers": 3, "reorder_capacity": 3}),
        (Change("slow", queue_capacity=16), {"queue_capacity": 16}),
        (Change("slow", overflow=Overflow.DROP_OLDEST), {"overflow": "drop_oldest"}),
    ],
)
def test_what_is_foretold_is_what_happens(change: Change, policy: dict[str, Any]) -> None:
    """The same change made for real, on a run of its own."""
    real = run_virtual(Session(chain(**policy)).run())

    (told,) = tried(chain(), change)

    slow = real.nodes["slow"]
    assert told.max_depth == slow.max_depth
    assert told.duration_s == pytest.approx(real.at, rel=0.05)
    assert told.lost == pytest.approx(sum(slow.dropped.values()), abs=1)
    assert told.bound == real.bound


def test_another_worker_shortens_the_run_and_another_overflow_loses() -> None:
    """The mends that are offered, with their price."""
    plan = chain()

    same, worker, queue, overflow = tried(plan, *changes_worth_trying(plan, "slow"))

    assert worker.duration_s < 0.6 * same.duration_s
    assert worker.lost == 0
    assert queue.max_depth == 16
    assert queue.duration_s == pytest.approx(same.duration_s)
    assert overflow.loss > 0.5
    assert [each.change.label for each in (same, worker, queue, overflow)] == [
        "slow: as it is",
        "slow: k = 2, ρ = 2",
        "slow: q = 16",
        "slow: o = drop_oldest",
    ]


def test_the_same_question_has_the_same_answer() -> None:
    """To the last bit, also with several conversations."""
    plan = chain(conversations=3)
    changes = changes_worth_trying(plan, "slow")

    assert tried(plan, *changes) == tried(plan, *changes)


def test_a_program_asks_beside_its_own_loop() -> None:
    """As the studio does: in a thread, while the loop goes on."""
    plan = chain()
    measured = run_virtual(Session(plan).run())

    async def ask() -> tuple[Outcome, ...]:
        return await asyncio.to_thread(what_if, plan, measured, [Change("slow")])

    assert asyncio.run(ask()) == what_if(plan, measured, [Change("slow")])


@pytest.mark.slow
def test_what_is_foretold_of_the_demo_is_what_happens() -> None:
    """A model that talks on, a chunker, detached logs: speech told to drop its oldest."""
    path = graphs_dir() / "examples" / "slow-speech.aiflow.json"
    graph = loads(path.read_text(encoding="utf-8"), path.name)
    plan = compile_graph(graph, Catalog.load(), base=path.parent, clock="virtual").plan
    assert plan is not None
    policy = plan.nodes["speech"].policy.model_copy(update={"overflow": Overflow.DROP_OLDEST})
    node = replace(plan.nodes["speech"], policy=policy)
    dropping = replace(plan, nodes={**plan.nodes, "speech": node})

    (told,) = what_if(
        plan,
        run_virtual(Session(plan, base=path.parent).run()),
        [Change("speech", overflow=Overflow.DROP_OLDEST)],
        rates={"model": 95.0},
    )
    real = run_virtual(Session(dropping, base=path.parent).run())

    assert told.duration_s == pytest.approx(real.at, rel=0.1)
    assert told.lost == pytest.approx(sum(real.nodes["speech"].dropped.values()), rel=0.1)
    assert told.max_depth == real.nodes["speech"].max_depth == 8


def test_outputs_keep_the_share_in_which_they_left_each_port() -> None:
    """A filter and a router: three of four go one way, and one in two of those on."""

    def route(token: Token) -> list[object]:
        return [Emit("rare" if int(token.text) % 4 == 0 else "often", token)]

    def filtered(token: Token) -> Token | None:
        return token if int(token.text) % 2 else None

    builder = PlanBuilder(1).source("model", every(0.01, 400))
    builder.node("router", route, outputs=("rare", "often")).node("filter", filtered)
    builder.sink("a", takes(0.01)).sink("b", takes(0.01))
    builder.edge("model", "router").edge("router.rare", "a").edge("router.often", "filter")
    plan = builder.edge("filter", "b").build()
    real = run_virtual(Session(plan).run())

    for outcome in what_if(plan, real, [Change("a"), Change("filter"), Change("router")]):
        sinks = {"a": "a", "filter": "b", "router": "ab"}[outcome.change.node]
        done = sum(real.nodes[sink].processed for sink in sinks)
        assert outcome.done_per_s * outcome.duration_s == pytest.approx(done, abs=2)


def test_a_diamond_runs_again_with_all_its_branches() -> None:
    """A strict broadcast and a sink with two ports."""
    builder = PlanBuilder(1).source("model", every(0.02, 50)).node("left", takes(0.1))
    builder.node("right", takes(0.01)).sink("log", takes(0.001), inputs=("a", "b"))
    builder.edge("model", "left").edge("model", "right")
    plan = builder.edge("left.out", "log.a").edge("right.out", "log.b").build()

    same, faster = tried(plan, Change("left"), Change("left", workers=4, reorder_capacity=4))

    assert same.duration_s == pytest.approx(5.0, rel=0.1)
    assert faster.duration_s < 2.0


def test_a_run_that_goes_on_is_cut_off_and_says_so() -> None:
    """Endless sources do not make an endless what-if."""
    builder = PlanBuilder(1).source("model", every(0.01, 10**9)).sink("log", takes(0.1))
    plan = builder.edge("model", "log").build()

    async def sampled() -> Snapshot:
        session = Session(plan)
        run = asyncio.create_task(session.run())
        await asyncio.sleep(12.0)
        snapshot = session.snapshot()
        session.stop()
        await run
        return snapshot

    (told,) = what_if(plan, run_virtual(sampled()), [Change("log")])

    assert not told.is_over
    assert told.duration_s == pytest.approx(12.0)
    assert told.done_per_s == pytest.approx(10.0, rel=0.05)


def test_a_source_that_talks_on_is_given_its_rate() -> None:
    """Held back it was seen slow; 20 a second are due, and what waits for them grows old."""
    plan = chain()
    real = run_virtual(Session(plan).run())

    (told,) = what_if(plan, real, [Change("slow")], rates={"model": 20.0})

    # The last is due after 2 s and done after 8 s.
    assert told.latency_p99_ms == pytest.approx(6_000, rel=0.05)


def test_a_change_that_cannot_be_is_refused_in_a_sentence() -> None:
    """Unknown node, a source, a second worker beside serialized state, a strategy's plan."""
    plan = serialized(chain(), "slow")
    real = run_virtual(Session(plan).run())

    for change, words in (
        (Change("nobody"), "there is no node nobody; the plan has model, slow, log"),
        (Change("model", workers=2), "model is a source"),
        (Change("slow", workers=2), "slow works on one event at a time"),
        (Change("slow", queue_capacity=0), "queue_capacity"),
    ):
        with pytest.raises(ValueError, match=words):
            what_if(plan, real, [change])
    with pytest.raises(ValueError, match="not under aggregate"):
        what_if(replace(plan, strategy="aggregate"), real, [Change("slow")])


def test_no_second_worker_is_offered_where_state_forbids_it() -> None:
    """An offer that is refused when taken is none."""
    plan = serialized(chain(), "slow")

    assert all(change.workers is None for change in changes_worth_trying(plan, "slow"))


@pytest.mark.parametrize(("name", "node"), [("feedback-loop", "pause"), ("join", "capitals")])
def test_a_loop_and_a_join_can_be_played_with_other_workers(name: str, node: str) -> None:
    """Stand-ins come back and are put together as the real ones were; two workers are faster."""
    path = graphs_dir() / "examples" / f"{name}.aiflow.json"
    plan = compile_graph(loads(path.read_text("utf-8")), Catalog.load(), base=path.parent).plan
    assert plan is not None
    measured = run_virtual(Session(plan).run())

    as_it_is, faster = what_if(plan, measured, [Change(node), Change(node, workers=2)])

    assert as_it_is.is_over
    assert as_it_is.duration_s == pytest.approx(measured.at - measured.started_at, rel=0.3)
    assert faster.duration_s < as_it_is.duration_s
