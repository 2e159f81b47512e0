"""Ends, failures and deadlocks: what each node hears, exactly once, and what a hang is called."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.events import Message, Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

POLICIES = [
    {"queue_capacity": q, "workers": k, "reorder_capacity": r, "overflow": o}
    for q, k, r, o in [
        (1, 1, 0, "block"),
        (8, 1, 0, "block"),
        (2, 3, 0, "block"),
        (2, 3, 2, "block"),
        (1, 2, 1, "drop_newest"),
        (1, 1, 0, "drop_oldest"),
    ]
]


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


async def slow(payload: Any, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


def run(builder: PlanBuilder, **more: Any) -> tuple[Session, list[dict[str, Any]]]:
    """Run a plan on the virtual clock; return the session and its log."""
    lines: list[str] = []
    session = Session(builder.build(), log=lines.append, **more)
    run_virtual(session.run())
    return session, [json.loads(line) for line in lines]


def ends(log: list[dict[str, Any]], node: str) -> list[str]:
    """Return what a node was told at the end of each turn."""
    return [line["terminal"] for line in log if line["record"] == "ended" and line["node"] == node]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_turn_without_events_ends_all_the_same(policy: dict[str, Any]) -> None:
    """Exactly one END at every node, also for zero items (rules 1.4 and 1.5)."""
    builder = PlanBuilder(1).source("s", []).node("n", lambda payload: payload, **policy)

    session, log = run(builder.sink("k", slow, **policy).chain("s", "n", "k"))

    assert session.status.phase == "completed"
    assert [ends(log, node) for node in "snk"] == [["END"]] * 3


@pytest.mark.parametrize("policy", POLICIES)
def test_the_end_comes_after_the_data_and_needs_no_place_in_the_queue(
    policy: dict[str, Any],
) -> None:
    """A full queue neither blocks nor drops it (rules 2.9 and 2.10; deer-flow issue 1689)."""
    builder = PlanBuilder(1).source("s", tokens(9)).sink("k", slow, **policy).edge("s", "k")

    session, log = run(builder)

    assert session.status.phase == "completed"
    assert ends(log, "k") == ["END"]
    last = [line for line in log if line["node"] == "k"][-1]
    assert last["record"] == "ended"


@pytest.mark.parametrize("policy", POLICIES)
def test_every_branch_of_a_strict_broadcast_gets_the_same_in_the_same_order(
    policy: dict[str, Any],
) -> None:
    """Whatever asks for it at which pace (rule 1.11), where nothing may be dropped."""
    seen: dict[str, list[str]] = {"a": [], "b": [], "c": []}

    def paced(pace_s: float) -> Callable[[Message, Scope], Any]:
        async def take(message: Message, scope: Scope) -> None:
            seen[scope.node].append(message.text)
            await scope.sleep(pace_s)

        return take

    builder = PlanBuilder(1).source("s", [Message(str(number)) for number in range(12)])
    policy = {**policy, "workers": 1}
    builder.sink("a", paced(1.0), **policy).sink("b", paced(0.1), **policy)
    builder.sink("c", lambda message, scope: seen["c"].append(message.text), **policy)

    run(builder.edge("s", "a").edge("s", "b").edge("s", "c"))

    assert seen["a"] == seen["b"] == seen["c"] == [str(number) for number in range(12)]


def test_a_filter_in_one_branch_of_a_diamond_does_not_stop_the_other() -> None:
    """What a branch swallows is settled, and the merge ends when both have."""
    seen: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(40))
    builder.node("few", lambda t: t if int(t.text) % 20 == 0 else None, queue_capacity=1)
    builder.node("all", lambda t: t, queue_capacity=1)
    builder.sink("k", lambda t: seen.append(t.text), queue_capacity=1)
    builder.edge("s", "few").edge("s", "all").edge("few", "k").edge("all", "k")

    session, log = run(builder)

    assert len(seen) == 42
    assert ends(log, "k") == ["END"]
    assert session.status.phase == "completed"


def test_what_an_operator_keeps_is_told_before_the_end_passes_on() -> None:
    """finish() is called once, after the data, and its outputs come before END."""

    def keep(token: Token, scope: Scope) -> None:
        scope.state.append(token.text)

    def tell(scope: Scope) -> Message:
        return Message("".join(scope.state))

    seen: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(4), conversations=2)
    builder.node("n", keep, finish=tell, state=list, kept=4)
    _, log = run(builder.sink("k", lambda m: seen.append(m.text)).chain("s", "n", "k"))

    assert seen == ["0123", "0123"]
    assert ends(log, "n") == ["END", "END"]


def test_an_operator_is_not_asked_for_what_it_kept_after_an_error() -> None:
    """Half a message is worse than none: the error passes on alone."""

    def stream(scope: Scope) -> Iterator[Token]:
        yield Token("half a ")
        raise ConnectionError("the provider is gone")

    seen: list[Any] = []
    builder = PlanBuilder(1).source("s", stream)
    builder.node("n", lambda t, s: None, finish=lambda scope: Message("half"))

    session, log = run(builder.sink("k", seen.append).chain("s", "n", "k"))

    assert seen == []
    assert ends(log, "k") == ["ERROR"]
    assert session.status.reason == (
        "node s failed in conversation c1: ConnectionError: the provider is gone"
    )


def test_what_was_read_before_a_source_failed_is_still_worked_on() -> None:
    """The error comes after the data, at every node."""

    def stream(scope: Scope) -> Iterator[Token]:
        yield from tokens(7)
        raise ConnectionError("gone")

    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        seen.append(token.text)

    builder = PlanBuilder(1).source("s", stream).sink("k", take, queue_capacity=8).edge("s", "k")

    _, log = run(builder)

    assert seen == list("0123456")
    assert ends(log, "k") == ["ERROR"]


def test_a_source_whose_stream_cannot_be_opened_fails_its_conversation_only() -> None:
    """Set-up failure arrives as an end, not as a raise at the start (rule 1.9)."""

    def stream(scope: Scope) -> Iterator[Token]:
        if scope.conversation == "c1":
            raise OSError("no such file")
        return iter(tokens(1))

    builder = PlanBuilder(2).source("s", stream, conversations=2).sink("k", slow).edge("s", "k")

    session, log = run(builder)

    assert session.snapshot().conversations == {"c1": "failed", "c2": "completed"}
    assert sorted(ends(log, "k")) == ["END", "ERROR"]


def test_a_failing_branch_ends_the_source_and_lets_the_other_branch_finish() -> None:
    """One conversation, one error; what the healthy branch has is processed."""
    seen: list[str] = []

    def fails(token: Token) -> None:
        if token.text == "3":
            raise ValueError("three")

    async def take(token: Token, scope: Scope) -> None:
        await scope.sleep(0.1)
        seen.append(token.text)

    builder = PlanBuilder(1).source("s", tokens(1_000)).sink("bad", fails)
    builder.sink("good", take, queue_capacity=4).edge("s", "good").edge("s", "bad")

    session, log = run(builder)

    assert session.status.phase == "failed"
    assert seen[:4] == list("0123")
    assert len(seen) < 20
    assert ends(log, "bad") == ends(log, "good") == ["ERROR"]
    assert session.snapshot().nodes["bad"].failed == 1


def test_a_cancel_outruns_the_data_and_reaches_every_node_once() -> None:
    """Deliveries stop at once (rules 1.8 and 3.12), cancel again is nothing (3.5 to 3.7)."""
    begun: list[float] = []

    async def take(token: Token, scope: Scope) -> None:
        begun.append(scope.clock.now())
        await scope.sleep(1.0)

    async def go() -> tuple[Session, list[dict[str, Any]]]:
        lines: list[str] = []
        builder = PlanBuilder(1).source("s", tokens(50)).node("n", lambda t: t)
        builder.sink("k", take, queue_capacity=8).chain("s", "n", "k")
        session = Session(builder.build(), log=lines.append)
        loop = asyncio.get_running_loop()
        loop.call_later(3.5, session.cancel, "c1")
        loop.call_later(3.5, session.cancel, "c1")
        await session.run()
        return session, [json.loads(line) for line in lines]

    session, log = run_virtual(go())

    assert session.snapshot().at == pytest.approx(3.5)
    assert max(begun) == pytest.approx(3.0)
    assert [ends(log, node) for node in "nk"] == [["CANCEL"]] * 2
    assert session.snapshot().conversations == {"c1": "cancelled"}


def test_guardians_that_wait_for_one_another_are_named() -> None:
    """The engine does not hang in silence, and no queue grows to escape."""

    async def back(token: Token, scope: Scope) -> Token:
        await scope.sleep(0.1)
        return token

    builder = PlanBuilder(1).source("s", tokens(20)).node("a", lambda t: t, queue_capacity=1)
    builder.node("b", back, queue_capacity=1).edge("s", "a").edge("a", "b").edge("b", "a")

    session, _ = run(builder)

    assert session.status.phase == "failed"
    assert session.status.reason.startswith("deadlock: a waits for b waits for a (")
    assert session.snapshot().in_flight == 0


def test_nodes_that_wait_for_one_anothers_end_are_named() -> None:
    """A ring without an event in it is told too."""

    async def swallow(token: Token, scope: Scope) -> None:
        await scope.sleep(0.1)

    builder = PlanBuilder(1).source("s", tokens(2)).node("a", lambda t: t)
    builder.node("b", swallow).edge("s", "a").edge("a", "b").edge("b", "a")

    session, _ = run(builder)

    assert "each waits for the end of the turn" in session.status.reason


def test_an_operator_that_takes_its_time_is_no_deadlock() -> None:
    """Everything waits for it, and is right to."""

    async def wait(token: Token, scope: Scope) -> None:
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(3_600.0, done.set_result, None)
        await done

    builder = PlanBuilder(1).source("s", tokens(5)).node("a", lambda t: t, queue_capacity=1)

    session, _ = run(builder.sink("k", wait, queue_capacity=1).chain("s", "a", "k"))

    assert session.status.phase == "completed"


def test_a_source_that_waits_is_no_deadlock() -> None:
    """Silence of a provider is not a ring."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        await scope.sleep(3_600.0)
        yield Token("late")

    session, _ = run(PlanBuilder(1).source("s", stream).sink("k", slow).edge("s", "k"))

    assert session.status.phase == "completed"


def test_emissions_of_one_node_are_never_concurrent() -> None:
    """For one turn a node's outputs are made and sent one after the other (rule 1.3)."""
    busy = 0

    async def take(token: Token, scope: Scope) -> None:
        nonlocal busy
        busy += 1
        assert busy == 1
        await scope.sleep(0.1)
        busy -= 1

    builder = PlanBuilder(1).source("s", tokens(12)).node("n", lambda t: [t, t], max_outputs=2)

    session, _ = run(builder.sink("k", take, queue_capacity=3).chain("s", "n", "k"))

    assert session.status.phase == "completed"
