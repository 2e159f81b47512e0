"""Joins: what belongs together, gaps, backpressure, and that nothing ever waits for good."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Joined, Message, Token
from aiflow.graph.model import Feedback
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.builtin.join import Join, JoinParams
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def join(mode: str = "all", **params: Any) -> Join:
    """Return a join."""
    return Join(JoinParams(mode=mode, **params))  # type: ignore[arg-type]


def numbered(count: int) -> list[Message]:
    """Return messages with their number as text."""
    return [Message(str(number)) for number in range(count)]


def run(builder: PlanBuilder, **options: Any) -> Snapshot:
    """Run to the end on the virtual clock; whatever happens, the books are even."""

    async def go() -> Snapshot:
        return await Session(builder.build(), **options).run()

    snapshot = run_virtual(go())
    assert snapshot.in_flight == 0
    assert snapshot.bound is None or snapshot.max_in_flight <= snapshot.bound
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled, node
    for edge in snapshot.edges.values():
        assert edge.appended == edge.taken + edge.purged + edge.dropped, edge
    return snapshot


Behaviour = tuple[str, int, int, int]


def branch(builder: PlanBuilder, name: str, how: Behaviour) -> None:
    """Add a node that lets numbers through, some, all or several times, quickly or not."""
    kind, every, workers, reorder = how

    def parts(message: Message) -> list[Message]:
        number = int(message.text)
        if kind == "filter":
            return [message] if number % every == 0 else []
        if kind == "several":
            return [Message(f"{number}.{part}") for part in range(number % every)]
        return [message]

    async def slowly(message: Message, scope: Scope) -> Any:
        await scope.sleep(scope.random.random() * 0.1)
        found = parts(message)
        return found[0] if found else None

    def generate(message: Message) -> Iterator[Message]:
        yield from parts(message)

    def plainly(message: Message) -> Any:
        found = parts(message)
        return found[0] if found else None

    made: dict[str, Any] = {"several": generate, "slow": slowly}
    process = made.get(kind, plainly)
    builder.node(name, process, workers=workers, reorder_capacity=reorder, queue_capacity=2)


def outputs_of(how: Behaviour, number: int) -> list[str]:
    """Return what a branch makes of a number."""
    kind, every, _workers, _reorder = how
    if kind == "filter":
        return [str(number)] if number % every == 0 else []
    if kind == "several":
        return [f"{number}.{part}" for part in range(number % every)]
    return [str(number)]


behaviours = st.tuples(
    st.sampled_from(("pass", "filter", "slow", "several")),
    st.integers(1, 20),
    st.integers(1, 4),
    st.integers(0, 3),
)


@given(
    st.lists(behaviours, min_size=2, max_size=4),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 20),
)
@settings(max_examples=60)
@example([("filter", 20, 1, 0), ("pass", 1, 1, 0)], 1, 1, 100)
@example([("filter", 20, 1, 0), ("slow", 1, 4, 0)], 1, 1, 40)
def test_every_item_comes_whole_and_once(
    branches: list[Behaviour], places: int, conversations: int, count: int
) -> None:
    """All: whatever branches filter, multiply or overtake, and however small the queue is."""
    seen: dict[str, list[dict[str, list[str]]]] = defaultdict(list)

    def look(joined: Joined, scope: Scope) -> None:
        texts = {port: [part.text for part in parts] for port, parts in joined.parts.items()}
        seen[scope.conversation].append(texts)

    builder = PlanBuilder(8).source("s", numbered(count), conversations=conversations)
    queue = places * len(branches) * conversations
    builder.operator("j", join(max_parts=80), queue_capacity=queue)
    for port, how in zip("abcd", branches, strict=False):
        branch(builder, f"n{port}", how)
        builder.edge("s", f"n{port}").edge(f"n{port}", f"j.{port}")
    builder.sink("k", look).edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed", snapshot.error
    expected = []
    for number in range(count):
        made = [outputs_of(how, number) for how in branches]
        if any(made):
            expected.append(dict(zip("abcd", made, strict=False)))
    for number in range(1, conversations + 1):
        assert seen[f"c{number}"] == expected


@given(
    st.lists(behaviours, min_size=2, max_size=4),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 20),
)
@settings(max_examples=60)
@example([("filter", 20, 1, 0), ("pass", 1, 1, 0)], 1, 1, 100)
@example([("slow", 1, 4, 0), ("slow", 1, 4, 0)], 1, 2, 30)
def test_pairs_are_of_one_item_and_what_is_left_over_is_counted(
    branches: list[Behaviour], places: int, conversations: int, count: int
) -> None:
    """Zip of one source: a gap in one branch shifts nothing and holds nobody up."""
    seen: dict[str, list[list[str]]] = defaultdict(list)

    def look(joined: Joined, scope: Scope) -> None:
        assert all(len(parts) == 1 for parts in joined.parts.values())
        seen[scope.conversation].append([parts[0].text for parts in joined.parts.values()])

    builder = PlanBuilder(8).source("s", numbered(count), conversations=conversations)
    queue = places * len(branches) * conversations
    builder.operator("j", join("zip"), queue_capacity=queue)
    for port, how in zip("abcd", branches, strict=False):
        branch(builder, f"n{port}", how)
        builder.edge("s", f"n{port}").edge(f"n{port}", f"j.{port}")
    builder.sink("k", look).edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed", snapshot.error
    expected = []
    sent = 0
    for number in range(count):
        made = [outputs_of(how, number) for how in branches]
        sent += sum(map(len, made))
        expected += [list(pair) for pair in zip(*made, strict=False)]
    for number in range(1, conversations + 1):
        assert sorted(seen[f"c{number}"]) == sorted(expected)
    left = (sent - len(expected) * len(branches)) * conversations
    assert sum(snapshot.nodes["j"].dropped.values()) == left


@given(st.integers(0, 9), st.integers(0, 9), st.integers(2, 6), st.integers(1, 3))
@settings(max_examples=60)
def test_strangers_are_paired_as_they_come(
    left: int, right: int, queue: int, conversations: int
) -> None:
    """Zip of different sources: the first with the first; what is too much is dropped."""
    seen: list[str] = []
    builder = PlanBuilder(8).source("s", numbered(left), conversations=conversations)
    builder.source("t", numbered(right), conversations=conversations)
    builder.node("n", lambda message: message if int(message.text) % 2 == 0 else None)
    builder.operator("j", join("zip", separator="+"), queue_capacity=queue * conversations)
    builder.sink("k", lambda joined: seen.append(joined.text))
    builder.edge("s", "n").edge("n", "j.a").edge("t", "j.b").edge("j", "k")

    snapshot = run(builder)

    pairs = [f"{number * 2}+{number}" for number in range(min((left + 1) // 2, right))]
    assert snapshot.phase == "completed"
    assert sorted(seen) == sorted(pairs * conversations)


def test_a_zip_that_may_leave_nothing_over_fails_its_conversation() -> None:
    """And says over which edge it came."""
    builder = PlanBuilder(1).source("s", numbered(3)).source("t", numbered(2))
    builder.operator("j", join("zip", leftover="error")).sink("k", str)
    builder.edge("s", "j.a").edge("t", "j.b").edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert "node j got an event over s.out>j.a and nothing to pair it with" in str(snapshot.error)


def test_more_parts_than_can_be_kept_fail_the_conversation_and_not_the_session() -> None:
    """It says what to raise."""

    def many(message: Message) -> Iterator[Message]:
        yield from [message] * 9

    builder = PlanBuilder(1).source("s", numbered(2))
    builder.node("n", many).operator("j", join(max_parts=3), queue_capacity=4).sink("k", str)
    builder.edge("s", "n").edge("n", "j.a").edge("s", "j.b").edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert "raise its max_parts or queue_capacity" in str(snapshot.error)


def test_a_branch_that_is_ahead_waits_for_the_other_and_nobody_else() -> None:
    """Its part of the queue is full; the rest of the queue is the other branch's."""

    async def slowly(message: Message, scope: Scope) -> Message:
        await scope.sleep(1.0)
        return message

    builder = PlanBuilder(1).source("s", numbered(30)).node("slow", slowly, queue_capacity=20)
    builder.operator("j", join(), queue_capacity=6).sink("k", str)
    builder.edge("s", "slow").edge("slow", "j.a").edge("s", "j.b").edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert snapshot.nodes["j"].max_depth <= 4


def test_what_an_aggregate_keeps_is_waited_for() -> None:
    """Its one message belongs to the last line, and comes with it; no line before is late."""
    seen: list[tuple[str, str]] = []

    def keep(message: Message, scope: Scope) -> None:
        scope.state.append(message.text)
        scope.keep_from(scope.sequence)

    builder = PlanBuilder(1).source("s", numbered(3))
    builder.node("n", keep, state=list, finish=lambda scope: Message("+".join(scope.state)), kept=3)
    builder.operator("j", join())
    builder.sink("k", lambda joined: seen.append((joined.data["a"], joined.data["b"])))
    builder.edge("s", "n").edge("n", "j.a").edge("s", "j.b").edge("j", "k")

    assert run(builder).phase == "completed"
    assert seen == [("", "0"), ("", "1"), ("0+1+2", "2")]


def test_what_is_told_at_the_end_can_stand_where_it_was_kept() -> None:
    """A store that holds a whole turn gives each event its own place back, for joins behind it."""
    seen: list[tuple[str, str]] = []

    def keep(message: Message, scope: Scope) -> None:
        scope.state.append((scope.sequence, message, scope.place()))
        scope.keep_from(scope.state[0][0])

    def tell(scope: Scope) -> Iterator[Message]:
        for sequence, message, place in scope.state:
            scope.keep_from(sequence)
            scope.stand_at(place)
            yield message
        scope.keep_from(None)

    builder = PlanBuilder(1).source("s", numbered(4))
    builder.node("n", keep, state=list, finish=tell, kept=4).operator("j", join(), queue_capacity=8)
    builder.sink("k", lambda joined: seen.append((joined.data["a"], joined.data["b"])))
    builder.edge("s", "n").edge("n", "j.a").edge("s", "j.b").edge("j", "k")

    assert run(builder).phase == "completed"
    assert seen == [("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")]


def test_an_event_that_takes_another_way_is_not_waited_for() -> None:
    """It moves the watermark though it goes on elsewhere, inline and unseen."""
    seen: list[dict[str, str]] = []

    def part(message: Message) -> Emit:
        return Emit("odd" if int(message.text) % 2 else "even", message)

    builder = PlanBuilder(1).source("s", numbered(4)).node("n", part, outputs=("odd", "even"))
    builder.operator("j", join()).sink("k", lambda joined: seen.append(joined.data))
    builder.sink("other", str).edge("n.odd", "other").edge("n.even", "j.a")
    builder.edge("s", "n").edge("s", "j.b").edge("j", "k")

    assert run(builder).phase == "completed"
    assert [each["a"] for each in seen] == ["0", "", "2", ""]


def test_joins_may_stand_behind_joins() -> None:
    """A diamond within a diamond."""
    seen: list[str] = []
    builder = PlanBuilder(1).source("s", numbered(20))
    builder.node("f", lambda message: message if message.text != "7" else None)
    builder.operator("j", join(), queue_capacity=2).operator("jj", join(), queue_capacity=3)
    builder.sink("k", lambda joined: seen.append(joined.text))
    builder.edge("s", "f").edge("f", "j.a").edge("s", "j.b")
    builder.edge("j", "jj.a").edge("s", "jj.b").edge("f", "jj.c").edge("jj", "k")

    assert run(builder).phase == "completed"
    assert seen[6:8] == ["6 6 6 6", "7 7"]


def test_a_loop_before_a_join_is_waited_for() -> None:
    """What goes round may still come out, however often."""
    seen: list[dict[str, str]] = []

    async def halve(message: Message, scope: Scope) -> Emit:
        await scope.sleep(0.1)
        number = int(message.text)
        return Emit("again" if number > 1 else "done", Message(str(number // 2)))

    builder = PlanBuilder(1).source("s", numbered(9))
    builder.node("n", halve, outputs=("again", "done"), workers=3)
    builder.edge("n.again", "n", feedback=Feedback(3, 1, 8))
    builder.operator("j", join()).sink("k", lambda joined: seen.append(joined.data))
    builder.edge("s", "n").edge("n.done", "j.a").edge("s", "j.b").edge("j", "k")

    assert run(builder).phase == "completed"
    assert [each["b"] for each in seen] == [str(number) for number in range(9)]
    assert all(each["a"] == "0" for each in seen)


def test_a_failing_branch_ends_its_conversation_at_the_join_too() -> None:
    """What waits there is settled; the others come whole."""

    def fails(message: Message, scope: Scope) -> Message:
        if scope.conversation == "c2" and message.text == "5":
            raise ValueError("as planned")
        return message

    seen: list[str] = []
    builder = PlanBuilder(4).source("s", numbered(8), conversations=3).node("n", fails)
    builder.operator("j", join(), queue_capacity=6)
    builder.sink("k", lambda joined, scope: seen.append(scope.conversation))
    builder.edge("s", "n").edge("n", "j.a").edge("s", "j.b").edge("j", "k")

    snapshot = run(builder)

    assert snapshot.conversations == {"c1": "completed", "c2": "failed", "c3": "completed"}
    assert seen.count("c1") == seen.count("c3") == 8


@pytest.mark.parametrize("at", [0.05, 0.35, 1.2])
def test_a_cancelled_turn_leaves_a_join_at_once(at: float) -> None:
    """Halves that wait, in the queue or beside it, are settled as cancelled."""

    async def slowly(message: Message, scope: Scope) -> Any:
        await scope.sleep(0.3)
        return [message] * 3

    async def go() -> Snapshot:
        builder = PlanBuilder(4).source("s", numbered(9), conversations=2)
        builder.node("n", slowly, max_outputs=3)
        builder.operator("j", join(), queue_capacity=4).sink("k", str)
        builder.edge("s", "n").edge("n", "j.a").edge("s", "j.b").edge("j", "k")
        session = Session(builder.build())
        asyncio.get_running_loop().call_at(at, session.cancel, "c1")
        return await session.run()

    snapshot = run_virtual(go())

    assert snapshot.conversations == {"c1": "cancelled", "c2": "completed"}
    assert snapshot.in_flight == 0


def test_zips_of_the_same_two_sources_in_another_order_are_paired_as_they_come() -> None:
    """What each sends is of its first input, so nothing of them has the same item."""
    seen: list[dict[str, str]] = []
    builder = PlanBuilder(1).source("s", numbered(9)).source("t", numbered(9))
    for name, first, second in (("y", "s", "t"), ("x", "t", "s"), ("j", "y", "x")):
        builder.operator(name, join("zip"))
        builder.edge(first, f"{name}.a").edge(second, f"{name}.b")
    builder.sink("k", lambda joined: seen.append(joined.data)).edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert seen == [{"a": f"{number} {number}", "b": f"{number} {number}"} for number in range(9)]


def test_what_a_zip_sends_is_paired_with_what_came_of_its_first_input() -> None:
    """A filter beside it leaves a gap and shifts nothing."""
    seen: list[dict[str, str]] = []
    builder = PlanBuilder(1).source("s", numbered(9)).source("t", numbered(9))
    builder.operator("y", join("zip")).edge("s", "y.a").edge("t", "y.b")
    builder.node("f", lambda message: message if int(message.text) % 3 == 0 else None)
    builder.operator("j", join("zip")).edge("s", "f").edge("y", "j.a").edge("f", "j.b")
    builder.sink("k", lambda joined: seen.append(joined.data)).edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert [each["b"] for each in seen] == ["0", "3", "6"]
    assert [each["a"] for each in seen] == ["0 0", "3 3", "6 6"]


def test_pairs_by_arrival_that_hold_up_their_own_source_are_told_as_a_deadlock() -> None:
    """The compiler warns of it (AF413); the run names the nodes that wait for each other."""
    builder = PlanBuilder(1).source("s", numbered(60)).source("t", numbered(1))
    builder.node("f", lambda message: message if int(message.text) % 20 == 0 else None)
    builder.node("m", lambda message: message)
    builder.operator("j", join("zip"), queue_capacity=4).sink("k", str)
    builder.edge("s", "f").edge("f", "j.a").edge("s", "m").edge("t", "m").edge("m", "j.b")

    snapshot = run(builder.edge("j", "k"))

    assert snapshot.phase == "failed"
    assert "deadlock: s waits for m waits for j waits for f waits for s" in str(snapshot.error)
    assert "j: 2 of 4 waiting" in str(snapshot.error)


def test_a_detached_branch_that_drops_leaves_a_gap() -> None:
    """A join never waits for what a full queue has dropped."""
    seen: list[dict[str, str]] = []

    async def slowly(message: Message, scope: Scope) -> Message:
        await scope.sleep(0.1)
        return message

    def spoken(scope: Scope) -> Iterator[Any]:
        yield from (Token(str(number)) for number in range(30))

    builder = PlanBuilder(1).source("s", spoken).node("n", slowly, queue_capacity=2)
    builder.operator("j", join()).sink("k", lambda joined: seen.append(joined.data))
    builder.edge("s", "n", "drop_newest").edge("n", "j.a").edge("s", "j.b").edge("j", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert [each["b"] for each in seen] == [str(number) for number in range(30)]
    assert sum(bool(each["a"]) for each in seen) == 30 - snapshot.nodes["n"].dropped["drop_newest"]
