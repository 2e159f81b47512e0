"""Tests of `aiflow.engine.speculation`: effects wait until they are wanted, and come once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.engine.speculation import commit_points
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

AGAIN: dict[str, Any] = {"attempts": 3, "backoff_s": 1.0, "jitter": 0.0, "retry_on": ("any",)}
SPECULATIVE: dict[str, Any] = {"side_effects": "speculative", "speculative_capacity": 4}


class World:
    """The outside: what was done there, and what was undone before it was done."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.undone: list[Any] = []
        self.keys: list[str] = []

    def defer(self, scope: Scope, what: Any) -> str:
        """Defer one effect."""

        def effect(key: str) -> None:
            self.done.append(what)
            self.keys.append(key)

        return scope.defer(effect, lambda key: self.undone.append(what))

    def act(self, payload: Any, scope: Scope) -> Any:
        """Defer an effect and send the payload on."""
        self.defer(scope, payload)
        return payload


def nothing(_: Any) -> None:
    """Take a payload."""


def three(world: World, process: Any, payloads: Any = (1, 2, 3), **policy: Any) -> PlanBuilder:
    """Return a source, a speculative node and the sink that commits."""
    builder = PlanBuilder().source("s", payloads)
    builder.node("n", process, **{**SPECULATIVE, **policy})
    return builder.sink("k", nothing).chain("s", "n", "k")


def run(builder: PlanBuilder, **more: Any) -> Snapshot:
    """Run to the end."""
    return run_virtual(Session(builder.build(), **more).run())


def counts(snapshot: Snapshot, node: str = "n") -> tuple[int, int, int, int]:
    """Return committed, rolled back, discarded and failed, once the books are even."""
    effects = snapshot.nodes[node].effects
    ends = (effects["committed"], effects["rolled_back"], effects["discarded"])
    assert effects["deferred"] == effects["waiting"] + sum(ends)
    assert snapshot.phase not in ("completed", "failed", "cancelled") or not effects["waiting"]
    return (*ends, effects["failed"])


# --- committed ---


def test_effects_are_committed_in_order_when_what_they_are_for_is_used() -> None:
    """The sink has processed the event before the world is touched."""
    world = World()
    seen: list[int] = []
    builder = PlanBuilder().source("s", (1, 2, 3))
    builder.node("n", world.act, **SPECULATIVE)

    async def slow(payload: int, scope: Scope) -> None:
        await scope.sleep(1)
        seen.append(payload)
        assert world.done == seen[:-1]

    snapshot = run(builder.sink("k", slow).chain("s", "n", "k"))

    assert snapshot.phase == "completed"
    assert world.done == [1, 2, 3]
    assert counts(snapshot) == (3, 0, 0, 0)


def test_speculation_upon_speculation_is_committed_behind_both() -> None:
    """A speculative node commits nothing."""
    world = World()
    builder = PlanBuilder().source("s", (1,))
    builder.node("a", world.act, **SPECULATIVE)
    builder.node("b", lambda payload, scope: world.defer(scope, "b") and payload, **SPECULATIVE)

    def last(_: Any) -> None:
        assert not world.done

    snapshot = run(builder.sink("k", last).chain("s", "a", "b", "k"))

    assert world.done == [1, "b"]
    assert (counts(snapshot, "a"), counts(snapshot, "b")) == ((1, 0, 0, 0), (1, 0, 0, 0))


def test_only_strict_ways_from_the_port_lead_to_a_commit_point() -> None:
    """Neither a detached edge, nor what has failed."""
    builder = PlanBuilder().source("s", ()).node("n", str, outputs=("a", "b"), **SPECULATIVE)
    builder.node("m", str, **SPECULATIVE).sink("k", nothing).sink("d", nothing).sink("x", nothing)
    builder.chain("s", "n").edge("n.a", "m").edge("m", "k").edge("n.b", "d", "drop_oldest")
    plan = builder.edge("n.dead", "x").edge("m", "x").build()

    assert commit_points(plan, ("n", "m")) == {
        ("n", "a"): {"k", "x"},
        ("m", "out"): {"k", "x"},
    }


def test_a_way_round_the_node_commits_nothing_before_its_output_has_left() -> None:
    """The same item comes to the sink straight from the source."""
    world = World()

    async def waits(payload: Any, scope: Scope) -> None:
        world.defer(scope, payload)
        await scope.sleep(5)

    builder = PlanBuilder().source("s", (1,)).node("n", waits, **SPECULATIVE)
    builder.sink("k", nothing, inputs=("in", "more"))

    snapshot = run(builder.chain("s", "n", "k").edge("s", "k.more"))

    assert (world.done, world.undone) == ([], [1])
    assert counts(snapshot) == (0, 1, 0, 0)


def test_an_effect_that_raises_is_counted_and_stops_nobody() -> None:
    """It is not tried again: nobody knows how far it came."""
    lines: list[str] = []

    def act(payload: int, scope: Scope) -> int:
        scope.defer(lambda key: 1 // (payload - 1))
        return payload

    snapshot = run(three(World(), act, (1, 2), retry=AGAIN), log=lines.append)

    assert snapshot.phase == "completed"
    assert counts(snapshot) == (2, 0, 0, 1)
    told = [json.loads(line)["outcome"] for line in lines if '"record":"effect"' in line]
    assert "failed: ZeroDivisionError: integer division or modulo by zero" in told


def test_an_effect_that_leaves_something_to_await_has_failed() -> None:
    """Nobody would run it, and Python is not left to complain."""

    async def later() -> None:
        raise AssertionError

    def act(payload: int, scope: Scope) -> int:
        scope.defer(lambda key: later())
        return payload

    assert counts(run(three(World(), act))) == (3, 0, 0, 3)


def test_what_finish_defers_is_committed_by_what_it_tells() -> None:
    """Under keys of its own, though its last event had effects too."""
    world = World()
    builder = PlanBuilder().source("s", (1, 2))

    def finish(scope: Scope) -> str:
        world.defer(scope, "end")
        return "end"

    builder.node("n", world.act, finish=finish, **SPECULATIVE)

    snapshot = run(builder.sink("k", nothing).chain("s", "n", "k"))

    assert world.done == [1, 2, "end"]
    assert len(set(world.keys)) == 3
    assert counts(snapshot) == (3, 0, 0, 0)


def test_a_transaction_that_fails_rolls_its_effects_back_with_its_state() -> None:
    """And what goes through is committed once it has been used."""
    world = World()

    def act(payload: int, scope: Scope) -> int:
        world.act((payload, scope.attempt), scope)
        if payload == 2 and scope.attempt == 1:
            raise ConnectionError
        return payload

    snapshot = run(three(world, act, state_mode="transactional", retry=AGAIN))

    assert world.done == [(1, 1), (2, 2), (3, 1)]
    assert world.undone == [(2, 1)]
    assert counts(snapshot) == (3, 1, 0, 0)


# --- rolled back ---


def test_a_failed_try_is_rolled_back_and_the_next_has_the_same_keys() -> None:
    """What the first try had prepared is undone, the last first."""
    world = World()
    keys: list[str] = []

    def act(payload: int, scope: Scope) -> int:
        keys.extend(world.defer(scope, (scope.attempt, number)) for number in range(2))
        if scope.attempt == 1:
            raise ConnectionError
        return payload

    snapshot = run(three(world, act, (1,), retry=AGAIN))

    assert world.undone == [(1, 1), (1, 0)]
    assert world.done == [(2, 0), (2, 1)]
    assert keys[:2] == keys[2:] == world.keys
    assert keys[0] != keys[1]
    assert counts(snapshot) == (2, 2, 0, 0)


def test_an_operator_that_comes_back_too_late_commits_nothing() -> None:
    """It refuses to end when its time is over, and defers when nobody listens."""
    world = World()

    async def act(payload: int, scope: Scope) -> int:
        if scope.attempt == 1:
            try:
                await scope.sleep(9)
            finally:
                await scope.sleep(2)  # longer than it gets
                world.defer(scope, "late")
        world.defer(scope, "in time")
        return payload

    policy: dict[str, Any] = {
        "retry": {**AGAIN, "timeout_s": 3.0},
        "workers": 2,
        "reorder_capacity": 1,
    }
    snapshot = run(three(world, act, (1,), **policy))

    assert world.done == ["in time"]
    assert world.undone == ["late"]
    assert counts(snapshot) == (1, 1, 0, 0)


def test_an_effect_waits_no_longer_than_it_may() -> None:
    """Its event goes on; the place is free, and what is used in time is committed."""
    world = World()

    async def stream(scope: Scope) -> AsyncIterator[int]:
        yield 5
        await scope.sleep(4.0)
        yield 1

    async def use(payload: int, scope: Scope) -> None:
        await scope.sleep(payload)

    async def go() -> tuple[Snapshot, int]:
        builder = PlanBuilder().source("s", stream)
        policy = {**SPECULATIVE, "speculative_capacity": 1, "speculative_timeout_s": 3.0}
        builder.node("n", world.act, **policy)
        builder.sink("k", use, queue_capacity=1).chain("s", "n", "k")
        snapshot = await Session(builder.build()).run()
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        return snapshot, sum(not timer.cancelled() for timer in timers)

    snapshot, left = run_virtual(go())

    assert world.done == [1]
    assert world.undone == [5]
    assert counts(snapshot) == (1, 1, 0, 0)
    assert snapshot.nodes["k"].processed == 2
    assert left == 0


def test_what_sends_nothing_on_is_rolled_back_at_once() -> None:
    """Its place is free for the next event."""
    world = World()

    def act(payload: int, scope: Scope) -> int | None:
        world.defer(scope, payload)
        return payload if payload % 2 else None

    snapshot = run(three(world, act, range(9), speculative_capacity=1, queue_capacity=1))

    assert world.undone == [0, 2, 4, 6, 8]
    assert world.done == [1, 3, 5, 7]
    assert counts(snapshot) == (4, 5, 0, 0)


def test_a_turn_that_is_broken_into_rolls_its_effects_back() -> None:
    """What the user never heard was never done."""
    world = World()

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        yield "old"
        await scope.sleep(1)
        yield NextTurn(barge_in=True)
        yield "new"

    async def speak(_: Any, scope: Scope) -> None:
        await scope.sleep(3)

    builder = PlanBuilder().source("s", stream, takes_turns=True)
    builder.node("n", world.act, **SPECULATIVE).sink("k", speak).chain("s", "n", "k")

    snapshot = run(builder)

    assert (world.done, world.undone) == (["new"], ["old"])
    assert counts(snapshot) == (1, 1, 0, 0)


def test_what_nobody_has_used_is_rolled_back_when_its_turn_ends() -> None:
    """Not only when the session does: the next turn finds it undone, and its place free."""
    world = World()
    found: list[list[Any]] = []

    def stream(scope: Scope) -> Iterator[Any]:
        yield "refused"
        yield NextTurn()
        yield "wanted"

    def act(payload: str, scope: Scope) -> str:
        found.append(list(world.undone))
        return str(world.act(payload, scope))

    def use(payload: str) -> None:
        if payload == "refused":
            raise ConnectionError(payload)

    builder = PlanBuilder().source("s", stream)
    builder.node("n", act, **{**SPECULATIVE, "speculative_capacity": 1})
    builder.sink("k", use, retry={"then": "skip"}).chain("s", "n", "k")

    snapshot = run(builder)

    assert found == [[], ["refused"]]
    assert world.done == ["wanted"]
    assert counts(snapshot) == (1, 1, 0, 0)


def test_a_stopped_session_leaves_nothing_waiting() -> None:
    """Its end is a rollback, and is told in the last snapshot."""
    world = World()

    async def stopped() -> Snapshot:
        session: Session

        async def hangs(_: Any, scope: Scope) -> None:
            session.stop()
            await scope.sleep(1)

        builder = PlanBuilder().source("s", (1,)).node("n", world.act, **SPECULATIVE)
        session = Session(builder.sink("k", hangs).chain("s", "n", "k").build())
        return await session.run()

    snapshot = run_virtual(stopped())

    assert snapshot.phase == "cancelled"
    assert (world.done, world.undone) == ([], [1])
    assert counts(snapshot) == (0, 1, 0, 0)


# --- discarded ---


def test_a_full_barrier_discards_the_effect_and_holds_nobody_up() -> None:
    """Each conversation has its own places; the events go on."""
    world = World()

    async def slow(_: Any, scope: Scope) -> None:
        await scope.sleep(1)

    builder = PlanBuilder().source("s", range(6), conversations=2)
    builder.node("n", world.act, side_effects="speculative", speculative_capacity=2)
    builder.sink("k", slow, queue_capacity=12).chain("s", "n", "k")
    lines: list[str] = []

    snapshot = run(builder, log=lines.append)

    done, undone, lost, _ = counts(snapshot)
    assert (snapshot.nodes["k"].processed, undone) == (12, 0)
    assert done + lost == 12
    assert done >= 4
    assert lost
    told = [json.loads(line) for line in lines if '"record":"effect"' in line]
    assert sum(each["outcome"] == "discarded" for each in told) == lost == len(world.undone)
    assert {each["node"] for each in told} == {"n"}


def test_the_places_of_a_barrier_count_in_the_bound() -> None:
    """For each conversation that may be open."""
    plain = three(World(), str, side_effects="none").build()
    plan = three(World(), str).build()

    assert plan.bound is not None
    assert plain.bound is not None
    assert plan.bound - plain.bound == 8 * 4


# --- refused ---


def test_a_node_that_is_not_speculative_is_told_so() -> None:
    """An effect that nobody keeps would be lost in silence."""
    snapshot = run(three(World(), World().act, side_effects="none"))

    assert snapshot.phase == "failed"
    assert "side effects are not speculative" in (snapshot.error or "")
    assert not snapshot.nodes["n"].effects


def test_a_coroutine_function_is_no_effect() -> None:
    """It is refused where it is deferred."""

    async def effect(key: str) -> None:
        raise AssertionError(key)

    def act(payload: int, scope: Scope) -> int:
        scope.defer(effect)
        return payload

    assert "deferred a coroutine function" in (run(three(World(), act)).error or "")


# --- all of it at once ---

TIMES = st.floats(0, 8)


@dataclass
class Trouble:
    """What happens in one random run.

    Attributes:
        kind: what the operator is; `ways`: what it does with each payload, if it awaits.
        fails: payload and attempt of tries that fail; `turns`: payloads that begin a turn.
        ends: how the session is ended from outside, and when.
    """

    kind: str
    ways: str
    fails: frozenset[tuple[int, int]]
    turns: frozenset[int]
    barges: bool
    pause: float
    overflow: str
    ends: tuple[str, float] | None
    made: list[tuple[int, ...]] = field(default_factory=list)
    done: list[tuple[int, ...]] = field(default_factory=list)
    undone: list[tuple[int, ...]] = field(default_factory=list)
    used: set[tuple[int, ...]] = field(default_factory=set)

    async def stream(self, scope: Scope) -> AsyncIterator[Any]:
        """Send twelve payloads in some turns."""
        for number in range(12):
            if number in self.turns:
                yield NextTurn(barge_in=self.barges)
            yield number
            await scope.sleep(self.pause)

    def defer(self, number: int, scope: Scope) -> None:
        """Defer an effect that looks whether it is wanted; then fail, maybe."""
        effect = (scope.turn, scope.sequence, len(self.made))
        self.made.append(effect)

        def commit(_: str) -> None:
            assert effect[:2] in self.used
            self.done.append(effect)

        scope.defer(commit, lambda _: self.undone.append(effect))
        if (number, scope.attempt) in self.fails:
            raise ConnectionError(number)

    def returns(self, number: int, scope: Scope) -> int | None:
        """Defer two and return."""
        self.defer(number, scope)
        self.defer(number, scope)
        return None if self.ways[number] == "n" else number

    def generates(self, number: int, scope: Scope) -> Iterator[int]:
        """Defer before, between and after outputs."""
        self.defer(number, scope)
        yield number
        self.defer(number, scope)
        yield number
        self.defer(number, scope)

    async def awaits(self, number: int, scope: Scope) -> AsyncIterator[int]:
        """Do either, some time later."""
        if self.ways[number] == "a":
            await scope.sleep(0.7)
        if self.ways[number] == "g":
            for each in self.generates(number, scope):
                yield each
        elif (output := self.returns(number, scope)) is not None:
            yield output

    async def use(self, _: int, scope: Scope) -> None:
        """Be the node that commits."""
        await scope.sleep(self.pause)
        self.used.add((scope.turn, scope.sequence))

    async def run(self, policy: dict[str, Any]) -> Snapshot:
        """Run to the end."""
        builder = PlanBuilder().source("s", self.stream, takes_turns=True)
        builder.node("n", getattr(self, self.kind), **policy)
        builder.sink("k", self.use, queue_capacity=2, overflow=self.overflow)
        session = Session(builder.chain("s", "n", "k").build())
        if self.ends is not None:
            how, when = self.ends
            asyncio.get_running_loop().call_later(when, getattr(session, how))
        return await session.run()


TROUBLE = st.builds(
    Trouble,
    kind=st.sampled_from(("returns", "generates", "awaits")),
    ways=st.text("rgan", min_size=12, max_size=12),
    fails=st.frozensets(st.tuples(st.integers(0, 11), st.integers(1, 3)), max_size=6),
    turns=st.frozensets(st.integers(0, 11), max_size=4),
    barges=st.booleans(),
    pause=st.sampled_from((0.0, 0.3)),
    overflow=st.sampled_from(("block", "drop_oldest")),
    ends=st.none() | st.tuples(st.sampled_from(("stop", "drain")), TIMES),
    made=st.builds(list),
    done=st.builds(list),
    undone=st.builds(list),
    used=st.builds(set),
)

POLICY: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "workers": st.integers(1, 3),
        "reorder_capacity": st.integers(0, 2),
        "speculative_capacity": st.integers(1, 3),
        "speculative_timeout_s": st.none() | st.just(0.4),
        "side_effects": st.just("speculative"),
        "cancel": st.sampled_from(("propagate", "drain", "shield")),
        "retry": st.fixed_dictionaries(
            {
                **{name: st.just(value) for name, value in AGAIN.items()},
                "attempts": st.integers(1, 3),
                "then": st.sampled_from(("fail", "skip", "dead_letter")),
                "timeout_s": st.none() | st.just(0.5),
            }
        ),
    }
)


@given(TROUBLE, POLICY)
def test_each_effect_comes_once_or_never_and_the_books_are_even(
    it: Trouble, policy: dict[str, Any]
) -> None:
    """Under failures, retries, turns, cancels, dropped events, order and speed of any kind."""
    snapshot = run_virtual(it.run(policy))

    committed, rolled_back, discarded, failed = counts(snapshot)
    assert not failed
    assert (len(it.done), len(it.undone)) == (committed, rolled_back + discarded)
    assert sorted([*it.done, *it.undone]) == sorted(it.made)
    for item in {each[:2] for each in it.done}:
        mine = [each for each in it.done if each[:2] == item]
        assert mine == sorted(mine)
    assert snapshot.in_flight == 0


def test_a_run_without_speculation_has_no_barrier() -> None:
    """Nothing is between an event and its operator."""
    session = Session(three(World(), lambda each: each, side_effects="none").build())

    assert not run_virtual(session.run()).nodes["n"].effects
    assert session._kernel is not None
    assert session._kernel.log is None
