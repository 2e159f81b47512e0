"""Tests of `aiflow.operators.builtin.delay`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.builtin.delay import Delay, DelayParams
from aiflow.testing.operators import run_operator
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


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


def test_a_share_of_tries_fails_and_may_be_tried_again() -> None:
    """Each try has a chance of its own, the same in each run."""

    def ran(then: str) -> Snapshot:
        delay = Delay(DelayParams(seconds=0.1, failures=0.5))
        retry = {"attempts": 3, "jitter": 0.0, "then": then}
        builder = PlanBuilder().source("s", [Token("a")] * 100).operator("n", delay, retry=retry)
        return run_virtual(Session(builder.chain("s", "n").build()).run())

    node = ran("skip").nodes["n"]

    assert 100 / 2 < node.retries < 100
    assert 0 < node.failed < 30
    assert ran("skip").nodes["n"] == node
    assert "FlakyError: try 3 failed by chance" in (ran("fail").error or "")
