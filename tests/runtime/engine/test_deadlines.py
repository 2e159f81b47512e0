"""Tests of `aiflow.engine.deadlines` and of the keys of effects in `aiflow.engine.scopes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


async def slow(payload: float, scope: Scope) -> float:
    """Take as long as the payload says."""
    await scope.sleep(payload)
    return payload


def run(builder: PlanBuilder, deadline_s: float | None) -> Snapshot:
    """Run a plan whose conversations have so much time."""
    return run_virtual(Session(builder.build(), conversation_deadline_s=deadline_s).run())


def test_a_conversation_that_is_not_done_in_time_fails_with_one_clear_error() -> None:
    """The others go on, and nothing of it is left."""

    def stream(scope: Scope) -> list[float]:
        return [100.0, 100.0] if scope.conversation == "c1" else [1.0, 1.0]

    builder = PlanBuilder(2).source("s", lambda scope: iter(stream(scope)), conversations=2)
    builder.node("n", slow, workers=2, reorder_capacity=2)
    snapshot = run(builder.chain("s", "n"), 5.0)

    assert snapshot.conversations == {"c1": "failed", "c2": "completed"}
    assert snapshot.error == (
        "conversation c1 was not done after 5 s, the time that each conversation of this session"
        " has; allow more, or find what it waited for"
    )
    assert snapshot.at - snapshot.started_at == pytest.approx(5.0)
    assert snapshot.in_flight == 0


def test_time_begins_when_the_conversation_opens() -> None:
    """One that waits for its opening loses nothing."""
    builder = PlanBuilder(1).source("s", [3.0], conversations=3).node("n", slow)

    assert run(builder.chain("s", "n"), 4.0).phase == "completed"


def test_all_turns_of_a_conversation_have_their_time_together() -> None:
    """A turn that follows is told the same deadline."""
    told: list[float | None] = []

    def stream(scope: Scope) -> Iterator[Any]:
        for _ in range(4):
            yield 2.0
            yield NextTurn()

    async def process(payload: float, scope: Scope) -> None:
        told.append(scope.deadline)
        await scope.sleep(payload)

    snapshot = run(PlanBuilder().source("s", stream).node("n", process).chain("s", "n"), 5.0)

    assert snapshot.conversations == {"c1": "failed"}
    assert told == [5.0, 5.0, 5.0]


def test_no_try_is_made_that_would_begin_too_late_for_the_conversation() -> None:
    """It fails of what it failed of, not of the time."""

    def process(payload: int) -> None:
        raise ConnectionError("nobody there")

    retry = {"attempts": 9, "backoff_s": 3.0, "jitter": 0.0, "retry_on": ("any",)}
    builder = PlanBuilder().source("s", [1]).node("n", process, retry=retry)
    snapshot = run(builder.chain("s", "n"), 5.0)

    assert snapshot.at - snapshot.started_at == pytest.approx(3.0)
    assert "no time is left for another try" in (snapshot.error or "")


def test_a_conversation_in_time_leaves_no_timer_behind() -> None:
    """The virtual clock would run on to it."""
    snapshot = run(PlanBuilder().source("s", [1.0]).node("n", slow).chain("s", "n"), 3600.0)

    assert snapshot.at - snapshot.started_at == pytest.approx(1.0)


# Keys of effects ----------------------------------------------------------------------------


def keys_of(payloads: list[Any], seed: int = 0, conversations: int = 1) -> list[str]:
    """Return the keys that a node is handed on the virtual clock."""
    keys: list[str] = []
    builder = PlanBuilder(1).source("s", payloads, conversations=conversations)
    builder.node("n", lambda payload, scope: keys.append(scope.idempotency_key))
    run_virtual(Session(builder.chain("s", "n").build(), seed=seed).run())
    return keys


def test_keys_differ_by_place_and_by_what_is_carried() -> None:
    """The same words twice are two effects; and so are two conversations."""
    assert len(set(keys_of(["pay", "pay"], conversations=2))) == 4
    assert keys_of(["pay 5"]) != keys_of(["pay 6"])


def test_keys_do_not_depend_on_the_order_in_a_mapping() -> None:
    """A model may name the arguments in another order at each attempt."""
    assert keys_of([{"to": "Ann", "sum": 5}]) == keys_of([{"sum": 5, "to": "Ann"}])


def test_anything_has_a_key() -> None:
    """Also what no JSON can hold."""
    keys = keys_of([b"\xff", {1, 2}, {(1, 2): 3}, float("nan"), ValueError("no")])

    assert len(set(keys)) == 5


def test_another_run_has_other_keys() -> None:
    """Its first conversation has the same name, and may say the same as somebody else's."""
    assert keys_of(["pay"]) == keys_of(["pay"])
    assert keys_of(["pay"]) != keys_of(["pay"], seed=1)
