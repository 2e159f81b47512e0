"""Tests of `aiflow.analysis.compare`."""

from __future__ import annotations

from aiflow.analysis.compare import Way, measure
from aiflow.compiler.strategies import apply_strategy
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder


async def slow(token: Token, scope: Scope) -> None:
    """Take a tenth of a second, or up to twice that by chance."""
    await scope.sleep(0.1 * (1 + scope.random.random()))


def builder() -> PlanBuilder:
    """Return a source that never waits and a slow sink."""
    made = PlanBuilder(1).source("s", [Token(str(number)) for number in range(20)])
    return made.sink("k", slow, queue_capacity=4).edge("s", "k")


def test_a_way_is_told_with_its_slow_node_and_its_fullest_queue() -> None:
    """The figures of one bounded run."""
    row = measure(Way(builder().build(), {"k.q": "4"}), 1, is_virtual=True)

    assert (row.status, row.strategy, row.settings) == ("completed", "aiflow", {"k.q": "4"})
    assert (row.bound, row.max_in_flight, row.max_queue, row.dropped) == (6, 6, 4, 0)
    assert row.bottleneck == "k"
    assert 2.0 < row.duration_s < 4.0


def test_the_same_way_twice_is_the_same_and_runs_meet_other_chances() -> None:
    """Seeds are counted from 0, so every way meets the same ones."""
    way = Way(builder().build(), {})

    assert measure(way, 3, is_virtual=True) == measure(way, 3, is_virtual=True)
    assert (
        measure(way, 3, is_virtual=True).duration_s != measure(way, 1, is_virtual=True).duration_s
    )


def test_without_a_bound_the_queue_holds_all_there_is() -> None:
    """What the bounded way is held against."""
    plan = apply_strategy(builder().build(), "unbounded")

    row = measure(Way(plan, {}), 1, is_virtual=True)

    assert (row.strategy, row.bound, row.bottleneck) == ("unbounded", None, None)
    assert row.max_queue >= 19


def test_a_way_that_fails_says_why() -> None:
    """One failed run is enough, and the figures are there all the same."""

    def fails(token: Token) -> None:
        raise ValueError("no such voice")

    made = PlanBuilder(1).source("s", [Token("x")]).sink("k", fails).edge("s", "k")

    row = measure(Way(made.build(), {}), 2, is_virtual=True)

    assert row.status == "failed"
    assert row.error is not None
    assert "no such voice" in row.error
