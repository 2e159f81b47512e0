"""Tests of `aiflow.engine.limits` and of tries that take too long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.errors import StallError
from aiflow.events import DeadLetter, Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual
from tests.runtime.engine.test_retries import ran

LIMIT = {"timeout_s": 1.0, "retry_on": ("timeout",), "backoff_s": 0.5, "jitter": 0.0}


def sleeps(*times_s: float) -> Any:
    """Return an operator whose tries take so long, the last again and again."""

    async def process(payload: Any, scope: Scope) -> Any:
        await scope.sleep(times_s[min(scope.attempt, len(times_s)) - 1])
        return payload

    return process


def test_a_try_that_takes_too_long_is_ended_and_made_again() -> None:
    """The second try is quick enough."""
    snapshot, seen, _ = ran(sleeps(60, 0.5), [1], retry=LIMIT | {"attempts": 2})

    assert (snapshot.phase, seen) == ("completed", [1])
    assert snapshot.at - snapshot.started_at == pytest.approx(1 + 0.5 + 0.5)


def test_a_time_out_fails_the_conversation_when_the_tries_are_spent() -> None:
    """The error says which limit it was."""
    snapshot, _, _ = ran(sleeps(60), [1], retry=LIMIT | {"attempts": 2})

    assert snapshot.error == (
        "node n failed in conversation c1 after 2 tries: TryTimeoutError: one try took longer"
        " than 1 s; raise timeout_s, or make the step faster"
    )


def test_all_tries_together_end_at_the_total_limit() -> None:
    """Waits count; a wait that would end later is not begun."""
    retry = LIMIT | {"attempts": 100, "total_timeout_s": 4.0}
    snapshot, _, _ = ran(sleeps(60), [1], retry=retry)

    assert snapshot.at - snapshot.started_at == pytest.approx(4.0)
    assert snapshot.error is not None
    assert "all tries together took longer than 4 s" in snapshot.error


def test_no_wait_is_begun_that_would_outlast_the_total_limit() -> None:
    """Nothing could come of it."""

    def process(payload: int) -> None:
        raise TimeoutError

    retry = LIMIT | {"attempts": 9, "backoff_s": 3.0, "total_timeout_s": 8.0}
    snapshot, _, _ = ran(process, [1], retry=retry)

    assert snapshot.at - snapshot.started_at == pytest.approx(3.0)
    assert snapshot.error is not None
    assert "no time is left for another try" in snapshot.error


def test_no_try_begins_when_the_wait_for_a_worker_has_used_up_the_time() -> None:
    """It was due in time, and the only worker came free too late: told as tried once."""
    began: list[tuple[str, int, float]] = []
    left: list[DeadLetter] = []

    async def process(token: Token, scope: Scope) -> Token:
        began.append((token.text, scope.attempt, scope.clock.now()))
        await scope.sleep(3.0 if token.text == "0" else 2.0)
        if token.text == "0":
            raise ConnectionError("gone")
        return token

    retry = {
        "attempts": 3, "backoff_s": 0.5, "jitter": 0.0, "total_timeout_s": 4.0,
        "retry_on": ["any"], "then": "dead_letter",
    }  # fmt: skip
    builder = PlanBuilder(1).source("s", [Token("0"), Token("1")])
    builder.node("n", process, retry=retry, reorder_capacity=1)
    builder.sink("k", lambda _: None).sink("grave", left.append)
    plan = builder.chain("s", "n", "k").edge("n.dead", "grave").build()
    last = run_virtual(Session(plan).run())

    assert began == [("0", 1, 0.0), ("1", 1, 3.0)]
    assert [(letter.attempts, letter.payload) for letter in left] == [(1, Token("0"))]
    assert last.nodes["n"].retries == 0
    assert last.phase == "completed"


def test_an_operator_is_told_when_it_will_be_given_up() -> None:
    """The earlier of the two limits, on the session's clock."""
    told: list[float | None] = []

    async def process(payload: int, scope: Scope) -> None:
        told.append(scope.deadline)
        await scope.sleep(9)

    ran(process, [1], retry=LIMIT | {"attempts": 3, "total_timeout_s": 3.2})

    assert told == [pytest.approx(1.0), pytest.approx(2.5), pytest.approx(3.2)][: len(told)]
    assert len(told) == 2  # the third would begin at 3.5


def test_without_a_limit_there_is_no_deadline() -> None:
    """None, as for a scope by hand."""
    told: list[float | None] = []

    ran(lambda payload, scope: told.append(scope.deadline), [1])

    assert told == [None]


def test_what_a_plain_function_returns_too_late_is_discarded() -> None:
    """It cannot be ended, so it is looked at when it comes back."""
    clock = [0.0]

    def process(payload: int, scope: Scope) -> int:
        # The virtual time passes while the function blocks its thread.
        loop: Any = asyncio.get_running_loop()
        loop._virtual_now += 5.0 if scope.attempt == 1 else 0.5
        clock[0] += 1
        return payload

    snapshot, seen, _ = ran(process, [1, 2], retry=LIMIT | {"attempts": 2})

    assert (snapshot.phase, seen) == ("completed", [1, 2])
    assert clock[0] == 4


def test_a_declared_time_is_cut_off_like_a_real_one() -> None:
    """On the virtual clock a plain function takes its time before it is called."""
    called: list[int] = []

    snapshot, _, _ = ran(
        called.append, [1], service_time_s=5.0, retry=LIMIT | {"attempts": 2, "then": "skip"}
    )

    assert called == []
    assert snapshot.nodes["n"].failed == 1
    assert snapshot.at - snapshot.started_at == pytest.approx(2.5)


@pytest.mark.parametrize("is_async", [False, True])
def test_time_that_an_output_waits_for_room_is_not_the_operators(is_async: bool) -> None:
    """A slow reader makes nobody late; only the total limit is absolute."""

    def yields(payload: int, scope: Scope) -> Iterator[int]:
        yield from range(5)

    async def streams(payload: int, scope: Scope) -> AsyncIterator[int]:
        for number in range(5):
            await scope.sleep(0.1)
            yield number

    async def slow(payload: int, scope: Scope) -> None:
        await scope.sleep(2)

    def run(**limits: float) -> Snapshot:
        builder = PlanBuilder().source("s", [1])
        builder.node("n", streams if is_async else yields, retry=limits)
        builder.sink("k", slow, queue_capacity=1).chain("s", "n", "k")
        return run_virtual(Session(builder.build()).run())

    assert run(timeout_s=1.0).phase == "completed"
    cut = run(total_timeout_s=3.0)
    assert cut.phase == "failed"
    assert "all tries together took longer than 3 s" in (cut.error or "")


def test_an_async_generator_that_stalls_between_outputs_is_cut_off() -> None:
    """What has left has left, so it is not tried again."""

    async def streams(payload: int, scope: Scope) -> AsyncIterator[int]:
        yield 1
        await scope.sleep(9)
        yield 2

    snapshot, seen, _ = ran(streams, [1], retry=LIMIT | {"attempts": 3})

    assert seen == [1]
    assert snapshot.error is not None
    assert "a part of its output had left" in snapshot.error


@pytest.mark.parametrize("returns_at_s", [0.9, 1.0, 1.1])
def test_time_out_and_return_settle_an_event_once(returns_at_s: float) -> None:
    """Whoever comes second finds it settled: nothing is lost or told twice; flink 29005."""
    for then in ("fail", "skip", "dead_letter"):
        snapshot, seen, dead = ran(
            sleeps(returns_at_s),
            range(4),
            workers=2,
            reorder_capacity=2,
            retry=LIMIT | {"attempts": 2, "then": then},
        )

        node = snapshot.nodes["n"]
        assert node.received == node.processed + node.failed + node.cancelled
        assert len(seen) + len(dead) == node.emitted
        if returns_at_s < 1:
            assert seen == [0, 1, 2, 3]


def test_an_effect_that_ran_out_of_time_is_indeterminate() -> None:
    """It had begun, so it may have happened."""
    snapshot, _, _ = ran(sleeps(60), [1], retry=LIMIT, side_effects="non_idempotent")

    assert snapshot.error is not None
    assert "node n began an effect in conversation c1 and got no answer" in snapshot.error


def test_an_operator_that_will_not_be_ended_is_left_alone_and_told_of() -> None:
    """The conversation gets its answer; the worker's place stays taken."""
    is_told: list[tuple[StallError, ...]] = []

    async def swallows(payload: int, scope: Scope) -> int:
        if payload == 1 and scope.attempt == 1:
            until = scope.clock.now() + 20
            while scope.clock.now() < until:
                with suppress(asyncio.CancelledError):
                    await scope.sleep_until(until)
        return payload

    async def looks(payload: int, scope: Scope) -> None:
        await scope.sleep(5)
        is_told.append(session.stuck())
        await scope.sleep(20)  # until it has come back
        is_told.append(session.stuck())

    builder = PlanBuilder().source("s", [1, 2]).source("t", [1])
    builder.node("n", swallows, workers=2, retry=LIMIT | {"attempts": 2}).sink("k", looks)
    session = Session(
        builder.sink("l", lambda _: None).chain("s", "n", "l").chain("t", "k").build()
    )
    snapshot = run_virtual(session.run())

    (stuck,), afterwards = is_told
    assert (stuck.node, stuck.waited_s) == ("n", 3.0)
    assert "swallows" in stuck.stack
    assert afterwards == ()
    assert snapshot.phase == "completed"
    assert snapshot.nodes["l"].processed == 2


def test_a_thread_that_goes_on_keeps_its_place_and_holds_nobody_up() -> None:
    """The try is over at its time, though nobody can end a thread."""
    goes_on = threading.Event()

    def blocks(payload: int, scope: Scope) -> int:
        if scope.attempt == 1:
            goes_on.wait(30)
        return payload

    def run() -> Snapshot:
        builder = (
            PlanBuilder()
            .source("s", [1])
            .node(
                "n",
                blocks,
                is_blocking=True,
                workers=2,
                retry={"attempts": 2, "timeout_s": 0.05, "backoff_s": 0.0},
            )
        )
        return asyncio.run(
            Session(builder.sink("k", lambda _: None).chain("s", "n", "k").build()).run()
        )

    try:
        snapshot = run()
    finally:
        goes_on.set()

    assert snapshot.phase == "completed"
    assert snapshot.nodes["k"].processed == 1
    assert snapshot.nodes["n"].retries == 1


def test_a_turn_cancelled_while_a_try_is_being_ended_is_settled_once() -> None:
    """Cancel and time-out at one time: the event counts as cancelled, once."""

    async def cancels(payload: int, scope: Scope) -> None:
        await scope.sleep(1)
        session.cancel("c1")

    builder = PlanBuilder().source("s", [1]).source("t", [1])
    builder.node("n", sleeps(9), retry=LIMIT).sink("c", cancels)
    session = Session(builder.chain("s", "n").chain("t", "c").build())
    snapshot = run_virtual(session.run())

    node = snapshot.nodes["n"]
    assert node.failed + node.cancelled == 1
    assert snapshot.in_flight == 0
