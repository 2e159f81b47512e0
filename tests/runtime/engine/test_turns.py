"""Turns: one conversation after the other's end, or barging in, and what never mixes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit, NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

Line = dict[str, Any]


def pulled(*outputs: Any) -> Callable[[Scope], Iterator[Any]]:
    """Return a stream that is a plain iterator over these."""
    return lambda scope: iter(outputs)


def awaited(*outputs: Any) -> Callable[[Scope], AsyncIterator[Any]]:
    """Return a stream that is an async iterator; a number is a wait of so many seconds."""

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        for output in outputs:
            if isinstance(output, float):
                await scope.sleep(output)
            else:
                yield output

    return stream


kinds = pytest.mark.parametrize("stream", [pulled, awaited])


class Noted:
    """A session whose log lines and whose sink's events are noted."""

    def __init__(self, builder: PlanBuilder) -> None:
        self.log: list[Line] = []
        self.session = Session(builder.build(), log=lambda line: self.log.append(json.loads(line)))

    def run(self, *asked: tuple[float, Callable[[Session], object]]) -> Snapshot:
        """Run to the end, asking something of the session at some times."""

        async def go() -> Snapshot:
            loop = asyncio.get_running_loop()
            for at, ask in asked:
                loop.call_later(at, ask, self.session)
            return await self.session.run()

        return run_virtual(go())

    def texts(self, node: str) -> list[tuple[int, int, str]]:
        """Return (turn, sequence, text) of a node's outputs, in order."""
        return [
            (line["turn"], line["sequence"], line["payload"]["text"])
            for line in self.log
            if line["record"] == "emitted" and line["node"] == node
        ]

    def ends(self, node: str) -> list[tuple[int, str]]:
        """Return (turn, terminal) as a node was told of them."""
        return [
            (line["turn"], line["terminal"])
            for line in self.log
            if line["record"] == "ended" and line["node"] == node
        ]


def slow(seconds: float) -> Callable[[Token, Scope], Any]:
    """Return an operator that takes so many seconds for each payload."""

    async def take(payload: Token, scope: Scope) -> Token:
        await scope.sleep(seconds)
        return payload

    return take


@kinds
def test_what_comes_after_the_mark_belongs_to_the_next_turn(stream: Any) -> None:
    """Its number is one higher, its sequence starts anew, and its sink is told of its end."""
    outputs = (Token("a"), Token("b"), NextTurn(), Token("c"), NextTurn(), Token("d"))
    builder = PlanBuilder(1).source("s", stream(*outputs)).node("n", slow(1.0))
    noted = Noted(builder.sink("k", slow(0.5)).chain("s", "n", "k"))

    snapshot = noted.run()

    assert noted.texts("n") == [(0, 0, "a"), (0, 1, "b"), (1, 0, "c"), (2, 0, "d")]
    for node in "snk":
        assert noted.ends(node) == [(0, "END"), (1, "END"), (2, "END")]
    assert snapshot.conversations == {"c1": "completed"}
    assert snapshot.turns == {"active": 0, "completed": 3}


@kinds
def test_without_barge_in_the_next_turn_waits_for_the_end_of_the_present(stream: Any) -> None:
    """Nothing of turn 1 leaves its source before turn 0 has ended at the sink."""
    builder = PlanBuilder(1).source("s", stream(Token("a"), Token("b"), NextTurn(), Token("c")))
    noted = Noted(builder.sink("k", slow(3.0)).edge("s", "k"))

    noted.run()

    lines = [line for line in noted.log if line["node"] == "k" or line["record"] == "emitted"]
    told = [(line["record"], line["turn"]) for line in lines]
    assert told.index(("emitted", 1)) > told.index(("ended", 0))


@kinds
def test_each_turn_begins_with_a_new_state(stream: Any) -> None:
    """What an operator kept of one turn is told in it, and not in the next."""

    def count(payload: Token, scope: Scope) -> None:
        scope.state.append(payload.text)

    def tell(scope: Scope) -> Token:
        return Token("+".join(scope.state))

    outputs = (Token("a"), Token("b"), NextTurn(), Token("c"))
    builder = PlanBuilder(1).source("s", stream(*outputs))
    builder.node("n", count, finish=tell, state=list, kept=9).sink("k", slow(0.1))
    noted = Noted(builder.chain("s", "n", "k"))

    noted.run()

    assert [(turn, text) for turn, _, text in noted.texts("n")] == [(0, "a+b"), (1, "c")]


def barging(*, at: float) -> tuple[Any, ...]:
    """Return a turn of five tokens, the next of one that barges in at a time."""
    return (*(Token(f"old{i}") for i in range(5)), at, NextTurn(barge_in=True), Token("new"))


def test_a_barge_in_cancels_the_present_turn_and_opens_the_next_at_once() -> None:
    """What was being said stops, what waited is purged, and the new turn is there at once."""
    said: list[tuple[float, str]] = []

    async def say(payload: Token, scope: Scope) -> None:
        said.append((scope.clock.now(), payload.text))
        await scope.sleep(2.0)
        said.append((scope.clock.now(), f"{payload.text} over"))

    builder = PlanBuilder(1).source("s", awaited(*barging(at=3.0)))
    noted = Noted(builder.sink("k", say, queue_capacity=8).edge("s", "k"))

    snapshot = noted.run()

    assert said == [
        (0.0, "old0"),
        (2.0, "old0 over"),
        (2.0, "old1"),
        (3.0, "new"),
        (5.0, "new over"),
    ]
    assert noted.ends("k") == [(0, "CANCEL"), (1, "END")]
    assert snapshot.conversations == {"c1": "completed"}
    assert snapshot.turns == {"active": 0, "cancelled": 1, "completed": 1}
    assert snapshot.nodes["k"].cancelled == 4


def test_a_barge_in_reaches_a_source_that_waits_for_room() -> None:
    """Another branch's full queue holds nothing of the old turn back."""
    outputs = (*(Token(f"old{i}") for i in range(9)), NextTurn(barge_in=True), Token("new"))
    builder = PlanBuilder(1).source("s", pulled(*outputs))
    noted = Noted(builder.sink("k", slow(1.0), queue_capacity=1).edge("s", "k"))

    snapshot = noted.run()

    assert snapshot.phase == "completed"
    assert snapshot.in_flight == 0
    assert noted.texts("s")[-1] == (1, 0, "new")


def test_nothing_late_of_an_old_turn_reaches_the_new_one() -> None:
    """An operator that swallows its cancellation returns into the turn that is over."""

    async def deaf(payload: Token, scope: Scope) -> Token:
        end = scope.clock.now() + 4.0
        while scope.clock.now() < end:
            try:
                await scope.sleep_until(end)
            except asyncio.CancelledError:
                continue
        return payload

    stream = awaited(Token("old"), 1.0, NextTurn(barge_in=True), Token("new"))
    builder = PlanBuilder(1).source("s", stream).node("n", deaf, workers=2)
    noted = Noted(builder.sink("k", slow(0.1)).chain("s", "n", "k"))

    snapshot = noted.run()

    assert noted.texts("n") == [(1, 0, "new")]
    assert snapshot.conversations == {"c1": "completed"}
    assert snapshot.nodes["n"].cancelled == 1


def test_a_store_is_never_there_twice_for_one_conversation() -> None:
    """The next turn waits until the old one has left the node that keeps events back."""
    lasts: list[float] = []

    async def keep(payload: Token, scope: Scope) -> Token:
        try:
            await scope.sleep(5.0)
        except asyncio.CancelledError:
            await scope.sleep(2.0)  # it takes its time to end
            raise
        return payload

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        yield Token("old")
        await scope.sleep(1.0)
        yield NextTurn(barge_in=True)
        lasts.append(scope.clock.now())
        yield Token("new")

    builder = PlanBuilder(1).source("s", stream).node("n", keep, kept=3, workers=2)
    Noted(builder.sink("k", slow(0.1)).chain("s", "n", "k")).run()

    assert lasts == [3.0]


def test_whoever_barges_in_again_and_again_waits_for_the_first_to_end() -> None:
    """No more than two turns of a conversation are open at once, whatever is stuck."""

    async def sluggish(payload: Token, scope: Scope) -> None:
        try:
            await scope.sleep(90.0)
        except asyncio.CancelledError:
            await scope.sleep(10.0)
            raise

    most = 0

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        nonlocal most
        for number in range(6):
            yield Token(str(number))
            await scope.sleep(1.0)
            most = max(most, len(noted.session._conversations.turns()))
            yield NextTurn(barge_in=True)

    builder = PlanBuilder(1).source("s", stream)
    noted = Noted(builder.sink("k", sluggish, workers=8).edge("s", "k"))

    snapshot = noted.run()

    assert most == 2
    assert snapshot.conversations == {"c1": "completed"}
    assert snapshot.turns["cancelled"] == 6


def test_another_source_of_the_turn_does_not_go_on_by_itself() -> None:
    """Only who has asked for the next turn streams into it; its other lanes are not there."""
    builder = PlanBuilder(1).source("a", pulled(Token("a0"), NextTurn(), Token("a1")))
    builder.source("b", pulled(Token("b0"))).sink("x", slow(1.0)).sink("y", slow(1.0))
    noted = Noted(builder.edge("a", "x").edge("b", "x").edge("b", "y"))

    snapshot = noted.run()

    assert noted.texts("a") == [(0, 0, "a0"), (1, 0, "a1")]
    assert noted.ends("x") == [(0, "END"), (1, "END")]
    assert noted.ends("y") == [(0, "END")]
    assert snapshot.phase == "completed"


def test_two_sources_that_ask_for_it_go_on_together() -> None:
    """The next turn opens once, with both, when the present has ended."""
    builder = PlanBuilder(1).source("a", awaited(Token("a0"), NextTurn(), Token("a1")))
    builder.source("b", awaited(Token("b0"), 2.0, NextTurn(), Token("b1"))).sink("k", slow(0.1))
    noted = Noted(builder.edge("a", "k").edge("b", "k"))

    snapshot = noted.run()

    assert snapshot.turns == {"active": 0, "completed": 2}
    assert noted.ends("k") == [(0, "END"), (1, "END")]


def test_a_failed_turn_is_the_last() -> None:
    """An error ends the conversation: its stream is closed and asked for nothing more."""
    closed: list[str] = []

    def stream(scope: Scope) -> Iterator[Any]:
        try:
            yield Token("a")
            yield NextTurn()
            yield Token("b")
        finally:
            closed.append(scope.conversation)

    async def fails(payload: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        raise ValueError("no")

    builder = PlanBuilder(1).source("s", stream).sink("k", fails)
    noted = Noted(builder.edge("s", "k"))

    snapshot = noted.run()

    assert snapshot.conversations == {"c1": "failed"}
    assert closed == ["c1"]
    assert noted.texts("s") == [(0, 0, "a")]


@pytest.mark.parametrize("turn", [None, 0])
def test_a_cancel_while_the_source_is_done_with_its_turn(turn: int | None) -> None:
    """Of one turn it leaves the conversation going; of the conversation it ends it."""
    builder = PlanBuilder(1).source("s", awaited(Token("a"), NextTurn(), Token("b")))
    noted = Noted(builder.sink("k", slow(9.0)).edge("s", "k"))

    snapshot = noted.run((1.0, lambda session: session.cancel("c1", turn)))

    if turn is None:
        assert snapshot.conversations == {"c1": "cancelled"}
        assert noted.texts("s") == [(0, 0, "a")]
    else:
        assert snapshot.conversations == {"c1": "completed"}
        assert noted.texts("s") == [(0, 0, "a"), (1, 0, "b")]
    assert noted.ends("k")[0] == (0, "CANCEL")


def test_a_turn_can_be_cancelled_before_it_begins() -> None:
    """A stream that does not take turns ends with it; the turns before are as they were."""
    outputs = (Token("a"), NextTurn(), Token("b"), NextTurn(), Token("c"))
    builder = PlanBuilder(1).source("s", awaited(*outputs)).sink("k", slow(1.0))
    noted = Noted(builder.edge("s", "k"))
    assert noted.session.cancel("c1", 1)

    snapshot = noted.run()

    assert noted.texts("s") == [(0, 0, "a")]
    assert noted.ends("k") == [(0, "END"), (1, "CANCEL")]
    assert snapshot.conversations == {"c1": "cancelled"}


@pytest.mark.parametrize("when", [None, 0.05, 1.5])
def test_a_source_that_takes_turns_outlives_the_cancel_of_one(when: float | None) -> None:
    """What it still yields of that turn is discarded, and its next turn is whole."""
    outputs = (Token("a"), NextTurn(), 1.0, Token("b"), 1.0, Token("b"), NextTurn(), Token("c"))
    builder = PlanBuilder(1).source("s", awaited(*outputs), takes_turns=True)
    noted = Noted(builder.sink("k", slow(0.1)).edge("s", "k"))
    if when is None:
        assert noted.session.cancel("c1", 1)

    snapshot = noted.run((when or 9.0, lambda session: session.cancel("c1", 1)))

    assert noted.texts("s")[-1] == (2, 0, "c")
    assert noted.ends("k") == [(0, "END"), (1, "CANCEL"), (2, "END")]
    assert snapshot.conversations == {"c1": "completed"}
    assert snapshot.in_flight == 0


@pytest.mark.parametrize("ask", [Session.stop, Session.drain])
@pytest.mark.parametrize("at", [0.5, 1.5, 3.5])
def test_no_turn_begins_after_the_end_was_asked_for(
    ask: Callable[[Session], object], at: float
) -> None:
    """Drain lets what is inside come out; neither asks the source for another turn."""
    outputs = (Token("a"), NextTurn(), 2.0, NextTurn(barge_in=True), Token("b"))
    builder = PlanBuilder(1).source("s", awaited(*outputs)).sink("k", slow(1.0))
    noted = Noted(builder.edge("s", "k"))

    snapshot = noted.run((at, ask))

    assert snapshot.phase in ("completed", "cancelled")
    assert (snapshot.phase == "completed") is (ask is Session.drain)
    assert snapshot.in_flight == 0
    assert (2, 0, "b") not in noted.texts("s") or at > 3.0


def test_the_time_to_the_first_payload_is_taken_in_each_turn() -> None:
    """The smallest counts, as everywhere."""
    stream = awaited(2.0, Token("a"), NextTurn(), 1.0, Token("b"), NextTurn(), 3.0, Token("c"))
    builder = PlanBuilder(1).source("s", stream).sink("k", slow(0.0))

    assert Noted(builder.edge("s", "k")).run().ttfpt_ms == pytest.approx(1000.0)


def test_the_mark_is_no_payload() -> None:
    """An operator that yields it is told so, and so is a source that puts it into an Emit."""
    middle = PlanBuilder(1).source("s", [Token("a")]).node("n", lambda _: NextTurn())
    wrapped = PlanBuilder(1).source("s", [Emit("out", NextTurn())])

    for builder in (middle.sink("k", slow(0.0)).chain("s", "n", "k"),
                    wrapped.sink("k", slow(0.0)).edge("s", "k")):  # fmt: skip
        snapshot = Noted(builder).run()

        assert snapshot.phase == "failed"
        assert "only the stream of a source may yield" in (snapshot.error or "")


def test_the_scope_of_a_source_stands_in_the_turn_that_goes_on() -> None:
    """Its number, its marks and its chance are those of the new turn."""
    seen: list[tuple[int, float]] = []

    def stream(scope: Scope) -> Iterator[Any]:
        for _ in range(2):
            seen.append((scope.turn, scope.random.random()))
            yield Token("x")
            yield NextTurn()

    builder = PlanBuilder(1).source("s", stream).sink("k", slow(0.0))
    Noted(builder.edge("s", "k")).run()

    assert [turn for turn, _ in seen] == [0, 1]
    assert seen[0][1] != seen[1][1]


def test_conversations_take_their_turns_beside_one_another() -> None:
    """Each goes from turn to turn by itself, and no place is left behind."""

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        for number in range(4):
            yield Token(f"{scope.conversation} {number}")
            await scope.sleep(0.1 * scope.number)
            yield NextTurn(barge_in=bool(number % 2))

    builder = PlanBuilder(3).source("s", stream, conversations=5)
    builder.node("n", slow(0.15), queue_capacity=4).sink("k", slow(0.05), queue_capacity=4)
    noted = Noted(builder.chain("s", "n", "k"))

    snapshot = noted.run()

    assert set(snapshot.conversations.values()) == {"completed"}
    assert sum(snapshot.turns.values()) == 25
    assert snapshot.in_flight == 0
    assert all(guardian.unasked == 1 for guardian in noted.session._guardians.values())
