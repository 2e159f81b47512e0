"""The bench measures what it says: same work on both sides, nothing lost, order kept."""

from __future__ import annotations

import asyncio
import time

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
        "us_per_event", "baseline_us", "ratio", "order_violations", "lost", "wanted",
    ]  # fmt: skip
    assert (row["case"], row["loop"], row["q"], row["hops"]) == (case.name, "asyncio", 2, 4)
    assert row["us_per_event"] > 0
    assert row["baseline_us"] > 0
    assert (row["order_violations"], row["lost"]) == (0, 0)


def test_rows_of_the_design_say_what_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the standard loop every case has its figure at every capacity; elsewhere none has."""
    monkeypatch.setattr(engine, "EVENTS", 16)
    monkeypatch.setattr(engine, "CROWD", engine.Case("crowd", ("plain",), conversations=2))
    monkeypatch.setattr(engine, "STINTS", 1)
    monkeypatch.setattr(engine, "clean_clock", time.process_time)

    rows = list(engine.rows(1, ["asyncio"]))

    assert len(rows) == len(engine.CASES) * len(engine.CAPACITIES) + 1
    wanted = {(row.case, row.q): row.wanted for row in rows}
    assert wanted["sync, inline, one output per input", 1] == 7.0
    assert wanted["suspending", 64] == wanted["ordered, k = 4", 64] == 0.9
    assert wanted.pop(("crowd", 8)) is None
    assert None not in wanted.values()


def test_the_full_matrix_has_every_case_and_length_on_every_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two, four and sixteen hops, and the crowd, also where the loop is not the standard one."""
    monkeypatch.setattr(engine, "EVENTS", 2)
    monkeypatch.setattr(engine, "CROWD", engine.Case("crowd", ("plain",), conversations=2))
    monkeypatch.setattr(engine, "STINTS", 1)
    monkeypatch.setattr(engine, "clean_clock", time.process_time)
    monkeypatch.setattr(engine, "loop_factory", lambda _name: asyncio.new_event_loop)

    rows = list(engine.rows(1, ["asyncio", "another"], full=True))

    of_each = [[row for row in rows if row.loop == name] for name in ("asyncio", "another")]
    assert len(of_each[0]) == len(of_each[1]) == 3 * (len(engine.CASES) + 2) + 1
    assert {row.hops for row in of_each[1]} == {2, 4, 16}


@pytest.mark.parametrize("kind", ["plain", "lists", "awaits", "suspends", "ordered"])
def test_the_chain_by_hand_is_right_too(kind: str) -> None:
    """A baseline that loses or disorders would be no baseline."""
    taken: list[int] = []

    asyncio.run(run_chain(range(50), [Stage(kind, 2).by_hand()] * 2, 2, taken.append))

    fan = 4 if kind == "lists" else 1
    assert taken == [number for number in range(50) for _ in range(fan)]
