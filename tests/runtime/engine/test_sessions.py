"""Sessions: phases, drain, stop, cancel, conversations, resources, clock, numbers."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.clock import Clock, SystemClock
from aiflow.engine.session import Session
from aiflow.errors import EngineError, ResourceError
from aiflow.events import Control, Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit, NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual
from aiflow.types import ANY


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


async def slow(payload: object, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


async def endless(scope: Scope) -> AsyncIterator[Token]:
    """Yield a token each tenth of a second."""
    while True:
        await scope.sleep(0.1)
        yield Token("x")


def nothing(payload: object) -> None:
    """Take a payload."""


def after(delay_s: float, function: Callable[[Session], object], session: Session) -> None:
    """Call a function with the session after a while."""
    asyncio.get_running_loop().call_later(delay_s, function, session)


def test_a_session_goes_from_idle_through_running_to_completed() -> None:
    """Each phase is seen from where it holds, and the last stays."""
    phases: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(2))
    builder.sink("k", lambda _: phases.append(session.status.phase)).edge("s", "k")
    session = Session(builder.build())
    phases.append(session.status.phase)

    snapshot = run_virtual(session.run())

    assert [*phases, snapshot.phase, session.status.phase] == [
        "idle", "running", "running", "completed", "completed",
    ]  # fmt: skip
    assert session.snapshot() is snapshot


def test_a_session_that_was_stopped_before_it_ran_does_not_raise() -> None:
    """Who is quick stops it between its making and the first step of its task."""

    async def go() -> Snapshot:
        session = Session(PlanBuilder(1).source("s", [1]).sink("k", str).edge("s", "k").build())
        task = asyncio.create_task(session.run())
        session.stop()
        return await task

    snapshot = run_virtual(go())

    assert (snapshot.phase, snapshot.error) == ("cancelled", None)


def test_a_session_does_not_run_twice() -> None:
    """A second run would mix its numbers with the first one's."""
    session = Session(PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build())
    run_virtual(session.run())

    with pytest.raises(EngineError, match="a session runs once, and this one is completed"):
        run_virtual(session.run())


def test_a_clock_of_another_loop_is_refused() -> None:
    """Times of two clocks would be compared."""
    plan = PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build()

    with pytest.raises(EngineError, match="not the clock of the loop"):
        run_virtual(Session(plan, clock=SystemClock()).run())


def test_draining_lets_out_what_is_inside() -> None:
    """Sources stop, everything begun is processed, and the outcome is completed."""

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", endless).sink("k", slow, queue_capacity=4)
        session = Session(builder.edge("s", "k").build())
        after(2.05, Session.drain, session)
        await session.run()
        return session

    snapshot = run_virtual(go()).snapshot()

    assert snapshot.phase == "completed"
    assert snapshot.conversations == {"c1": "completed"}
    node = snapshot.nodes["k"]
    assert node.processed == node.received > 4
    assert node.cancelled == 0


def test_stopping_cancels_everything_at_once() -> None:
    """The call at work is cancelled, the queue purged, the source closed."""
    closed: list[float] = []

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        try:
            async for token in endless(scope):
                yield token
        finally:
            closed.append(scope.clock.now())

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", stream).sink("k", slow, queue_capacity=4)
        session = Session(builder.edge("s", "k").build())
        after(2.05, Session.stop, session)
        after(2.05, Session.stop, session)
        await session.run()
        return session

    snapshot = run_virtual(go()).snapshot()

    assert snapshot.phase == "cancelled"
    assert snapshot.at == pytest.approx(2.05)
    assert closed == [pytest.approx(2.05)]
    assert snapshot.nodes["k"].cancelled >= 4


def test_stopping_before_the_start_leaves_nothing_to_run() -> None:
    """A stop that comes first wins."""
    session = Session(PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build())

    session.stop()

    assert session.status.phase == "cancelled"


def test_cancelling_the_task_that_runs_ends_in_order_first() -> None:
    """What was open is closed before the cancellation goes on."""

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", endless).sink("k", slow)
        session = Session(builder.edge("s", "k").build())
        task = asyncio.ensure_future(session.run())
        await asyncio.sleep(1.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return session

    assert run_virtual(go()).status.phase == "cancelled"


def test_one_conversation_can_be_cancelled_and_the_others_go_on() -> None:
    """Its events are settled as cancelled, each sink hears of it, the phase is completed."""

    async def go() -> tuple[bool, bool, Session]:
        builder = PlanBuilder(3).source("s", tokens(5), conversations=3).sink("k", slow)
        session = Session(builder.edge("s", "k").build())
        answers: list[bool] = []
        after(2.5, lambda session: answers.append(session.cancel("c2")), session)
        after(2.6, lambda session: answers.append(session.cancel("c2")), session)
        await session.run()
        return answers[0], answers[1], session

    first, second, session = run_virtual(go())

    assert (first, second) == (True, False)
    snapshot = session.snapshot()
    assert snapshot.phase == "completed"
    assert snapshot.conversations == {"c1": "completed", "c2": "cancelled", "c3": "completed"}


def test_a_conversation_can_be_cancelled_before_it_is_open() -> None:
    """It never begins, and the next one does."""
    begun: list[str] = []

    def stream(scope: Scope) -> Iterator[Token]:
        begun.append(scope.conversation)
        yield Token("x")

    builder = PlanBuilder(1).source("s", stream, conversations=3).sink("k", slow).edge("s", "k")
    session = Session(builder.build())

    assert session.cancel("c2")
    snapshot = run_virtual(session.run())

    assert begun == ["c1", "c3"]
    assert snapshot.conversations == {"c1": "completed", "c2": "cancelled", "c3": "completed"}


def test_a_late_cancel_does_not_turn_completed_into_cancelled() -> None:
    """What has ended stays as it ended (pydantic-ai pull request 5795)."""
    session = Session(PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build())
    run_virtual(session.run())

    assert not session.cancel("c1")
    assert session.snapshot().conversations == {"c1": "completed"}


def test_an_unknown_conversation_is_named() -> None:
    """A wrong id is a mistake, not a conversation that has ended."""
    session = Session(PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build())

    with pytest.raises(EngineError, match="no conversation c9"):
        session.cancel("c9")


def test_a_cancelled_run_leaves_no_reference_to_its_conversation() -> None:
    """After the end nothing holds a lane or a payload."""
    payload = type("Payload", (), {})
    made: list[weakref.ref[Any]] = []

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        while True:
            await scope.sleep(0.1)
            item = payload()
            made.append(weakref.ref(item))
            yield item

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", stream).node("n", lambda item: item)
        session = Session(builder.sink("k", slow, queue_capacity=3).chain("s", "n", "k").build())
        after(3.05, lambda session: session.cancel("c1"), session)
        await session.run()
        return session

    session = run_virtual(go())
    gc.collect()

    assert len(made) > 4
    assert [ref for ref in made if ref() is not None] == []
    assert session.snapshot().conversations == {"c1": "cancelled"}


def test_at_most_c_conversations_are_open_and_the_others_are_counted() -> None:
    """Those that wait begin when one has ended."""
    waiting: list[int] = []
    builder = PlanBuilder(2).source("s", tokens(2), conversations=5)

    def take(token: Token, scope: Scope) -> None:
        waiting.append(session.snapshot().waiting_conversations)
        assert len([o for o in session.snapshot().conversations.values() if o == "active"]) <= 2

    session = Session(builder.sink("k", take).edge("s", "k").build())

    snapshot = run_virtual(session.run())

    assert max(waiting) == 3
    assert waiting[-1] == snapshot.waiting_conversations == 0
    assert list(snapshot.conversations.values()) == ["completed"] * 5


def test_a_repeating_session_opens_the_next_conversation_when_the_last_has_ended() -> None:
    """Until it is drained; numbers go on over all of them."""

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", tokens(3)).sink("k", slow)
        session = Session(builder.edge("s", "k").build(), repeats=True)
        after(7.5, Session.drain, session)
        await session.run()
        return session

    snapshot = run_virtual(go()).snapshot()

    assert snapshot.conversations == {f"c{number}": "completed" for number in (1, 2, 3)}
    assert snapshot.nodes["k"].processed == 9


def test_each_conversation_gets_its_own_input() -> None:
    """By id; one text is for all."""
    seen: list[tuple[str, str | None]] = []

    def stream(scope: Scope) -> Iterator[Token]:
        seen.append((scope.conversation, scope.input))
        return iter(())

    def plan() -> Any:
        return (
            PlanBuilder(1)
            .source("s", stream, conversations=2)
            .sink("k", nothing)
            .edge("s", "k")
            .build()
        )

    run_virtual(Session(plan(), inputs={"c2": "two"}).run())
    run_virtual(Session(plan(), inputs="all").run())

    assert seen == [("c1", None), ("c2", "two"), ("c1", "all"), ("c2", "all")]


class Fake:
    """A resource that writes down what is asked of it."""

    def __init__(self, name: str, told: list[str], fails: bool = False) -> None:
        self.name, self.told, self.fails = name, told, fails

    async def start(self, clock: Clock) -> None:
        self.told.append(f"start {self.name}")
        if self.fails:
            raise ResourceError(self.name, "there is none")

    async def stop(self) -> None:
        self.told.append(f"stop {self.name}")


def test_resources_start_in_order_and_stop_in_reverse_also_after_a_failure() -> None:
    """Before any node runs, and after all have ended."""
    told: list[str] = []

    def broken(payload: object) -> None:
        told.append("run")
        raise ValueError("broken")

    builder = PlanBuilder(1).source("s", tokens(1)).sink("k", broken).edge("s", "k")
    builder.resource("a", lambda: Fake("a", told)).resource("b", lambda: Fake("b", told))

    snapshot = run_virtual(Session(builder.build()).run())

    assert told == ["start a", "start b", "run", "stop b", "stop a"]
    assert snapshot.error == "node k failed in conversation c1: ValueError: broken"


def test_a_resource_that_cannot_start_fails_the_run_in_a_sentence() -> None:
    """No node runs; what had started is stopped."""
    told: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(1)).sink("k", lambda _: told.append("run"))
    builder.resource("a", lambda: Fake("a", told)).resource(
        "b", lambda: Fake("b", told, fails=True)
    )

    snapshot = run_virtual(Session(builder.edge("s", "k").build()).run())

    assert told == ["start a", "start b", "stop b", "stop a"]
    assert (snapshot.phase, snapshot.error) == ("failed", "resource b: there is none")


def test_what_a_plugins_start_raises_is_told_with_the_resources_name() -> None:
    """Not only our own errors make a clear sentence."""

    class Bad(Fake):
        async def start(self, clock: Clock) -> None:
            raise OSError("no device")

    builder = PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k")

    snapshot = run_virtual(Session(builder.resource("r", lambda: Bad("r", [])).build()).run())

    assert snapshot.error == "resource r: it cannot start: OSError: no device"


def test_an_operator_that_swallows_its_cancellation_is_reported_with_its_stack() -> None:
    """The run ends at the deadline all the same, and says who stayed."""

    async def stubborn(payload: object, scope: Scope) -> None:
        while True:
            try:
                await scope.sleep(1_000.0)
                return
            except asyncio.CancelledError:
                pass

    async def go() -> tuple[Session, Any]:
        builder = PlanBuilder(1).source("s", tokens(1)).sink("k", stubborn)
        session = Session(builder.edge("s", "k").build(), stop_deadline_s=3.0)
        stuck: list[Any] = []
        after(1.0, Session.stop, session)
        after(3.9, lambda session: stuck.extend(session.stuck()), session)
        await session.run()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait([task])  # not left to the loop: it ends when its sleep does
        return session, stuck[0]

    session, stuck = run_virtual(go())

    assert "stubborn" in stuck.stack
    snapshot = session.snapshot()
    assert snapshot.error is not None
    assert "node k did not end" in snapshot.error
    assert snapshot.at == pytest.approx(4.0)
    assert stuck.waited_s == pytest.approx(2.9)


def test_a_session_can_be_stopped_from_another_thread() -> None:
    """On the real clock, with a real thread."""

    async def go() -> Session:
        builder = PlanBuilder(1)

        async def stream(scope: Scope) -> AsyncIterator[Token]:
            thread = threading.Thread(target=lambda: session.call_threadsafe(session.stop))
            thread.start()
            yield Token("x")
            await asyncio.get_running_loop().create_future()

        session = Session(builder.source("s", stream).sink("k", nothing).edge("s", "k").build())
        await session.run()
        return session

    assert asyncio.run(go()).status.phase == "cancelled"


def test_a_blocking_operator_runs_beside_the_loop() -> None:
    """In a thread on the real clock; several at once where there are workers."""
    threads: set[str] = set()
    both = threading.Barrier(2, timeout=20)

    def block(token: Token) -> Token:
        threads.add(threading.current_thread().name)
        both.wait()
        return token

    seen: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(6))
    builder.node("n", block, is_blocking=True, workers=2, reorder_capacity=2)
    builder.sink("k", lambda token: seen.append(token.text)).chain("s", "n", "k")

    snapshot = asyncio.run(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert seen == list("012345")
    assert all(name.startswith("aiflow") for name in threads)


def test_a_blocking_generator_blocks_beside_the_loop_too() -> None:
    """Each of its outputs is made in the thread."""
    main = threading.get_ident()
    where: list[int] = []

    def block(token: Token) -> Iterator[Token]:
        for part in range(3):
            where.append(threading.get_ident())
            yield Token(f"{token.text}.{part}")

    seen: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(2)).node("n", block, is_blocking=True)
    builder.sink("k", lambda token: seen.append(token.text)).chain("s", "n", "k")

    asyncio.run(Session(builder.build()).run())

    assert seen == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert main not in where


def test_a_blocking_operator_takes_its_declared_time_on_the_virtual_clock() -> None:
    """No thread there: time is what the policy says."""
    builder = PlanBuilder(1).source("s", tokens(4))
    builder.sink("k", nothing, is_blocking=True, service_time_s=2.0, workers=2)

    snapshot = run_virtual(Session(builder.edge("s", "k").build()).run())

    assert snapshot.at == pytest.approx(4.0)
    assert snapshot.nodes["k"].busy_s == pytest.approx(8.0)


def test_the_first_token_is_taken_from_the_request_and_at_measured_sinks() -> None:
    """Control never counts, nor does what another sink has processed."""

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        await scope.sleep(1.0)
        scope.mark("request_sent")
        await scope.sleep(0.5)
        yield Control("start")
        await scope.sleep(0.5)
        scope.mark("first_delta")
        yield Token("a")

    async def later(payload: object, scope: Scope) -> None:
        await scope.sleep(0.25)

    builder = PlanBuilder(1).source("s", stream).sink("early", nothing)
    builder.sink("late", later, is_measured=True).edge("s", "early").edge("s", "late")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.model_ttft_ms == pytest.approx(1000.0)
    assert snapshot.ttfpt_ms == pytest.approx(1250.0)
    assert snapshot.nodes["early"].ttfpt_ms == pytest.approx(1000.0)


def test_time_shares_say_who_is_busy_and_who_waits_for_whom() -> None:
    """Busy, backpressured, window-blocked and idle add up to wall × k."""

    async def first_is_slow(token: Token, scope: Scope) -> Token:
        await scope.sleep(10.0 if token.text == "0" else 1.0)
        return token

    builder = PlanBuilder(1).source("s", tokens(6))
    builder.node("n", first_is_slow, workers=2, reorder_capacity=1, queue_capacity=1)
    builder.sink("k", nothing).chain("s", "n", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    node = snapshot.nodes["n"]
    # Two are done at 2 s and wait for the first until 10 s: a worker without work to take.
    assert node.window_blocked_s == pytest.approx(8.0)
    total = node.busy_s + node.backpressured_s + node.window_blocked_s + node.idle_s
    assert total == pytest.approx(snapshot.at * 2)
    assert snapshot.nodes["s"].backpressured_s == pytest.approx(10.0)


def test_littles_law_holds_on_a_run() -> None:
    """Depth over time, seen from outside, is the sum of all waits."""
    changes: list[tuple[float, int]] = []

    async def take(token: Token, scope: Scope) -> None:
        changes.append((scope.clock.now(), -1))
        await scope.sleep(0.25)

    def note(line: str) -> None:
        record = json.loads(line)
        if record["record"] == "emitted":
            changes.append((record["at"], 1))

    builder = PlanBuilder(1).source("s", endless_for(40)).sink("k", take, queue_capacity=9)

    snapshot = run_virtual(Session(builder.edge("s", "k").build(), log=note).run())

    area, depth, last = 0.0, 0, 0.0
    for at, change in sorted(changes):
        area, depth, last = area + (at - last) * depth, depth + change, at
    assert snapshot.nodes["k"].wait.sum_s == pytest.approx(area)
    assert area > 10


def endless_for(count: int) -> Callable[[Scope], AsyncIterator[Token]]:
    """Return a stream of so many tokens, one each tenth of a second."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for number in range(count):
            await scope.sleep(0.1)
            yield Token(str(number))

    return stream


def test_a_tap_shows_the_last_events_of_an_edge_while_somebody_looks() -> None:
    """From when it is opened until it is closed, the last ones only."""

    async def go() -> tuple[list[Any], list[Any], Any]:
        builder = PlanBuilder(1).source("s", endless_for(30)).sink("k", nothing)
        session = Session(builder.edge("s", "k").build())
        task = asyncio.ensure_future(session.run())
        await asyncio.sleep(1.05)
        tap = session.tap("s.out>k.in", keep=3)
        assert session.tap("s.out>k.in") is tap
        await asyncio.sleep(1.0)
        rows = tap.rows()
        tap.close()
        tap.close()
        await task
        return rows, tap.rows(), session.snapshot()

    rows, later, snapshot = run_virtual(go())

    assert [row["payload"]["text"] for row in rows] == ["17", "18", "19"]
    assert later == rows
    assert snapshot.edges["s.out>k.in"].appended == 30


def test_a_tap_on_an_unknown_edge_is_refused() -> None:
    """It names the edge."""
    session = Session(PlanBuilder(1).source("s", []).sink("k", nothing).edge("s", "k").build())

    with pytest.raises(EngineError, match="no edge nowhere"):
        session.tap("nowhere")


def test_shown_lines_are_numbered_and_asked_for_from_the_last_seen() -> None:
    """Each piece comes once, in order."""
    builder = PlanBuilder(1).source("s", tokens(4))

    def show(token: Token, scope: Scope) -> None:
        scope.show(token.text)

    session = Session(builder.sink("k", show).edge("s", "k").build())
    run_virtual(session.run())

    first = session.outputs(0)
    assert [(line.number, line.node, line.conversation, line.text) for line in first] == [
        (number + 1, "k", "c1", str(number)) for number in range(4)
    ]
    assert session.outputs(first[2].number) == first[3:]
    assert session.outputs(99) == []


def test_an_output_for_a_port_without_an_edge_is_settled_and_no_emission() -> None:
    """It is neither lost in the books nor counted as sent."""

    class Split(Operator[NoParams]):
        name = "split"
        inputs = (Port("in", ANY),)
        outputs = (Port("out", ANY), Port("other", ANY))

        def process(self, payload: Token, scope: Scope) -> Iterator[Any]:

            assert scope.outputs == {"out"}
            yield Emit("other", payload)
            yield payload

    builder = PlanBuilder(1).source("s", tokens(3)).operator("n", Split(NoParams()))

    snapshot = run_virtual(Session(builder.sink("k", nothing).chain("s", "n", "k").build()).run())

    assert snapshot.nodes["n"].emitted == 3
    assert snapshot.nodes["n"].processed == 3


def test_a_port_that_the_operator_has_not_is_named() -> None:
    """A typing mistake in an operator fails with a sentence."""
    builder = PlanBuilder(1).source("s", tokens(1)).node("n", lambda t: Emit("oup", t))

    snapshot = run_virtual(Session(builder.sink("k", nothing).chain("s", "n", "k").build()).run())

    assert snapshot.error == "node n sent to 'oup', which is none of its out-ports (out)"


def test_operators_are_handed_the_number_of_their_conversation() -> None:
    """From 1, on through the rounds, and also where several workers call beside each other."""
    seen: list[tuple[str, int]] = []

    async def look(payload: Token, scope: Scope) -> None:
        await scope.sleep(0.1)
        seen.append((scope.conversation, scope.number))

    builder = PlanBuilder(2).source("s", [Token("a"), Token("b")], conversations=3)
    plan = builder.sink("k", look, workers=2).edge("s", "k").build()

    run_virtual(Session(plan).run())

    assert sorted(set(seen)) == [("c1", 1), ("c2", 2), ("c3", 3)]
