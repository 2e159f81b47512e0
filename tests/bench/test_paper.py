"""The measures of the paper come out as it says: in their direction, not to the digit."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from aiflow.bench import paper
from aiflow.bench.paper import PaperRow, interval, paper_rows, signed_rank
from aiflow.operators.registry import Catalog

NEEDS_SCIPY = pytest.mark.skipif(find_spec("scipy") is None, reason="scipy is not installed")


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], PaperRow]:
    """Return the rows of two runs by workload and strategy."""
    return {(row.workload, row.strategy): row for row in paper_rows(2, Catalog.load())}


def test_every_strategy_completes_every_workload(rows: dict[tuple[str, str], PaperRow]) -> None:
    """Five kinds of work, four strategies, nothing failed."""
    assert len(rows) == len(paper.WORKLOADS) * 4
    assert {row.status for row in rows.values()} == {"completed"}


def test_a_recording_is_no_sample(rows: dict[tuple[str, str], PaperRow]) -> None:
    """It runs once, however many runs are asked for, so nothing is made of repeating it."""
    recorded = [row for row in rows.values() if row.workload.endswith("trace")]

    assert {row.runs for row in recorded} == {1}
    assert all(row.ttfpt_p is None and row.ttfpt_ci_ms is None for row in recorded)
    assert {row.runs for row in rows.values() if row not in recorded} == {2}


@pytest.mark.parametrize("workload", [each.name for each in paper.WORKLOADS])
def test_a_first_token_waits_longer_for_the_whole_answer(
    workload: str, rows: dict[tuple[str, str], PaperRow]
) -> None:
    """TTFPT of aiflow is below that of aggregate on each workload, and model TTFT the same."""
    ours, slowest = rows[workload, "aiflow"], rows[workload, "aggregate"]

    assert ours.ttfpt_change is not None
    assert ours.ttfpt_change < -0.3
    assert slowest.ttfpt_change == 0
    assert ours.model_ttft_ms == slowest.model_ttft_ms


def test_a_slow_consumer_piles_up_only_without_bounds(
    rows: dict[tuple[str, str], PaperRow],
) -> None:
    """MaxQ stays at q = 8 where the policies hold."""
    workload = "slow consumer, controlled"

    assert rows[workload, "aiflow"].max_queue == 8
    assert rows[workload, "unbounded"].max_queue > 100
    assert rows[workload, "aiflow"].max_queue_change == pytest.approx(
        8 / rows[workload, "unbounded"].max_queue - 1
    )


def test_without_scipy_there_is_no_interval_and_no_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra; the medians are there without it."""
    monkeypatch.setattr(paper, "find_spec", lambda _name: None)

    assert interval([1.0, 2.0, 3.0]) is None
    assert signed_rank([1.0] * 9, [2.0] * 9) is None


@pytest.mark.parametrize("values", [[], [1.0], [None, 1.0]])
def test_one_value_has_no_interval(values: list[float | None]) -> None:
    """Nor has none."""
    assert interval(values) is None


@NEEDS_SCIPY
def test_an_interval_lies_around_the_mean() -> None:
    """By Student's t with four degrees of freedom: 3 ± 1.963."""
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])

    assert found == pytest.approx((1.0368, 4.9632), abs=1e-4)


@NEEDS_SCIPY
def test_pairs_that_all_differ_one_way_are_no_chance() -> None:
    """Twelve of twelve: p is 2 in 4096; too few pairs say nothing."""
    values: list[float | None] = [float(number) for number in range(12)]
    others: list[float | None] = [number * 2 + 1.5 for number in range(12)]

    assert signed_rank(values, others) == pytest.approx(2 / 4096, rel=0.01)
    assert signed_rank(values[:3], others[:3]) is None
