"""Tests of `aiflow.operators.builtin.delay`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.events import Token
from aiflow.operators.builtin.delay import Delay, DelayParams
from aiflow.testing.operators import run_operator


def test_each_event_is_held_and_passed_on_unchanged() -> None:
    """Three events at half a second each take a second and a half."""
    tokens = [Token("a"), Token("b"), Token("c")]

    run = run_operator(Delay(DelayParams(seconds=0.5)), tokens)

    assert run.at("out") == tokens
    assert run.times == pytest.approx([0.5, 1.0, 1.5])


@given(st.integers(0, 1000), st.floats(0, 1))
def test_jitter_stays_within_its_share(seed: int, jitter: float) -> None:
    """A delay is never negative and never beyond twice its mean."""
    run = run_operator(Delay(DelayParams(seconds=1, jitter=jitter)), [Token("a")], seed=seed)

    assert 1 - jitter - 1e-9 <= run.took_s <= 1 + jitter + 1e-9


def test_the_same_seed_gives_the_same_delays() -> None:
    """Chance is keyed by the seed."""
    delay = Delay(DelayParams(seconds=1, jitter=1))
    tokens = [Token("a")] * 5

    assert run_operator(delay, tokens, seed=7).times == run_operator(delay, tokens, seed=7).times
    assert run_operator(delay, tokens, seed=7).times != run_operator(delay, tokens, seed=8).times


def test_it_declares_its_mean() -> None:
    """Hints and what-ifs read the service time from the params."""
    assert Delay(DelayParams(seconds=0.2)).service_time_s() == 0.2
