"""Tests of `aiflow.operators.builtin.synthetic`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aiflow.clock import SystemClock
from aiflow.operators.builtin.synthetic import Synthetic, SyntheticParams
from aiflow.operators.scope import Scope
from aiflow.testing.operators import OperatorRun, run_operator


def tokens(seed: int = 0, **params: object) -> OperatorRun:
    """Return what a synthetic source with these params streams."""
    return run_operator(Synthetic(SyntheticParams.model_validate(params)), seed=seed)


def test_tokens_come_at_the_rate() -> None:
    """Five tokens at ten a second take four tenths: the first comes at once."""
    run = tokens(count=5, rate=10)

    assert [token.text for token in run.at("out")] == ["1 ", "2 ", "3 ", "4 ", "5 "]
    assert run.times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert run.arrived == run.times


def test_a_burst_comes_together_and_keeps_the_rate() -> None:
    """Two and two at ten a second: a pause of two tenths between bursts."""
    run = tokens(count=6, rate=10, burst=2)

    assert run.times == pytest.approx([0.0, 0.0, 0.2, 0.2, 0.4, 0.4])


def test_without_a_rate_it_is_a_plain_iterator() -> None:
    """The fastest path of the engine takes it, and no time passes."""
    source = Synthetic(SyntheticParams(count=3, rate=0))
    scope = Scope("synthetic", SystemClock())

    stream = source.stream(scope)

    assert isinstance(stream, Iterator)
    assert len(list(stream)) == 3
    assert tokens(count=1000, rate=0).took_s == 0


def test_the_first_share_is_reasoning() -> None:
    """A quarter of eight tokens is two, and they come first."""
    run = tokens(count=8, rate=0, reasoning_share=0.25)

    assert [token.channel for token in run.at("out")] == ["reasoning"] * 2 + ["answer"] * 6


def test_the_template_names_number_and_conversation() -> None:
    """Braces are doubled to stand for themselves."""
    run = tokens(count=1, rate=0, text="{{{conversation}:{n}}}")

    assert run.at("out")[0].text == "{c1:1}"


@pytest.mark.parametrize(
    "text", ["{who}", "{", "{0}", "{}", "{n.real}", "{n!r}", "{n:>9999999999}", "{n:{n}}"]
)
def test_a_template_that_cannot_be_filled_is_an_error_of_the_params(text: str) -> None:
    """It is found before the run, and the message says what may be written."""
    with pytest.raises(ValidationError, match=r"write \{n\} or \{conversation\}"):
        SyntheticParams(text=text)


@given(st.integers(0, 1000), st.floats(0, 1), st.integers(1, 5))
def test_jitter_moves_tokens_and_never_turns_them_round(
    seed: int, jitter: float, burst: int
) -> None:
    """Times never go back, and no pause is longer than twice its mean."""
    run = tokens(seed, count=20, rate=10, jitter=jitter, burst=burst)

    pauses = [later - sooner for sooner, later in zip(run.times, run.times[1:], strict=False)]
    assert all(-1e-9 <= pause <= 2 * burst / 10 + 1e-9 for pause in pauses)


def test_the_same_seed_gives_the_same_times() -> None:
    """Chance is keyed by the seed."""
    once, again, other = (tokens(seed, count=9, jitter=1).times for seed in (1, 1, 2))

    assert once == again
    assert once != other
