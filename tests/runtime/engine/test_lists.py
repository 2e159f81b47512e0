"""Lists of outputs that run inline: nothing that happens in the midst of one is lost on it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.engine import runlist
from aiflow.engine.runlist import RunList
from aiflow.engine.session import Session
from aiflow.events import Control, Message, Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

#: Outputs of a list, and the one at which something happens.
LENGTH, MIDDLE = 7, 3


class Listed:
    """A run of a token that becomes a list, before an operator that does something in its midst.

    Another comes before it, so that all classes of outputs have been seen: what is new goes the
    long way.

    Args:
        does: called with the session when the operator is at the output in the middle; what it
            returns, or raises, is what the operator does.
        is_once: whether it does that only the first time that it is asked.
        policies: of nodes, by their names: `n` makes the list, `m` is the operator, `k` the sink.
    """

    def __init__(
        self, does: Callable[[Session], Any], *, is_once: bool = True, **policies: dict[str, Any]
    ) -> None:
        self.is_once = is_once
        self.called: list[int] = []
        self.seen: list[Any] = []
        self.does: Callable[[Session], Any] | None = does
        builder = PlanBuilder(1).source("s", [Token("first"), Token("x")])
        builder.node("n", self._fan, max_outputs=LENGTH, **policies.get("n", {}))
        builder.node("m", self._act, max_outputs=LENGTH, **policies.get("m", {}))
        builder.sink("k", self._take, **policies.get("k", {}))
        self.builder = builder.chain("s", "n", "m", "k")
        self.session = Session(self.builder.build())

    def _fan(self, token: Token) -> list[int]:
        return [-1, -2] if token.text == "first" else [*range(LENGTH)]

    def _take(self, payload: Any) -> None:
        if payload not in (-1, -2):
            self.seen.append(payload)

    def _act(self, number: Any) -> Any:
        if not isinstance(number, int) or number < 0:
            return number
        self.called.append(number)
        if number != MIDDLE or self.does is None:
            return number
        does, self.does = self.does, None if self.is_once else self.does
        return does(self.session)

    def fan_twice(self) -> None:
        """Put a node before the one that lists, so that its list is one of a list."""
        self.builder.node("l", lambda token: [token], max_outputs=1)
        del self.builder._edges["s.out>n.in"]
        self.session = Session(self.builder.chain("s", "l", "n").build())

    def run(self) -> Snapshot:
        """Run to the end, and hold the books."""
        snapshot = run_virtual(self.session.run())
        check_books(snapshot)
        return snapshot


def check_books(snapshot: Snapshot) -> None:
    """Hold what is true of each run that has ended."""
    assert snapshot.in_flight == 0
    assert snapshot.bound is None or snapshot.max_in_flight <= snapshot.bound
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled, node
        assert node.in_flight == node.depth == node.running == node.held == 0, node
    for edge in snapshot.edges.values():
        assert edge.appended == edge.taken + edge.purged + edge.dropped, edge


# What an output leads to ------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 100_000])
def test_a_list_of_any_length_comes_out_whole_and_in_order(length: int) -> None:
    """None, one, a few, and more than any slice of time holds."""
    seen: list[int] = []
    builder = PlanBuilder(1).source("s", ["x", "y"])
    builder.node("n", lambda _: [*range(length)], max_outputs=max(1, length))
    builder.sink("k", seen.append)

    snapshot = run_virtual(Session(builder.chain("s", "n", "k").build()).run())

    check_books(snapshot)
    assert seen == [*range(length)] * 2
    assert snapshot.nodes["n"].emitted == snapshot.nodes["k"].processed == 2 * length
    assert snapshot.nodes["k"].service.count == 2 * length
    assert length <= snapshot.max_in_flight <= length + 1


def generated(number: int) -> Iterator[int]:
    """Yield two outputs."""
    yield number
    yield 10 * number


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (None, []),
        ([], []),
        ([30], [30]),
        ([30, 31, 32], [30, 31, 32]),
        (Emit("out", 30), [30]),
        (generated(30), [30, 300]),
        ([Emit("out", 30), 31, Token("t")], [30, 31, Token("t")]),
        (Token("t"), [Token("t")]),
    ],
    ids=["none", "no list", "a list of one", "a list", "emit", "generator", "mixed", "class"],
)
def test_what_comes_of_an_output_comes_before_what_comes_of_the_next(
    outcome: object, expected: list[object]
) -> None:
    """Whatever the operator in the midst of a list returns."""
    listed = Listed(lambda _: outcome)

    snapshot = listed.run()

    assert listed.called == [*range(LENGTH)]
    assert listed.seen == [0, 1, 2, *expected, 4, 5, 6]
    assert snapshot.nodes["m"].processed == 2 + LENGTH
    assert snapshot.nodes["m"].service.count == 2 + LENGTH


def test_what_is_emitted_beside_a_result_leaves_before_the_next_output() -> None:
    """It is found though the operator returns nothing."""
    seen: list[int] = []

    def process(number: int, scope: Scope) -> None:
        if number == MIDDLE:
            scope.emit(30)
            scope.emit(31)

    builder = PlanBuilder(1).source("s", ["x", "y"])
    builder.node("n", lambda _: [*range(LENGTH)], max_outputs=LENGTH)
    builder.node("m", process, max_outputs=2).sink("k", seen.append)

    snapshot = run_virtual(Session(builder.chain("s", "n", "m", "k").build()).run())

    check_books(snapshot)
    assert seen == [30, 31] * 2
    assert snapshot.nodes["m"].processed == 2 * LENGTH


@pytest.mark.parametrize(
    "other",
    [Control("usage"), Control("keep-alive"), Token("t"), Message("m")],
    ids=["control", "keep-alive", "droppable", "not droppable"],
)
@pytest.mark.parametrize("overflow", ["block", "drop_newest"])
def test_a_list_of_several_classes_keeps_its_order(other: object, overflow: str) -> None:
    """A row of one class ends where another begins, and nothing is dropped that has a place."""
    seen: list[object] = []
    outputs = [1, 2, other, 3, other, other, 4]
    builder = PlanBuilder(1).source("s", ["x", "y"])
    builder.node("n", lambda _: outputs, max_outputs=len(outputs))
    builder.sink("k", seen.append, overflow=overflow)

    snapshot = run_virtual(Session(builder.chain("s", "n", "k").build()).run())

    check_books(snapshot)
    assert seen == outputs * 2


def test_outputs_for_another_port_leave_in_their_place() -> None:
    """Each port's outputs in the order of the list, and nothing of one waits for the other."""
    seen: list[tuple[str, object]] = []
    outputs = [1, 2, Emit("side", 3), 4, Emit("side", 5), Emit("none", 6), 7]
    builder = PlanBuilder(1).source("s", ["x", "y"])
    builder.node("n", lambda _: outputs, max_outputs=7, outputs=("out", "side", "none"))
    builder.sink("k", lambda number: seen.append(("k", number)))
    builder.sink("l", lambda number: seen.append(("l", number)))
    builder.chain("s", "n", "k").edge("n.side", "l")

    snapshot = run_virtual(Session(builder.build()).run())

    check_books(snapshot)
    assert seen == [("k", 1), ("k", 2), ("l", 3), ("k", 4), ("l", 5), ("k", 7)] * 2


def test_a_list_that_its_operator_changes_afterwards_has_left_as_it_was() -> None:
    """The operator may keep the list, and another may empty it in its midst."""
    kept: list[int] = []
    seen: list[int] = []

    def fan(_: str) -> list[int]:
        kept.extend(range(LENGTH))
        return kept

    def process(number: int) -> None:
        seen.append(number)
        kept.clear()

    builder = PlanBuilder(1).source("s", ["x", "y"]).node("n", fan, max_outputs=LENGTH)

    snapshot = run_virtual(Session(builder.sink("k", process).chain("s", "n", "k").build()).run())

    check_books(snapshot)
    assert seen == [*range(LENGTH)] * 2


def test_outputs_are_numbered_and_inherit_their_place() -> None:
    """Also where a list comes of each output of a list, and its rest waits meanwhile."""
    seen: list[tuple[str, int, int, str]] = []

    def note(text: str, scope: Scope) -> None:
        event = scope.event  # type: ignore[attr-defined] # the engine's scopes have it
        seen.append((event.source, event.sequence, event.part, text))

    builder = PlanBuilder(1).source("s", ["x", "y"])
    for name in ("n", "m"):
        builder.node(name, lambda text: [text + "a", text + "b"], max_outputs=2)
    builder.sink("k", note).chain("s", "n", "m", "k")

    run_virtual(Session(builder.build()).run())

    assert seen == [
        ("s", sequence, part, text + ending)
        for sequence, text in enumerate("xy")
        for part, ending in enumerate(("aa", "ab", "ba", "bb"))
    ]


def test_operators_are_called_in_the_order_that_the_log_tells() -> None:
    """With a log nothing runs as a row, and it comes to the same."""
    calls: dict[bool, list[str]] = {}
    lines: list[str] = []
    for is_logged in (False, True):
        called = calls[is_logged] = []

        def fan(text: str, called: list[str] = called) -> list[str]:
            called.append(text)
            return [text + "a", text + "b", text + "c"]

        builder = PlanBuilder(1).source("s", ["x", "y"])
        builder.node("n", fan, max_outputs=3).node("m", fan, max_outputs=3)
        builder.sink("k", called.append).chain("s", "n", "m", "k")
        run_virtual(Session(builder.build(), log=lines.append if is_logged else None).run())

    assert calls[False] == calls[True]
    records = [json.loads(line) for line in lines]
    emitted = [each for each in records if each["record"] == "emitted" and each["node"] == "m"]
    assert [each["payload"] for each in emitted] == [text for text in calls[False] if text[2:]]


# What happens in the midst ----------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("fans", [False, True], ids=["alone", "in a list of lists"])
def test_an_error_in_mid_list_is_told_once_and_what_came_before_has_left(
    error: type[BaseException], *, fans: bool
) -> None:
    """One event fails; what comes after it at the same node is cancelled."""

    def fail(_: Session) -> None:
        raise error("as planned")

    listed = Listed(fail)
    if fans:
        listed.fan_twice()
    if error is KeyboardInterrupt:
        loop = VirtualLoop()
        try:
            task = loop.create_task(listed.session.run())
            with pytest.raises(KeyboardInterrupt):
                loop.run_until_complete(task)
            check_books(loop.run_until_complete(task))  # whoever catches it may let it end
        finally:
            loop.close()
        assert listed.called == [0, 1, 2, MIDDLE]
        return

    snapshot = listed.run()

    assert snapshot.phase == "failed"
    assert "as planned" in (snapshot.error or "")
    assert listed.called == [0, 1, 2, MIDDLE]
    assert listed.seen == [0, 1, 2]
    failed = snapshot.nodes["m"]
    assert (failed.processed, failed.failed, failed.cancelled) == (5, 1, LENGTH - 4)


def test_a_try_again_in_mid_list_holds_the_rest_back_until_it_has_left() -> None:
    """The rest waits behind the one that is tried again, in order."""
    failures = iter([True, True, False])

    def stumble(_: Session) -> int:
        if next(failures):
            raise ConnectionError("not yet")
        return 30

    retry = {"attempts": 3, "backoff_s": 1.0, "retry_on": ("any",)}
    listed = Listed(stumble, is_once=False, m={"retry": retry, "queue_capacity": 2})

    snapshot = listed.run()

    assert listed.seen == [0, 1, 2, 30, 4, 5, 6]
    assert snapshot.nodes["m"].processed == 2 + LENGTH


@pytest.mark.parametrize("how", ["propagate", "drain", "shield"])
@pytest.mark.parametrize("where", ["n", "m", "k", "nmk"])
def test_a_cancel_in_mid_list_ends_each_node_as_its_policy_says(how: str, where: str) -> None:
    """What is dead calls no operator again; a node that finishes finishes its list."""

    def cancel(session: Session) -> int:
        assert session.cancel("c1")
        return MIDDLE

    policies: dict[str, Any] = {node: {"cancel": how} for node in where}
    listed = Listed(cancel, **policies)

    snapshot = listed.run()

    assert snapshot.phase == "cancelled"
    # What is dead takes nothing in any more, and a node that drains nothing new.
    goes_on = how == "shield" and where == "nmk"
    assert listed.called == [*range(LENGTH if goes_on else MIDDLE + 1)]
    assert listed.seen == [*range(LENGTH if goes_on else MIDDLE)]


@pytest.mark.parametrize("how", ["stop", "drain"])
def test_a_session_that_ends_in_mid_list_has_even_books(how: str) -> None:
    """A stop discards what has not left; a drain lets all of it out."""

    def end(session: Session) -> int:
        getattr(session, how)()
        return MIDDLE

    listed = Listed(end)

    snapshot = listed.run()

    if how == "stop":
        assert (snapshot.phase, listed.called, listed.seen) == (
            "cancelled",
            [0, 1, 2, MIDDLE],
            [0, 1, 2],
        )
    else:
        assert (snapshot.phase, listed.seen) == ("completed", [*range(LENGTH)])


@pytest.mark.parametrize("edge", ["s.out>n.in", "n.out>m.in", "m.out>k.in"])
def test_a_tap_that_opens_in_mid_list_sees_the_rest(edge: str) -> None:
    """From the next event on, over whichever edge."""
    taps = []

    def tap(session: Session) -> int:
        taps.append(session.tap(edge))
        return MIDDLE

    listed = Listed(tap)

    listed.run()

    sees = {"s.out>n.in": [], "n.out>m.in": [4, 5, 6], "m.out>k.in": [3, 4, 5, 6]}[edge]
    assert [row["payload"] for row in taps[0].rows()] == sees
    assert listed.seen == [*range(LENGTH)]


@pytest.mark.parametrize("edge", ["n.out>m.in", "m.out>k.in"])
def test_a_breakpoint_that_is_set_in_mid_list_holds_the_next(edge: str) -> None:
    """The rest waits in order, is stepped through, and comes out when it is let go."""
    held: list[int] = []
    listed: Listed

    def hold(session: Session) -> int:
        session.set_breakpoint(edge)
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, lambda: held.append(len(listed.seen)))
        loop.call_later(2.0, session.step, edge)
        loop.call_later(3.0, lambda: held.append(len(listed.seen)))
        loop.call_later(4.0, session.resume, edge)
        return MIDDLE

    listed = Listed(hold, m={"queue_capacity": 1}, k={"queue_capacity": 2})

    listed.run()

    before = 4 if edge == "n.out>m.in" else 3
    assert held == [before, before + 1]
    assert listed.seen == [*range(LENGTH)]


@pytest.mark.parametrize("node", ["n", "m", "k"])
@pytest.mark.parametrize(
    "changes",
    [
        {"queue_capacity": 1},
        {"queue_capacity": 64},
        {"workers": 3, "reorder_capacity": 2},
        {"retry": {"timeout_s": 5.0}},
        {"retry": {"attempts": 3, "total_timeout_s": 9.0}},
    ],
    ids=["fewer places", "more places", "more workers", "a time limit", "tries"],
)
def test_a_policy_that_is_tuned_in_mid_list_holds_for_the_rest(
    node: str, changes: dict[str, Any]
) -> None:
    """Nothing is lost or out of order, whether the rest may still run inline or not."""

    def tune(session: Session) -> int:
        session.tune(node, **changes)
        return MIDDLE

    listed = Listed(tune)

    snapshot = listed.run()

    assert listed.seen == [*range(LENGTH)]
    assert [snapshot.nodes[each].processed for each in "nmk"] == [2, 2 + LENGTH, 2 + LENGTH]


@pytest.mark.parametrize("edge", ["s.out>n.in", "n.out>m.in", "m.out>k.in"])
def test_what_is_injected_in_mid_list_takes_its_turn(edge: str) -> None:
    """It overtakes nothing that was there before it, and no node is at two events at once."""
    running: list[int] = []

    def inject(session: Session) -> int:
        session.inject(edge, "injected")
        running.extend(node.running for node in session.snapshot().nodes.values())
        return MIDDLE

    listed = Listed(inject)

    listed.run()

    assert max(running) <= 1
    numbers = [*range(LENGTH)]
    if edge == "s.out>n.in":
        assert listed.seen == [*numbers, *numbers]
    else:
        assert [each for each in listed.seen if each != Token("injected")] == numbers
        assert listed.seen.count(Token("injected")) == 1


# Numbers ----------------------------------------------------------------------------------


def test_how_many_are_held_is_exact_whenever_an_operator_asks() -> None:
    """Every output that has yet to run has a place, and the event at hand has none."""
    looks: dict[str, int] = {}
    running: list[int] = []

    def look(text: str) -> None:
        snapshot = session.snapshot()
        if text[:1] != "w":
            looks[text] = snapshot.in_flight
        running.append(snapshot.nodes["n"].running)
        for node in snapshot.nodes.values():
            settled = node.processed + node.failed + node.cancelled
            assert node.received == settled + node.in_flight

    def fan(text: str) -> list[str]:
        look(text)
        return [text + part for part in "012"]  # the first of all are just to be seen once

    def take(text: str) -> None:
        look(text)

    builder = PlanBuilder(1).source("s", ["w", ""])
    builder.node("n", fan, max_outputs=3).node("m", fan, max_outputs=3)
    builder.node("o", fan, max_outputs=3).sink("k", take).chain("s", "n", "m", "o", "k")
    session = Session(builder.build())

    snapshot = run_virtual(session.run())

    check_books(snapshot)
    assert len(looks) == 1 + 3 + 9 + 27
    assert looks == {text: sum(2 - int(part) for part in text) for text in looks}
    assert snapshot.max_in_flight <= 2 + 2 + 3 + 1
    assert max(running) == 1


def test_a_long_list_leaves_each_turn_of_the_loop_to_others_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred thousand outputs, a microsecond each by the clock that the engine reads."""
    clock = itertools.count(1.0, 1e-6).__next__
    turns: list[float] = []
    seen: list[int] = []

    def turn() -> None:
        turns.append(clock())
        if len(seen) < 100_001:
            asyncio.get_running_loop().call_soon(turn)

    async def go() -> Snapshot:
        loop = asyncio.get_running_loop()
        RunList.of(loop).now = clock
        builder = PlanBuilder(1).source("s", [1, 100_000])
        builder.node("n", lambda length: [*range(length)], max_outputs=100_000)
        builder.sink("k", seen.append).chain("s", "n", "k")
        loop.call_soon(turn)
        return await Session(builder.build()).run()

    snapshot = asyncio.run(go())

    check_books(snapshot)
    assert seen == [0, *range(100_000)]
    longest = max(after - before for before, after in itertools.pairwise(turns))
    assert longest < 1.25 * runlist.BUDGET_S


def test_an_operator_that_takes_longer_than_a_new_limit_in_mid_list_is_too_late() -> None:
    """The limit that it has just been given holds for itself, as it does for one output."""
    clock = itertools.count(1.0, 1e-6).__next__

    async def go(listed: Listed) -> Snapshot:
        RunList.of(asyncio.get_running_loop()).now = clock
        return await listed.session.run()

    def tune(session: Session) -> int:
        session.tune("m", retry={"timeout_s": 1e-5})
        for _ in range(100):
            clock()
        return MIDDLE

    listed = Listed(tune)

    snapshot = asyncio.run(go(listed))

    check_books(snapshot)
    assert snapshot.phase == "failed"
    assert listed.seen == [0, 1, 2]
    assert snapshot.nodes["m"].failed == 1
