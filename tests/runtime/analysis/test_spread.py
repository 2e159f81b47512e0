"""Tests of `aiflow.analysis.spread`."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.analysis.spread import Spread
from aiflow.metrics.instruments import Histogram

durations = st.floats(1e-4, 1e3)


def spread_of(times: list[float]) -> Spread:
    """Return the spread of measured durations."""
    histogram = Histogram()
    for time in times:
        histogram.record(time)
    return Spread.of(histogram.stats())


@given(st.lists(durations, min_size=1, max_size=50), st.integers())
def test_what_is_drawn_lies_near_what_was_seen(times: list[float], seed: int) -> None:
    """Never below nothing, and with the mean of the measured as its own mean."""
    spread = spread_of(times)

    drawn = [spread.draw(random.Random(f"{seed} {number}")) for number in range(20)]

    assert all(0 <= each <= 4 * max(times) for each in drawn)
    assert spread.mean_s == pytest.approx(statistics.fmean(times))


@given(durations, st.integers(1, 20))
def test_a_constant_is_drawn_exactly(time: float, count: int) -> None:
    """A service time that never changes must not gain noise."""
    spread = spread_of([time] * count)

    assert spread.draw(random.Random(1)) == pytest.approx(time, rel=1e-9)


def test_the_mean_of_many_draws_is_that_of_what_was_seen() -> None:
    """Also where one duration is a hundred times the others."""
    chance = random.Random(5)
    for times in ([chance.uniform(0, 0.2) for _ in range(500)], [0.01] * 99 + [1.0] * 2):
        spread = spread_of(times)

        drawn = [spread.draw(chance) for _ in range(20_000)]

        assert statistics.fmean(drawn) == pytest.approx(statistics.fmean(times), rel=0.05)


def test_another_mean_keeps_the_shape() -> None:
    """Twice the mean is twice each draw; without any measurement it is the mean."""
    spread = spread_of([0.1, 0.2, 0.6])

    assert spread.scaled(2 * spread.mean_s).draw(random.Random(3)) == pytest.approx(
        2 * spread.draw(random.Random(3))
    )
    assert Spread.of(Histogram().stats()).scaled(0.5).draw(random.Random(3)) == 0.5
