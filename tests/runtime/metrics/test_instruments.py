"""Tests of `aiflow.metrics.instruments`."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.metrics.instruments import Histogram

DURATIONS = st.floats(0, 9_000, allow_nan=False)


@given(st.lists(DURATIONS, min_size=1))
def test_a_quantile_is_within_a_bucket_of_the_true_one(durations: list[float]) -> None:
    """Above a microsecond the median is wrong by less than the bucket's 12 %."""
    histogram = Histogram()
    for duration in durations:
        histogram.record(duration)

    stats = histogram.stats()

    true = sorted(durations)[math.ceil(len(durations) / 2) - 1]
    assert stats.count == len(durations)
    assert stats.sum_s == pytest.approx(sum(durations))
    if true >= 1e-6:
        assert true / 1.13 <= stats.p50_ms / 1e3 <= true * 1.13
    assert stats.p50_ms <= stats.p99_ms <= stats.max_ms + 1e-3


@given(st.floats(1e-6, 9_000), st.integers(1, 50))
def test_a_constant_comes_out_as_itself(duration: float, count: int) -> None:
    """Where all durations are equal every quantile is that duration."""
    histogram = Histogram()
    for _ in range(count):
        histogram.record(duration)

    stats = histogram.stats()

    assert stats.p50_ms == stats.p99_ms == stats.max_ms == pytest.approx(duration * 1e3)


@given(st.floats(1e-5, 9_000), st.lists(st.floats(1, 1.01), min_size=3, max_size=50))
def test_durations_that_lie_close_together_come_out_close(base: float, around: list[float]) -> None:
    """A timer that is a little late does not look 5 % late, whatever bucket it falls into."""
    histogram = Histogram()
    for factor in around:
        histogram.record(base * factor)

    stats = histogram.stats()

    assert base * 0.999 <= stats.p50_ms / 1e3 <= base * 1.011


def test_zeros_counted_elsewhere_pull_the_quantiles_down() -> None:
    """Events that ran inline waited for exactly nothing, and count."""
    histogram = Histogram()
    histogram.record(2.0)

    stats = histogram.stats(zeros=9)

    assert (stats.count, stats.p50_ms) == (10, 0.0)
    assert stats.p99_ms == pytest.approx(2000.0)


def test_a_duration_taken_back_is_as_if_it_had_not_been_recorded() -> None:
    """What is counted too early can be uncounted."""
    histogram = Histogram()
    histogram.record(0.5)
    histogram.record(1e-7)

    histogram.take_back(0.5)
    histogram.take_back(1e-7)

    assert histogram.stats().count == 0
