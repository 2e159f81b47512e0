"""Tests of `aiflow.engine.transactions`: state and outputs go together, or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.compiler.strategies import STRATEGIES, apply_strategy
from aiflow.engine.session import Session
from aiflow.events import Chunk, DeadLetter
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit, Joining, NextTurn
from aiflow.operators.builtin.join import Join, JoinParams
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

AGAIN = {"attempts": 3, "backoff_s": 1.0, "jitter": 0.0, "retry_on": ("any",)}


def ran(
    process: Any, payloads: Any = (1, 2, 3), *, state: Any = list, **policy: Any
) -> tuple[Snapshot, list[Any], list[DeadLetter]]:
    """Run payloads through a transactional node; return numbers, what came out, dead letters."""
    seen: list[Any] = []
    dead: list[DeadLetter] = []
    builder = PlanBuilder().source("s", payloads)
    builder.node("n", process, state=state, state_mode="transactional", **policy)
    builder.sink("k", seen.append).sink("d", dead.append)
    builder.chain("s", "n", "k").edge("n.dead", "d")
    return run_virtual(Session(builder.build()).run()), seen, dead


def noting(fails: Callable[[Any, Scope], bool] = lambda _, __: False) -> Any:
    """Return an operator that notes each payload, may fail then, and returns all its notes."""

    def process(payload: Any, scope: Scope) -> Any:
        scope.state.append(payload)
        if fails(payload, scope):
            raise ConnectionError(payload)
        return tuple(scope.state)

    return process


def waiting(process: Callable[[Any, Scope], Any]) -> Any:
    """Return the same operator as one that awaits afterwards."""

    async def waits(payload: Any, scope: Scope) -> Any:
        made = process(payload, scope)
        await scope.sleep(0.1)
        return made

    return waits


def generating(process: Callable[[Any, Scope], Any]) -> Any:
    """Return the same operator as one that yields first and changes its state then."""

    def yields(payload: Any, scope: Scope) -> Iterator[Any]:
        yield "first"
        yield process(payload, scope)

    return yields


def streaming(process: Callable[[Any, Scope], Any]) -> Any:
    """Return the same as one that awaits between its outputs."""

    async def yields(payload: Any, scope: Scope) -> AsyncIterator[Any]:
        yield "first"
        await scope.sleep(0.1)
        yield process(payload, scope)

    return yields


KINDS = [lambda process: process, waiting, generating, streaming]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_places_for_what_leaves_together(strategy: str) -> None:
    """Whoever carries one payload after the other has not too few for the outputs of one."""
    seen: list[int] = []
    builder = PlanBuilder().source("s", [1, 2, 3])
    builder.node("n", lambda n: [n] * n, state=list, state_mode="transactional", max_outputs=3)
    builder.sink("k", seen.append, queue_capacity=3).sink("d", seen.append, queue_capacity=3)
    builder.chain("s", "n", "k").edge("n", "d", "drop_newest")

    snapshot = run_virtual(Session(apply_strategy(builder.build(), strategy)).run())

    assert snapshot.phase == "completed", snapshot.error
    assert Counter(seen) == {1: 2, 2: 4, 3: 6}


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_try_leaves_the_state_as_it_was(kind: Callable[[Any], Any]) -> None:
    """Each try begins with what the event before had left, and only the last one's notes stay."""
    process = kind(noting(lambda _, scope: scope.attempt < 3))

    snapshot, seen, _ = ran(process, max_outputs=2, retry=AGAIN)

    assert snapshot.phase == "completed"
    assert [each for each in seen if each != "first"] == [(1,), (1, 2), (1, 2, 3)]
    assert seen.count("first") in (0, 3)
    assert snapshot.nodes["n"].retries == 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("then", ["skip", "dead_letter"])
def test_what_is_given_up_has_changed_nothing_and_sent_nothing(
    kind: Callable[[Any], Any], then: str
) -> None:
    """The second event fails behind its first output; the third does not know of it."""
    process = kind(noting(lambda payload, _: bool(payload == 2)))

    snapshot, seen, dead = ran(process, max_outputs=2, retry={**AGAIN, "then": then})

    assert [each for each in seen if each != "first"] == [(1,), (1, 3)]
    assert seen.count("first") in (0, 2)
    assert [letter.payload for letter in dead] == ([2] if then == "dead_letter" else [])
    assert snapshot.nodes["n"].failed == 1


def test_a_try_whose_time_is_over_leaves_the_state_as_it_was() -> None:
    """It is cut off in the middle of its changes."""

    async def process(payload: int, scope: Scope) -> Any:
        scope.state.append(payload)
        if scope.attempt == 1:
            await scope.sleep(60)
        return tuple(scope.state)

    _, seen, _ = ran(process, retry={**AGAIN, "timeout_s": 0.5})

    assert seen == [(1,), (1, 2), (1, 2, 3)]


def test_a_thread_that_was_left_alone_writes_into_a_copy() -> None:
    """What it does to its state when it comes back at last is nobody's."""
    go_on = threading.Event()
    done = threading.Event()

    def process(payload: int, scope: Scope) -> Any:
        if payload == 1 and scope.attempt == 1:
            go_on.wait(10)
            scope.state.append("late")
            done.set()
            return None
        scope.state.append(payload)
        if payload == 2:
            go_on.set()
            done.wait(10)
        return tuple(scope.state)

    seen: list[Any] = []
    builder = PlanBuilder().source("s", [1, 2, 3])
    retry = {**AGAIN, "backoff_s": 0.0, "timeout_s": 0.05}
    builder.node(
        "n", process, state=list, state_mode="transactional", retry=retry, is_blocking=True
    )
    builder.sink("k", seen.append).chain("s", "n", "k")

    async def run() -> None:
        session = Session(builder.build())
        task = asyncio.ensure_future(session.run())
        await task

    asyncio.run(run())

    assert seen == [(1,), (1, 2), (1, 2, 3)]


def test_outputs_leave_only_when_all_have_places() -> None:
    """Three outputs wait at a queue with room for two, and then are there at one instant."""
    at: dict[Any, float] = {}

    async def slow(payload: Any, scope: Scope) -> None:
        await scope.sleep(1.0)

    def sees(payload: Any, scope: Scope) -> Any:
        at[payload] = scope.clock.now()
        return payload

    builder = PlanBuilder().source("s", [1, 2])
    builder.node(
        "n",
        lambda payload: [(payload, part) for part in range(3)],
        max_outputs=3,
        state_mode="transactional",
    )
    builder.node("k", slow, queue_capacity=3, outputs=()).sink("log", sees, queue_capacity=3)
    builder.edge("s", "n").edge("n", "k").edge("n", "log")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    # After a second there is room for two; none comes until the third has been begun too.
    assert at == {(1, part): 0.0 for part in range(3)} | {(2, part): 2.0 for part in range(3)}
    assert snapshot.nodes["k"].max_depth == 3
    assert snapshot.max_in_flight <= (snapshot.bound or 0)


def test_a_cancelled_turn_commits_nothing() -> None:
    """Its outputs wait for places when somebody barges in; none of them is ever heard."""
    heard: list[Any] = []

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        yield 1
        yield 2
        await scope.sleep(0.5)
        yield NextTurn(barge_in=True)
        yield 3

    async def slow(payload: Any, scope: Scope) -> None:
        heard.append(payload)
        await scope.sleep(1.0)

    builder = PlanBuilder().source("s", stream)
    builder.node("n", twice, max_outputs=2, state=list, state_mode="transactional")
    builder.node("k", slow, queue_capacity=2, outputs=()).chain("s", "n", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert heard == [((1,), 0), ((3,), 0), ((3,), 1)]
    assert snapshot.nodes["n"].cancelled == 1
    assert snapshot.in_flight == 0


def twice(payload: Any, scope: Scope) -> list[Any]:
    """Note a payload and return all notes twice."""
    scope.state.append(payload)
    return [(tuple(scope.state), part) for part in range(2)]


def test_no_event_begins_with_a_state_that_may_never_be() -> None:
    """With room behind the worker the second waits until the first has left all the same."""
    begun: dict[Any, float] = {}

    def process(payload: int, scope: Scope) -> Any:
        begun[payload] = scope.clock.now()
        scope.state.append(payload)
        return payload

    async def slow(payload: Any, scope: Scope) -> None:
        await scope.sleep(1.0)

    builder = PlanBuilder().source("s", range(5))
    builder.node("n", process, state=list, state_mode="transactional", reorder_capacity=3)
    builder.node("k", slow, queue_capacity=1, outputs=()).chain("s", "n", "k")

    run_virtual(Session(builder.build()).run())

    # One is at work, one waits in the queue, and one has its output in hand.
    assert begun == {0: 0.0, 1: 0.0, 2: 0.0, 3: 1.0, 4: 2.0}


def test_other_conversations_go_on_while_one_waits_for_places() -> None:
    """Each turn has its own state, so with room behind the worker only its own events wait."""
    done: list[str] = []

    def process(payload: str, scope: Scope) -> str:
        return f"{scope.conversation}:{payload}"

    async def slow(payload: str, scope: Scope) -> None:
        await scope.sleep(100.0 if payload.startswith("c1") else 0.1)
        done.append(payload)

    builder = PlanBuilder(2).source("s", ["a", "b"], conversations=2)
    builder.node("n", process, state_mode="transactional", reorder_capacity=1)
    builder.node("k", slow, queue_capacity=2, workers=2, outputs=()).chain("s", "n", "k")

    run_virtual(Session(builder.build()).run())

    assert done == ["c2:a", "c2:b", "c1:a", "c1:b"]


@pytest.mark.parametrize("has_bytes", [False, True])
def test_places_for_a_whole_transaction_are_kept_for_each_conversation(has_bytes: bool) -> None:
    """With q = C × m one that cannot leave never keeps the other out of the queue."""
    done: list[str] = []

    def process(payload: str, scope: Scope) -> list[str]:
        return [f"{scope.conversation}:{payload}{part}" for part in range(2)]

    async def slow(payload: str, scope: Scope) -> None:
        await scope.sleep(100.0 if payload.startswith("c1") else 0.1)
        done.append(payload)

    builder = PlanBuilder(2).source("s", ["a", "b"], conversations=2)
    builder.node("n", process, max_outputs=2, state_mode="transactional", reorder_capacity=1)
    limit: dict[str, Any] = {"max_bytes": 1_000_000} if has_bytes else {}
    builder.node("k", slow, queue_capacity=4, workers=2, outputs=(), **limit)
    builder.chain("s", "n", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert done == [f"c{number}:{each}" for number in (2, 1) for each in ("a0", "a1", "b0", "b1")]
    assert snapshot.nodes["k"].max_depth <= 4


def test_a_transaction_goes_to_each_port_that_its_outputs_name() -> None:
    """State and outputs of all ports are there in one step, in the order in which they came."""
    left: list[Any] = []
    right: list[Any] = []

    def process(payload: int, scope: Scope) -> Iterator[Any]:
        yield Emit("left", payload)
        yield Emit("right", payload)
        scope.emit(-payload, "left")

    builder = PlanBuilder().source("s", [1, 2])
    builder.node("n", process, outputs=("left", "right"), max_outputs=3, state_mode="transactional")
    builder.sink("a", left.append).sink("b", right.append)
    builder.edge("s", "n").edge("n.left", "a").edge("n.right", "b")

    snapshot = run_virtual(Session(builder.build()).run())

    assert (left, right) == ([1, -1, 2, -2], [1, 2])
    assert snapshot.nodes["n"].emitted == 6


def test_an_event_without_outputs_commits_its_state_all_the_same() -> None:
    """The last one tells what the others have noted."""

    def process(payload: int, scope: Scope) -> Any:
        scope.state.append(payload)
        return tuple(scope.state) if payload == 3 else None

    _, seen, _ = ran(process)

    assert seen == [(1, 2, 3)]


def test_what_was_kept_is_told_of_the_committed_state() -> None:
    """The event that was skipped is not in it."""
    process = noting(lambda payload, _: bool(payload == 2))

    def tells(scope: Scope) -> list[Any]:
        return list(scope.state)

    _, seen, _ = ran(
        lambda payload, scope: process(payload, scope) and None,
        finish=tells,
        kept=3,
        retry={"attempts": 1, "then": "skip"},
    )

    assert seen == [1, 3]


def test_a_detached_branch_never_holds_a_transaction() -> None:
    """It drops what it cannot take; the strict branch has everything."""
    seen: list[Any] = []

    async def slow(payload: Any, scope: Scope) -> None:
        await scope.sleep(1.0)

    builder = PlanBuilder().source("s", [Chunk(str(number)) for number in range(4)])
    builder.node("n", lambda chunk: [chunk, chunk], max_outputs=2, state_mode="transactional")
    builder.node("late", slow, queue_capacity=1, outputs=()).sink("k", seen.append)
    builder.edge("s", "n").edge("n", "k").edge("n", "late", "drop_oldest")

    snapshot = run_virtual(Session(builder.build()).run())

    assert len(seen) == 8
    late = snapshot.nodes["late"]
    assert late.received == late.processed + sum(late.dropped.values()) == 8


def test_a_transactional_node_is_told_of_by_a_join_behind_it() -> None:
    """Its gaps and its outputs move the watermark as any other's do."""
    seen: list[Any] = []
    builder = PlanBuilder().source("s", range(6))
    builder.node("n", lambda x: x if x % 2 else None, state_mode="transactional")
    builder.node("o", lambda x: -x)
    builder.operator("j", Join(JoinParams()), queue_capacity=4)
    builder.sink("k", lambda joined: seen.append(dict(joined.parts)))
    builder.edge("s", "n").edge("s", "o").edge("n", "j.a").edge("o", "j.b").edge("j", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert len(seen) == 6


def test_a_join_may_be_transactional_itself() -> None:
    """Each whole item is one event to it, and what it has noted goes with what it sends."""
    seen: list[Any] = []

    def process(joined: Any, scope: Scope) -> Any:
        scope.state.append(joined.parts["a"][0])
        if scope.attempt == 1:
            raise ConnectionError
        return tuple(scope.state)

    builder = PlanBuilder().source("s", range(3)).node("o", lambda x: -x)
    builder.node(
        "j",
        process,
        inputs=("a", "b"),
        joining=Joining("all"),
        state=list,
        state_mode="transactional",
        retry=AGAIN,
    )
    builder.sink("k", seen.append)
    builder.edge("s", "o").edge("s", "j.a").edge("o", "j.b").edge("j", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert seen == [(0,), (0, 1), (0, 1, 2)]


def test_what_a_failed_try_says_to_keep_back_counts_for_nothing() -> None:
    """Else a join would believe that nothing more can come of what is still kept."""
    kept: list[int | None] = []

    def process(payload: int, scope: Scope) -> int | None:
        kept.append(lane().keep_from)
        if payload < 2:
            scope.keep_from(0)
            return None
        scope.keep_from(None)
        if scope.attempt == 1:
            raise ConnectionError
        return payload

    def lane() -> Any:
        (turn,) = session._conversations.turns()
        return turn.lanes["n"]

    builder = PlanBuilder().source("s", range(4))
    builder.node("n", process, state=list, state_mode="transactional", retry=AGAIN)
    builder.sink("k", print).chain("s", "n", "k")
    session = Session(builder.build())

    run_virtual(session.run())

    assert kept == [None, 0, 0, 0, None, None]


def test_more_outputs_than_declared_fail_and_say_what_to_do() -> None:
    """They would find no place behind it."""

    def process(payload: int) -> Iterator[int]:
        yield from range(3)

    snapshot, seen, _ = ran(process, max_outputs=2)

    assert seen == []
    assert snapshot.error == (
        "node n is transactional and has more than 2 outputs of one event;"
        " raise what its operator's most_outputs says"
    )


def test_a_queue_that_never_has_room_for_all_fails_and_says_what_to_do() -> None:
    """Checks find it before the run; a plan by hand is not checked."""
    snapshot, seen, _ = ran_into(1, lambda payload: [1, 2])

    assert seen == []
    assert snapshot.error == (
        "node k has a place for 1 events from n, which is transactional and has 2 at once;"
        " raise its queue_capacity"
    )


def ran_into(places: int, process: Any) -> tuple[Snapshot, list[Any], None]:
    """Run one payload through a transactional node before a queue of so many places."""
    seen: list[Any] = []
    builder = PlanBuilder().source("s", [0])
    builder.node("n", process, max_outputs=2, state_mode="transactional")
    builder.sink("k", seen.append, queue_capacity=places).chain("s", "n", "k")
    return run_virtual(Session(builder.build()).run()), seen, None


def test_a_state_that_cannot_be_copied_fails_and_says_what_to_do() -> None:
    """A lock cannot; it is not tried again either."""
    snapshot, _, _ = ran(noting(), state=threading.Lock, retry=AGAIN)

    assert snapshot.error == (
        "node n is transactional and its state cannot be copied"
        " (TypeError: cannot pickle '_thread.lock' object); give its operator a copy_state that can"
    )
    assert snapshot.nodes["n"].retries == 0


def test_a_state_that_is_assigned_anew_goes_back_too() -> None:
    """A number cannot be changed in place."""

    def process(payload: int, scope: Scope) -> int:
        scope.state += payload
        if scope.attempt == 1:
            raise ConnectionError
        return int(scope.state)

    _, seen, _ = ran(process, state=int, retry=AGAIN)

    assert seen == [1, 3, 6]


def test_a_guess_that_failed_is_not_remembered() -> None:
    """No memory is polluted by a turn's failed step, as in mastra 22873."""

    async def answers(payload: str, scope: Scope) -> AsyncIterator[str]:
        scope.state.append(f"user: {payload}")
        for word in ("a", "b"):
            yield word
            await scope.sleep(0.01)
        if scope.attempt == 1:
            raise ConnectionError("reset in the middle of the answer")
        scope.state.append("model: a b")
        yield f"{len(scope.state)} lines are remembered"

    snapshot, seen, _ = ran(answers, ["hi", "again"], max_outputs=3, retry=AGAIN)

    assert seen == ["a", "b", "2 lines are remembered", "a", "b", "4 lines are remembered"]
    assert snapshot.nodes["n"].emitted == 6
