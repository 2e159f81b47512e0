"""What a cancelled turn does at a node: propagate, drain, shield, and mixtures along a path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import LAST_CHANCE_S, Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


def slow(seconds: float) -> Callable[[Token, Scope], Any]:
    """Return an operator that takes so many seconds for each payload."""

    async def take(payload: Token, scope: Scope) -> Token:
        await scope.sleep(seconds)
        return payload

    return take


class Noted:
    """A session on the virtual clock, and its log."""

    def __init__(self, builder: PlanBuilder, **more: Any) -> None:
        self.log: list[dict[str, Any]] = []
        self.session = Session(
            builder.build(), log=lambda line: self.log.append(json.loads(line)), **more
        )
        self.took_s = 0.0

    def run(self, at: float, ask: Callable[[Session], object]) -> Snapshot:
        """Run to the end, asking something of the session at a time."""

        async def go() -> Snapshot:
            loop = asyncio.get_running_loop()
            loop.call_later(at, ask, self.session)
            snapshot = await self.session.run()
            self.took_s = loop.time()
            return snapshot

        return run_virtual(go())

    def outcomes(self, node: str) -> dict[str, int]:
        """Return how many events a node settled in which way."""
        found: dict[str, int] = {}
        for line in self.log:
            if line["record"] == "settled" and line["node"] == node:
                found[line["outcome"]] = found.get(line["outcome"], 0) + 1
        return found

    def ends(self, node: str) -> list[tuple[int, str]]:
        """Return (turn, terminal) as a node was told of them."""
        return [
            (line["turn"], line["terminal"])
            for line in self.log
            if line["record"] == "ended" and line["node"] == node
        ]


def cancel(session: Session) -> object:
    """Cancel the first conversation."""
    return session.cancel("c1")


@pytest.mark.parametrize(("mode", "worked_on"), [("propagate", 2), ("drain", 5), ("shield", 5)])
def test_what_has_been_taken_in_is_worked_on_but_where_it_propagates(
    mode: str, worked_on: int
) -> None:
    """At 2.5 s two are done, one is at work and two wait; the source has nothing in hand."""
    builder = PlanBuilder(1).source("s", tokens(5))
    noted = Noted(builder.sink("k", slow(1.0), queue_capacity=8, cancel=mode).edge("s", "k"))

    snapshot = noted.run(2.5, cancel)

    assert noted.outcomes("k").get("processed") == worked_on
    assert noted.outcomes("k").get("cancelled", 0) == 5 - worked_on
    assert noted.ends("k") == [(0, "CANCEL")]
    assert snapshot.in_flight == 0


def path(upstream: str, downstream: str) -> PlanBuilder:
    """Return s → n → k, where n and k take a second each and hold four events each."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for token in tokens(40):
            yield token
        await scope.sleep(60.0)

    builder = PlanBuilder(1).source("s", stream)
    builder.node("n", slow(1.0), queue_capacity=4, cancel=upstream)
    builder.sink("k", slow(3.0), queue_capacity=4, cancel=downstream)
    return builder.chain("s", "n", "k")


@pytest.mark.parametrize("upstream", ["propagate", "drain", "shield"])
@pytest.mark.parametrize("downstream", ["propagate", "drain", "shield"])
def test_modes_of_two_nodes_on_a_path_do_not_mix(upstream: str, downstream: str) -> None:
    """Each does with its own events what it says, and CANCEL comes once, behind them."""
    noted = Noted(path(upstream, downstream))

    # At 20.5 s both queues are full, both are at work, and n waits with one in its hand.
    snapshot = noted.run(20.5, cancel)

    before = {node: _processed(noted, node, until=20.5) for node in "nk"}
    after = {node: _processed(noted, node) - before[node] for node in "nk"}
    # n holds four, and one at its worker whose output waits for room.
    assert after["n"] == (0 if upstream == "propagate" else 5)
    # k has one at work and four in its queue; what n finishes arrives after the cancel.
    arrives = 0 if upstream == "propagate" else 5
    assert after["k"] == {"propagate": 0, "drain": 5, "shield": 5 + arrives}[downstream]
    assert noted.ends("n") == noted.ends("k") == [(0, "CANCEL")]
    assert _last(noted, "n") == _last(noted, "k") == "ended"
    assert snapshot.conversations == {"c1": "cancelled"}
    assert snapshot.in_flight == 0


def _processed(noted: Noted, node: str, until: float = 1e9) -> int:
    return sum(
        line["node"] == node and line.get("outcome") == "processed" and line["at"] < until
        for line in noted.log
        if line["record"] == "settled"
    )


def _last(noted: Noted, node: str) -> str:
    records = [
        line["record"]
        for line in noted.log
        if line["node"] == node and line.get("outcome") != "cancelled"
    ]
    return str(records[-1])


@pytest.mark.parametrize(
    ("mode", "told"), [("propagate", []), ("drain", ["0+1+2"]), ("shield", ["0+1+2"])]
)
def test_what_is_kept_was_taken_in_and_is_told(mode: str, told: list[str]) -> None:
    """A node that finishes its events tells what it keeps of them too, then CANCEL passes on."""
    said: list[str] = []

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for token in tokens(3):
            yield token
        await scope.sleep(60.0)

    def keep(payload: Token, scope: Scope) -> None:
        scope.state.append(payload.text)

    def tell(scope: Scope) -> Token:
        return Token("+".join(scope.state))

    builder = PlanBuilder(1).source("s", stream)
    builder.node("n", keep, finish=tell, state=list, kept=9, cancel=mode)
    builder.sink("k", lambda payload: said.append(payload.text), cancel="shield")
    noted = Noted(builder.chain("s", "n", "k"))

    noted.run(1.0, cancel)

    assert said == told
    assert noted.ends("n") == noted.ends("k") == [(0, "CANCEL")]


@pytest.mark.parametrize("is_last", [False, True])
def test_a_cancel_from_within_an_operator_lets_nothing_more_in_there(is_last: bool) -> None:
    """The place that its own event leaves is not for one that waits behind it."""
    session: Session

    def cancels(token: Token, scope: Scope) -> None:
        if token.text == "2":
            session.cancel("c1")

    builder = PlanBuilder(1).source("s", tokens(9)).node("n", lambda token: token)
    builder.sink("k", cancels, queue_capacity=1, service_time_s=1.0).edge("n", "k")
    noted = Noted(builder.edge("s", "n") if is_last else builder.edge("s", "n").edge("s", "k"))
    session = noted.session

    noted.run(0.5, lambda _: None)

    cancelled_at = max(line["at"] for line in noted.log)
    left = [line for line in noted.log if line["record"] == "emitted" and line["node"] == "n"]
    assert all(line["at"] < cancelled_at for line in left)


@pytest.mark.parametrize(("mode", "left"), [("propagate", 0), ("drain", 1)])
def test_a_source_that_drains_lets_go_of_what_is_in_its_hand(mode: str, left: int) -> None:
    """Its one event was there before the cancel; it is asked for no more."""
    asked: list[str] = []

    def stream(scope: Scope) -> Iterator[Token]:
        for token in tokens(99):
            asked.append(token.text)
            yield token

    builder = PlanBuilder(1).source("s", stream, cancel=mode)
    builder.sink("k", slow(1.0), queue_capacity=2, cancel="shield").edge("s", "k")
    noted = Noted(builder)

    snapshot = noted.run(0.5, cancel)

    assert len(asked) == 4
    assert snapshot.nodes["s"].cancelled == 1 - left
    assert snapshot.nodes["k"].processed == 3 + left


@pytest.mark.parametrize("is_awaiting", [False, True])
@pytest.mark.parametrize(("mode", "left"), [("propagate", 0), ("drain", 1)])
def test_a_cancel_from_within_an_operator_finds_the_hand_of_a_source_too(
    mode: str, left: int, is_awaiting: bool
) -> None:
    """What waits for the place that the operator leaves is let in where the source drains."""
    worked_on: list[str] = []
    session: Session

    def cancels(token: Token) -> None:
        worked_on.append(token.text)
        if token.text == "0":
            session.cancel("c1")

    async def waits(token: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        cancels(token)

    builder = PlanBuilder(1).source("s", tokens(9), cancel=mode)
    builder.sink(
        "k",
        waits if is_awaiting else cancels,
        queue_capacity=1,
        cancel="shield",
        service_time_s=None if is_awaiting else 1.0,
    )
    noted = Noted(builder.edge("s", "k"))
    session = noted.session

    snapshot = noted.run(0.5, lambda _: None)

    assert worked_on == ["0", "1", "2"][: 2 + left]
    assert snapshot.nodes["s"].emitted == 2 + left
    assert snapshot.nodes["s"].cancelled == 1 - left


def test_a_shielded_node_sees_the_end_of_what_a_draining_one_still_sends() -> None:
    """Beside a node that is purged at once; the two branches end as each of them says."""
    builder = PlanBuilder(1).source("s", tokens(6)).node("n", slow(1.0), cancel="drain")
    builder.sink("purged", slow(1.0), queue_capacity=8)
    builder.sink("whole", slow(1.0), queue_capacity=8, cancel="shield")
    noted = Noted(builder.edge("s", "n").edge("n", "purged").edge("n", "whole"))

    snapshot = noted.run(1.5, cancel)

    assert snapshot.nodes["n"].processed == snapshot.nodes["whole"].processed == 6
    assert snapshot.nodes["purged"].processed == 0
    assert snapshot.nodes["purged"].cancelled == 6


def test_a_barge_in_waits_its_turn_at_a_node_that_drains() -> None:
    """What was to be said of the old turn is said first; the two are never mixed up."""
    said: list[str] = []

    async def say(payload: Token, scope: Scope) -> None:
        said.append(payload.text)
        await scope.sleep(1.0)

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        for text in ("a0", "a1", "a2", "a3"):
            yield Token(text)
        await scope.sleep(0.5)
        yield NextTurn(barge_in=True)
        for text in ("b0", "b1"):
            yield Token(text)

    builder = PlanBuilder(1).source("s", stream)
    noted = Noted(builder.sink("k", say, queue_capacity=8, cancel="drain").edge("s", "k"))

    snapshot = noted.run(99.0, cancel)

    assert said == ["a0", "a1", "a2", "a3", "b0", "b1"]
    assert noted.ends("k") == [(0, "CANCEL"), (1, "END")]
    assert snapshot.turns == {"active": 0, "cancelled": 1, "completed": 1}


@pytest.mark.parametrize("mode", ["drain", "shield"])
def test_stop_ends_what_drains_at_its_deadline(mode: str) -> None:
    """Nodes that go on have until then; an operator that reacts ends in its last chance."""
    builder = PlanBuilder(1).source("s", tokens(9))
    builder.sink("k", slow(4.0), queue_capacity=8, cancel=mode).edge("s", "k")
    noted = Noted(builder, stop_deadline_s=6.0)

    snapshot = noted.run(1.0, Session.stop)

    assert noted.outcomes("k") == {"processed": 1, "cancelled": 8}
    assert noted.took_s == pytest.approx(7.0)
    assert snapshot.phase == "cancelled"
    assert snapshot.error is None


def test_who_does_not_end_in_its_last_chance_is_reported() -> None:
    """A draining operator that swallows the cancel is left behind and named."""

    async def deaf(payload: Token, scope: Scope) -> None:
        end = scope.clock.now() + 50.0
        while scope.clock.now() < end:
            try:
                await scope.sleep_until(end)
            except asyncio.CancelledError:
                continue

    builder = PlanBuilder(1).source("s", tokens(1)).sink("k", deaf, cancel="drain").edge("s", "k")
    noted = Noted(builder, stop_deadline_s=6.0)

    async def go() -> tuple[Snapshot, float]:
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, noted.session.stop)
        snapshot = await noted.session.run()
        ended_at = loop.time()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        return snapshot, ended_at

    snapshot, ended_at = run_virtual(go())

    assert ended_at == pytest.approx(7.0 + LAST_CHANCE_S)
    assert snapshot.error is not None
    assert "node k did not end" in snapshot.error


def test_an_error_while_it_drains_does_not_flip_the_turn() -> None:
    """The turn was cancelled, and stays so; ERROR passes on where it happened."""

    async def fails(payload: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        if payload.text == "2":
            raise ValueError("too late to matter")

    builder = PlanBuilder(1).source("s", tokens(5))
    noted = Noted(builder.sink("k", fails, queue_capacity=8, cancel="drain").edge("s", "k"))

    snapshot = noted.run(0.5, cancel)

    assert snapshot.conversations == {"c1": "cancelled"}
    assert snapshot.error is None
    assert noted.outcomes("k") == {"processed": 2, "failed": 1, "cancelled": 2}
    assert noted.ends("k") == [(0, "ERROR")]
