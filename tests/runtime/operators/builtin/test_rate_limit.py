"""Tests of `aiflow.operators.builtin.rate_limit`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.operators.builtin.rate_limit import RateLimit, RateLimitParams
from aiflow.testing.operators import run_operator


def times(count: int, **params: float) -> list[float]:
    """Return when each of so many events leaves that were all there at the start."""
    run = run_operator(RateLimit(RateLimitParams.model_validate(params)), range(count))
    assert run.at("out") == list(range(count))
    return run.times


def test_events_leave_evenly_at_the_rate() -> None:
    """The first at once, the others a pause apart."""
    assert times(5, rate=4) == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_a_burst_leaves_at_once_and_the_rest_at_the_rate() -> None:
    """Three together, then one after the other."""
    assert times(6, rate=2, burst=3) == pytest.approx([0, 0, 0, 0.5, 1, 1.5])


@given(st.integers(1, 12), st.floats(0.5, 100), st.integers(1, 40))
def test_no_span_of_time_holds_more_than_burst_and_rate_allow(
    burst: int, rate: float, count: int
) -> None:
    """In any t seconds at most burst + rate · t events leave."""
    left = times(count, rate=rate, burst=burst)

    for first in range(count):
        for last in range(first, count):
            assert last - first + 1 <= burst + rate * (left[last] - left[first]) + 1e-6


def test_the_declared_time_is_the_pause_at_full_load() -> None:
    """Hints about capacity read it."""
    assert RateLimit(RateLimitParams(rate=4)).service_time_s() == 0.25
