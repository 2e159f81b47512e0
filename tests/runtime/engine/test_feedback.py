"""Loops: what comes back, how much may be in a loop, and how it comes to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.engine.watermarks import edge_watermark
from aiflow.events import Message, Token
from aiflow.graph.model import Feedback
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def count_down(number: int) -> Emit:
    """Send a number back, one less, until it is 0."""
    return Emit("again", number - 1) if number else Emit("done", "over")


def loop_of(
    numbers: Any,
    seen: list[Any],
    *,
    conversations: int = 1,
    credit: int = 1,
    max_returns: int = 1,
    hops: int = 9,
    step: Any = count_down,
    **policy: Any,
) -> PlanBuilder:
    """Return source → a → b → sink, where b leads back to a."""
    builder = PlanBuilder(8).source("s", numbers, conversations=conversations)
    builder.node("a", lambda number: number, **policy).node("b", step, outputs=("again", "done"))
    builder.sink("k", seen.append).chain("s", "a", "b").edge("b.done", "k")
    return builder.edge("b.again", "a", feedback=Feedback(credit, max_returns, hops))


def run(builder: PlanBuilder, **options: Any) -> Snapshot:
    """Run to the end on the virtual clock."""

    async def go() -> Snapshot:
        return await Session(builder.build(), **options).run()

    return run_virtual(go())


def test_what_comes_back_goes_round_until_it_leaves() -> None:
    """Each number returns as often as it says; the books are even and the turn ends."""
    seen: list[Any] = []

    snapshot = run(loop_of([3, 0, 5], seen, conversations=4))

    assert snapshot.phase == "completed"
    assert seen == ["over"] * 12
    assert snapshot.edges["b.again>a.in"].taken == 4 * (3 + 0 + 5)
    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)


def test_a_node_may_lead_back_to_itself() -> None:
    """The smallest loop there is."""
    seen: list[Any] = []
    builder = PlanBuilder(1).source("s", [2, 4]).node("a", count_down, outputs=("again", "done"))
    builder.sink("k", seen.append).edge("s", "a").edge("a.done", "k")
    builder.edge("a.again", "a", feedback=Feedback(1, 1, 4))

    assert run(builder).phase == "completed"
    assert seen == ["over", "over"]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_output_that_fails_its_own_node_does_not_break_the_engine(workers: int) -> None:
    """A call that waits sends its only output back to itself once too often, and is settled so."""

    async def on(number: int, scope: Scope) -> int:
        await scope.sleep(1.0)
        return number

    builder = PlanBuilder(1).source("s", [7, 8]).node("a", on, workers=workers)
    builder.edge("s", "a").edge("a", "a", feedback=Feedback(1, 1, 3))
    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert "raise hops" in str(snapshot.error)
    assert snapshot.in_flight == 0
    counts = snapshot.nodes["a"]
    assert counts.received == counts.processed + counts.failed + counts.cancelled


def test_what_comes_back_is_served_before_what_is_new() -> None:
    """Though the new had waited longer."""
    called: list[int] = []

    async def slowly(number: int, scope: Scope) -> Emit:
        called.append(number)
        await scope.sleep(1.0)
        return Emit("again", number - 1) if number % 10 else Emit("done", number)

    builder = PlanBuilder(1).source("s", [12, 21, 30])
    builder.node("a", slowly, outputs=("again", "done")).sink("k", str)
    builder.edge("s", "a").edge("a.done", "k")
    assert run(builder.edge("a.again", "a", feedback=Feedback(3, 1, 9))).phase == "completed"

    assert called == [12, 11, 10, 21, 20, 30]


@pytest.mark.parametrize("credit", [1, 2, 3])
def test_no_more_items_are_in_the_loop_than_its_credit(credit: int) -> None:
    """Counted at every call; and the credit is used where there is something to begin."""
    inside: set[Any] = set()
    most = 0

    async def slowly(number: int, scope: Scope) -> Emit:
        nonlocal most
        inside.add((scope.conversation, scope.sequence))
        most = max(most, len(inside))
        await scope.sleep(0.5)
        if number:
            return Emit("again", number - 1)
        inside.discard((scope.conversation, scope.sequence))
        return Emit("done", "over")

    builder = PlanBuilder(8).source("s", [2, 1, 3, 0], conversations=3)
    builder.node("a", slowly, outputs=("again", "done"), workers=8, queue_capacity=16)
    builder.sink("k", str).edge("s", "a").edge("a.done", "k")
    builder.edge("a.again", "a", feedback=Feedback(credit, 1, 5))

    assert run(builder).phase == "completed"
    assert most == credit


def test_spent_hops_fail_the_conversation_and_name_the_edge() -> None:
    """The others go on."""
    seen: list[Any] = []

    def stream(scope: Scope) -> Iterator[int]:
        yield 4 if scope.conversation == "c2" else 2

    snapshot = run(loop_of(stream, seen, conversations=3, hops=3))

    assert snapshot.conversations == {"c1": "completed", "c2": "failed", "c3": "completed"}
    assert "edge b.again>a.in lets an event return 3 times" in (snapshot.error or "")
    assert seen == ["over", "over"]
    assert snapshot.nodes["a"].failed == 1


def test_more_returns_than_places_fail_as_loop_overflow() -> None:
    """They never wait, and the queue never grows."""

    def twice(number: int) -> list[Emit]:
        return [Emit("again", number), Emit("again", number), Emit("again", number)]

    builder = PlanBuilder(1).source("s", [1]).node("a", lambda number: number)
    builder.node("b", twice, outputs=("again",), max_outputs=3).chain("s", "a", "b")
    builder.edge("b.again", "a", feedback=Feedback(1, 2, 9))

    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert "loop overflow: over edge b.again>a.in more than 2" in (snapshot.error or "")
    assert snapshot.in_flight == 0


def test_a_full_queue_of_new_events_never_keeps_out_what_comes_back() -> None:
    """All that is new waits in its own places, and the source behind it."""
    seen: list[Any] = []

    snapshot = run(loop_of([1] * 40, seen, queue_capacity=2))

    assert snapshot.phase == "completed"
    assert len(seen) == 40
    assert snapshot.nodes["a"].max_depth <= 2


def test_a_detached_feedback_edge_drops_instead_of_failing() -> None:
    """What may be dropped needs no credit; its edge says what a full queue does."""

    async def slowly(token: Token, scope: Scope) -> Token:
        await scope.sleep(1.0)
        return token

    def again(token: Token) -> list[Emit]:
        back = [Emit("again", Token("x"))] * 3 if len(token.text) > 1 else []
        return [*back, Emit("done", token)]

    seen: list[Any] = []
    builder = PlanBuilder(1).source("s", [Token("long")] * 3)
    builder.node("a", slowly, queue_capacity=2)
    builder.node("b", again, outputs=("again", "done"), max_outputs=4)
    builder.sink("k", seen.append).chain("s", "a", "b").edge("b.done", "k")
    builder.edge("b.again", "a", "drop_newest", feedback=Feedback(1, 1, 9))

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    edge = snapshot.edges["b.again>a.in"]
    assert edge.appended == 9
    assert edge.dropped > 0
    assert len(seen) == 3 + edge.taken


def test_what_is_kept_back_in_a_loop_is_told_when_it_falls_quiet() -> None:
    """An aggregate in a loop sends its text round; the turn ends when nothing more is kept."""
    finished: list[str] = []

    def keep(text: str, scope: Scope) -> Any:
        if text.startswith("["):
            return Emit("done", text)
        scope.state.append(text)
        return None

    def tell(scope: Scope) -> Any:
        finished.append(",".join(scope.state))
        text = f"[{' '.join(scope.state)}]" if scope.state else None
        scope.state.clear()
        return None if text is None else Emit("again", text)

    seen: list[Any] = []
    builder = PlanBuilder(1).source("s", ["a", "b", "c"]).node("a", lambda text: text)
    builder.node("b", keep, state=list, finish=tell, outputs=("again", "done"), kept=3)
    builder.sink("k", seen.append).chain("s", "a", "b").edge("b.done", "k")
    builder.edge("b.again", "a", feedback=Feedback(1, 1, 2))

    assert run(builder).phase == "completed"
    assert seen == ["[a b c]"]
    assert finished == ["a,b,c", ""]


def test_an_operator_that_never_stops_telling_spends_its_hops() -> None:
    """Each round of what it tells is a return, so it ends with an error and not never."""
    builder = PlanBuilder(1).source("s", ["a"]).node("a", lambda text: text)
    builder.node("b", lambda text: None, finish=lambda scope: "more")
    builder.chain("s", "a", "b").edge("b", "a", feedback=Feedback(1, 1, 5))

    assert "return 5 times" in (run(builder).error or "")


def test_nothing_is_lost_or_held_where_an_operator_in_the_loop_fails() -> None:
    """Its conversation ends, its credit comes back, the others complete."""

    def step(number: int, scope: Scope) -> Emit:
        if scope.conversation == "c1" and number == 1:
            raise ValueError("as planned")
        return count_down(number)

    seen: list[Any] = []
    snapshot = run(loop_of([3, 3], seen, conversations=3, step=step))

    assert snapshot.conversations == {"c1": "failed", "c2": "completed", "c3": "completed"}
    assert seen == ["over"] * 4
    assert snapshot.in_flight == 0


@pytest.mark.parametrize("at", [0.2, 1.2, 2.7])
def test_a_cancelled_turn_leaves_its_loop_at_once(at: float) -> None:
    """Whatever of it goes round; the next conversation gets the credit."""

    async def slowly(number: int, scope: Scope) -> Emit:
        await scope.sleep(0.5)
        return count_down(number)

    async def go() -> Snapshot:
        builder = loop_of([9, 9], seen, conversations=2, step=slowly)
        session = Session(builder.build())
        asyncio.get_running_loop().call_at(at, session.cancel, "c1")
        return await session.run()

    seen: list[Any] = []
    snapshot = run_virtual(go())

    assert snapshot.conversations == {"c1": "cancelled", "c2": "completed"}
    assert seen == ["over", "over"]
    assert snapshot.in_flight == 0


def test_what_is_in_a_loop_holds_the_watermark_behind_it() -> None:
    """Nobody behind the loop is told that nothing of it can come while it may."""

    async def paced(scope: Scope) -> AsyncIterator[int]:
        for number in (0, 6, 0, 0):
            yield number
            await scope.sleep(1.0)
        await scope.sleep(2.0)

    async def slowly(number: int, scope: Scope) -> Emit:
        await scope.sleep(0.4)
        return count_down(number)

    async def go() -> list[float]:
        builder = loop_of(paced, [], credit=4, queue_capacity=8, step=slowly)
        session = Session(builder.build())
        found: list[float] = []

        def look() -> None:
            found.append(edge_watermark(session._conversations.active["c1"].turn, "b", "s"))

        for at in (0.5, 1.5, 3.1, 5.5):
            asyncio.get_running_loop().call_at(at, look)
        await session.run()
        return found

    assert run_virtual(go()) == [0, 0, 0, 3]


@given(
    st.lists(st.integers(0, 5), max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.booleans()), max_size=3),
    st.integers(1, 4),
    st.none() | st.tuples(st.integers(1, 4), st.integers(0, 40)),
)
@settings(max_examples=150)
def test_every_loop_comes_to_its_end(
    numbers: list[int],
    conversations: int,
    credit: int,
    inner: list[tuple[int, int, bool]],
    places: int,
    cancel: tuple[int, int] | None,
) -> None:
    """Of one node or several, that wait or not, with a slow way out; also where one is cancelled.

    `inner` are the nodes between entry and end of the loop: workers, reorder buffer, awaits.
    """
    seen: Counter[str] = Counter()
    calls = 0

    def step(number: int, scope: Scope) -> Any:
        nonlocal calls
        calls += 1
        if cancel is not None and cancel[1] == calls:
            session.cancel(f"c{min(cancel[0], conversations)}")
        return count_down(number)

    def slowly(workers: int) -> Any:
        async def waits(number: int, scope: Scope) -> int:
            await scope.sleep(scope.random.random() / workers)
            return number

        return waits

    async def out(_: str, scope: Scope) -> None:
        seen[scope.conversation] += 1
        await scope.sleep(0.3)

    most = credit * (1 + sum(workers + reorder for workers, reorder, _ in inner))
    builder = PlanBuilder(8).source("s", numbers, conversations=conversations)
    builder.node("a", lambda number: number, queue_capacity=places + credit * most)
    names = ["s", "a"]
    for index, (workers, reorder, awaits) in enumerate(inner):
        names.append(f"n{index}")
        process: Any = slowly(workers) if awaits else lambda number: number
        builder.node(names[-1], process, workers=workers, reorder_capacity=reorder)
    builder.node("b", step, outputs=("again", "done"), queue_capacity=places)
    builder.sink("k", out, queue_capacity=1).chain(*names, "b").edge("b.done", "k")
    builder.edge("b.again", "a", feedback=Feedback(credit, most, 5))
    session = Session(builder.build())

    snapshot = run_virtual(session.run())

    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    assert snapshot.error is None
    for number in range(1, conversations + 1):
        conversation = f"c{number}"
        if snapshot.conversations[conversation] == "completed":
            assert seen[conversation] == len(numbers)
    assert all(loop.held == 0 for loop in session._kernel.loops)  # type: ignore[union-attr]


def test_a_run_of_a_loop_is_the_same_each_time() -> None:
    """The same log, line for line, with a credit that several conversations share."""

    def logged() -> list[str]:
        lines: list[str] = []

        async def slowly(number: int, scope: Scope) -> Emit:
            await scope.sleep(scope.random.random())
            return count_down(number)

        builder = loop_of([3, 1, 2], [], conversations=5, credit=2, step=slowly)
        run(builder, log=lines.append)
        return lines

    assert logged() == logged()


def test_the_log_tells_how_often_an_event_has_come_back() -> None:
    """And nothing of hops where it has not."""
    lines: list[str] = []

    run(loop_of([2], []), log=lines.append)

    emitted = [line for line in lines if '"node":"b","port"' in line]
    assert ['"hops":' in line for line in emitted] == [False, True, True]
    assert '"hops":2' in emitted[-1]


def test_a_message_returns_unchanged_but_for_its_hops() -> None:
    """The payload is shared, the envelope says how often it came back."""
    hops: list[int] = []

    def look(message: Message, scope: Any) -> Emit:
        hops.append(scope.event.hops)
        return Emit("again" if len(hops) < 4 else "done", message)

    run(loop_of([Message("same")], [], step=look))

    assert hops == [0, 1, 2, 3]
