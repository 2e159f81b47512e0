"""Tries of a node whose retry is changed while it runs."""

from __future__ import annotations

from typing import Any

from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def run(before: dict[str, Any], after: dict[str, Any]) -> tuple[Snapshot, list[int]]:
    """Run ten events that each fail once, or hang; the retry changes at the fifth."""
    seen: list[int] = []

    async def process(payload: int, scope: Scope) -> int:
        if payload == 5 and scope.attempt == 1:
            session.tune("n", retry=after)
        await scope.sleep(60 if scope.attempt == 1 and payload >= 5 else 0.1)
        return payload

    builder = PlanBuilder().source("s", range(10)).node("n", process, retry=before)
    session = Session(builder.sink("k", seen.append).chain("s", "n", "k").build())
    return run_virtual(session.run()), seen


def test_a_limit_may_come_while_a_node_runs() -> None:
    """What was begun without it is not ended by it."""
    snapshot, seen = run({}, {"timeout_s": 1.0, "attempts": 2})

    assert (snapshot.phase, seen) == ("completed", list(range(10)))
    assert snapshot.nodes["n"].retries == 4


def test_a_declared_time_goes_on_when_its_limit_goes() -> None:
    """On the virtual clock a timer stands for the operator; it is set anew."""
    seen: list[int] = []

    async def tunes(payload: int, scope: Scope) -> None:
        await scope.sleep(0.5)
        session.tune("n", retry={"timeout_s": None})

    builder = PlanBuilder().source("s", [1]).source("t", [1]).sink("u", tunes)
    builder.node("n", lambda payload: payload, service_time_s=5.0, retry={"timeout_s": 1.0})
    builder.sink("k", seen.append).chain("s", "n", "k").chain("t", "u")
    session = Session(builder.build())
    snapshot = run_virtual(session.run())

    assert (snapshot.phase, seen) == ("completed", [1])
    assert snapshot.at - snapshot.started_at == 5.0


def test_a_limit_may_go_while_a_node_runs() -> None:
    """A timer that was set for it ends nothing any more."""
    limits = {"timeout_s": 1.0, "total_timeout_s": 2.0}
    snapshot, seen = run(limits, {"timeout_s": None, "total_timeout_s": None})

    assert (snapshot.phase, seen) == ("completed", list(range(10)))
    assert snapshot.nodes["n"].retries == 0
    assert snapshot.at - snapshot.started_at > 300
