"""What a snapshot says of itself."""

from __future__ import annotations

from aiflow.engine.session import Session
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def test_a_snapshot_says_what_it_is_in_a_line() -> None:
    """Whoever prints one, as asyncio does for what a task has returned, is not shown all of it."""
    builder = PlanBuilder(1).source("s", range(3)).sink("k", lambda _: None, queue_capacity=2)

    snapshot = run_virtual(Session(builder.edge("s", "k").build()).run())

    assert repr(snapshot) == (
        "<Snapshot completed after 0.000 s, 2 nodes, 0 in flight, at most 1 of 4>"
    )


def test_what_went_wrong_is_in_the_line() -> None:
    """It is the first thing that somebody wants to know."""

    def fail(_: object) -> None:
        raise ValueError("no good")

    builder = PlanBuilder(1).source("s", range(3)).sink("k", fail)

    snapshot = run_virtual(Session(builder.edge("s", "k").build()).run())

    assert snapshot.error is not None
    assert repr(snapshot).startswith("<Snapshot failed after 0.000 s, 2 nodes, ")
    assert repr(snapshot).endswith(f": {snapshot.error}>")
