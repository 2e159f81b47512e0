"""Tests of `aiflow.engine.partitions`: one at a time for each key, and none waits for another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

BY_USER: dict[str, Any] = {"state_mode": "partitioned", "partition_key": "user.name"}


def said(users: str) -> list[dict[str, Any]]:
    """Return one payload for each letter, which is its user; `number` counts them."""
    return [{"user": {"name": user}, "number": number} for number, user in enumerate(users)]


def spoken(payload: dict[str, Any]) -> str:
    """Return a payload as it was written."""
    return f"{payload['user']['name']}{payload['number']}"


def run(builder: PlanBuilder) -> Snapshot:
    """Run a plan on the virtual clock and return its last snapshot."""
    return run_virtual(Session(builder.build()).run())


class Watched:
    """An operator that takes a time for each user, counts them in its state and is looked at."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.began: list[str] = []

    async def process(self, payload: dict[str, Any], scope: Scope) -> tuple[str, int]:
        """Return what was said and how much the user has said so far."""
        user = payload["user"]["name"]
        for who in (user, "all"):
            self.running[who] += 1
            self.most[who] = max(self.most[who], self.running[who])
        self.began.append(spoken(payload))
        seen = scope.state["seen"]
        await scope.sleep(self.seconds.get(user, 1.0))
        scope.state["seen"] = seen + 1
        for who in (user, "all"):
            self.running[who] -= 1
        return spoken(payload), seen + 1


def outputs(watched: Watched, users: str, **policy: Any) -> list[tuple[str, int]]:
    """Run what users say through a watched operator."""
    seen: list[tuple[str, int]] = []
    builder = PlanBuilder().source("s", said(users))
    builder.node("n", watched.process, state=lambda: {"seen": 0}, **BY_USER | policy)
    snapshot = run(builder.sink("k", seen.append).chain("s", "n", "k"))
    assert snapshot.phase == "completed", snapshot.error
    return seen


def test_each_key_has_a_state_of_its_own_and_one_at_work() -> None:
    """Two events of one user would tear its count apart."""
    watched = Watched()

    seen = outputs(watched, "abab", workers=4)

    assert sorted(seen) == [("a0", 1), ("a2", 2), ("b1", 1), ("b3", 2)]
    assert watched.most == {"a": 1, "b": 1, "all": 2}


@pytest.mark.parametrize("reorder", [0, 2])
def test_a_busy_key_stops_no_other(reorder: int) -> None:
    """One stalled key starved all others in pulsar 25706."""
    watched = Watched(a=10.0)

    outputs(watched, "aab", workers=2, reorder_capacity=reorder)

    assert watched.began == ["a0", "b2", "a1"]


def test_more_keys_than_workers_come_to_an_end() -> None:
    """A group-by stood still when keys exceeded its concurrency: reactor-core 3442."""
    seen = outputs(Watched(), "abcdefgh" * 3, workers=2, queue_capacity=3)

    assert len(seen) == 24
    assert max(count for _, count in seen) == 3


def test_with_a_reorder_buffer_all_leave_in_their_order() -> None:
    """Whichever key is the slow one."""
    seen = outputs(Watched(a=5.0, b=0.1), "aabbabba", workers=3, reorder_capacity=3)

    assert [text for text, _ in seen] == ["a0", "a1", "b2", "b3", "a4", "b5", "b6", "a7"]


@given(st.text("abc", max_size=14), st.integers(1, 4), st.integers(0, 4), st.integers(1, 4))
@settings(max_examples=80)
def test_keys_keep_their_order_whatever_the_figures(
    users: str, workers: int, reorder: int, capacity: int
) -> None:
    """Per key always, over all keys where order is kept; and never two of a key at once."""
    watched = Watched(a=0.3, b=0.1)

    seen = outputs(
        watched, users, workers=workers, reorder_capacity=reorder, queue_capacity=capacity
    )

    by_user: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for text, count in seen:
        by_user[text[0]].append((int(text[1:]), count))
    assert len(seen) == len(users)
    for user, each in by_user.items():
        assert [number for number, _ in each] == [n for n, who in enumerate(users) if who == user]
        assert [count for _, count in each] == list(range(1, len(each) + 1))
    assert all(most == 1 for user, most in watched.most.items() if user != "all")
    assert watched.most["all"] <= workers
    if workers == 1 or reorder:
        assert [int(text[1:]) for text, _ in seen] == list(range(len(users)))


def test_a_key_waits_for_the_tries_of_its_events() -> None:
    """The next event of a user comes when the one before is through; other users go on."""
    order: list[str] = []

    def process(payload: dict[str, Any], scope: Scope) -> None:
        if payload["number"] == 0 and scope.attempt < 3:
            raise ConnectionError
        order.append(spoken(payload))

    retry = {"attempts": 3, "retry_on": ("any",)}
    builder = PlanBuilder().source("s", said("aab"))
    builder.node("n", process, workers=2, reorder_capacity=2, retry=retry, **BY_USER)

    assert run(builder.chain("s", "n")).phase == "completed"
    assert order == ["b2", "a0", "a1"]


def test_a_serialized_node_waits_for_the_tries_of_its_events() -> None:
    """Its state may change only in the order of its events, whatever the reorder buffer."""
    order: list[int] = []

    def process(payload: int, scope: Scope) -> int:
        if payload == 1 and scope.attempt < 3:
            raise ConnectionError
        order.append(payload)
        return payload

    retry = {"attempts": 3, "retry_on": ("any",)}
    builder = PlanBuilder().source("s", range(5))
    builder.node("n", process, reorder_capacity=4, retry=retry, state_mode="serialized")

    assert run(builder.chain("s", "n")).phase == "completed"
    assert order == [0, 1, 2, 3, 4]


def test_idle_keys_are_forgotten_at_the_end_of_their_turn() -> None:
    """Pekko's group-by remembers closed keys for good."""
    kept: list[int] = []

    def stream(scope: Scope) -> Iterator[Any]:
        for _ in range(3):
            yield from said("abcd")
            yield NextTurn()

    def process(payload: dict[str, Any], scope: Scope) -> int:
        keys: Any = session._guardians["n"].keys
        kept.append(len(keys))
        scope.state["seen"] += 1
        count: int = scope.state["seen"]
        return count

    seen: list[int] = []
    builder = PlanBuilder().source("s", stream)
    builder.node("n", process, state=lambda: {"seen": 0}, **BY_USER).sink("k", seen.append)
    session = Session(builder.chain("s", "n", "k").build())
    run_virtual(session.run())
    keys: Any = session._guardians["n"].keys

    assert seen == [1] * 12
    assert max(kept) == 4
    assert len(keys) == 0


def test_the_key_conversation_lasts_over_its_turns() -> None:
    """And ends with the conversation."""

    def stream(scope: Scope) -> Iterator[Any]:
        for turn in range(3):
            yield turn
            yield NextTurn()

    def process(payload: int, scope: Scope) -> str:
        scope.state.append(payload)
        return f"{scope.conversation} {scope.state}"

    seen: list[str] = []
    builder = PlanBuilder(2).source("s", stream, conversations=2)
    builder.node(
        "n", process, state=list, workers=2, state_mode="partitioned", partition_key="conversation"
    ).sink("k", seen.append)
    session = Session(builder.chain("s", "n", "k").build())
    run_virtual(session.run())
    keys: Any = session._guardians["n"].keys

    assert sorted(seen)[:3] == ["c1 [0, 1, 2]", "c1 [0, 1]", "c1 [0]"]
    assert sorted(seen)[3:] == ["c2 [0, 1, 2]", "c2 [0, 1]", "c2 [0]"]
    assert len(keys) == 0


@pytest.mark.parametrize("how", ["list", "generator", "coroutine", "async generator"])
def test_what_was_kept_back_is_told_for_each_key(how: str) -> None:
    """`finish` is called once for each, in the order in which they came."""

    def keeps(payload: dict[str, Any], scope: Scope) -> None:
        scope.state.append(payload["number"])

    def tells(scope: Scope) -> list[Any]:
        return [tuple(scope.state)]

    def yields(scope: Scope) -> Iterator[Any]:
        yield tuple(scope.state)

    async def waits(scope: Scope) -> Any:
        await scope.sleep(1)
        return tuple(scope.state)

    async def streams(scope: Scope) -> AsyncIterator[Any]:
        yield tuple(scope.state)

    finish = {"list": tells, "generator": yields, "coroutine": waits, "async generator": streams}
    seen: list[Any] = []
    builder = PlanBuilder().source("s", said("abab"))
    builder.node("n", keeps, finish=finish[how], state=list, kept=9, **BY_USER)
    run(builder.sink("k", seen.append).chain("s", "n", "k"))

    assert seen == [(0, 2), (1, 3)]


def test_an_event_without_the_field_fails_and_says_what_there_is() -> None:
    """Not with all others that have none, as if they were one."""
    builder = PlanBuilder().source("s", [{"text": "hi"}]).node("n", lambda payload: None, **BY_USER)

    error = run(builder.chain("s", "n")).error

    assert error is not None
    assert "there is no user in this dict; it has" in error


def test_a_cancelled_turn_leaves_no_key_behind() -> None:
    """Neither what is at work nor what waits for it."""

    async def cancels(payload: int, scope: Scope) -> None:
        await scope.sleep(0.5)
        session.cancel("c1")

    builder = PlanBuilder().source("s", said("aaab")).source("t", [1])
    builder.node(
        "n", Watched().process, state=lambda: {"seen": 0}, workers=2, reorder_capacity=2, **BY_USER
    )
    session = Session(builder.sink("c", cancels).chain("s", "n").chain("t", "c").build())
    snapshot = run_virtual(session.run())
    keys: Any = session._guardians["n"].keys

    assert snapshot.in_flight == 0
    assert len(keys) == 0
