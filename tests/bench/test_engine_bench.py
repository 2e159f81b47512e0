"""The bench measures what it says: same work on both sides, nothing lost, order kept."""

from __future__ import annotations

import asyncio

import pytest

from aiflow.bench import engine
from aiflow.bench.chain import run_chain
from aiflow.bench.plans import Stage


@pytest.mark.parametrize("case", engine.CASES, ids=lambda case: case.name)
def test_both_sides_do_the_same_work(case: engine.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of each case: a time for each side, no loss, no disorder."""
    monkeypatch.setattr(engine, "CASES", (case,))
    monkeypatch.setattr(engine, "CAPACITIES", (2,))
    monkeypatch.setattr(engine, "INLINE", case)
    monkeypatch.setattr(engine, "EVENTS", 160)

    row = next(engine.rows(1, ["asyncio"])).to_dict()

    assert list(row) == [
        "case", "loop", "q", "hops", "k", "conversations",
        "us_per_event", "baseline_us", "ratio", "order_violations", "lost",
    ]  # fmt: skip
    assert (row["case"], row["loop"], row["q"], row["hops"]) == (case.name, "asyncio", 2, 4)
    assert row["us_per_event"] > 0
    assert row["baseline_us"] > 0
    assert (row["order_violations"], row["lost"]) == (0, 0)


@pytest.mark.parametrize("kind", ["plain", "lists", "awaits", "suspends", "ordered"])
def test_the_chain_by_hand_is_right_too(kind: str) -> None:
    """A baseline that loses or disorders would be no baseline."""
    taken: list[int] = []

    asyncio.run(run_chain(range(50), [Stage(kind, 2).by_hand()] * 2, 2, taken.append))

    fan = 4 if kind == "lists" else 1
    assert taken == [number for number in range(50) for _ in range(fan)]
