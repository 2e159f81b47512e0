"""Tests of `aiflow.operators.builtin.sample`."""

from __future__ import annotations

import pytest

from aiflow.events import Token
from aiflow.operators.builtin.sample import Sample, SampleParams
from aiflow.testing.operators import run_operator

TOKENS = [Token(str(number)) for number in range(400)]


def test_one_of_so_many_is_the_first_of_each_row() -> None:
    """Counting leaves nothing to chance."""
    run = run_operator(Sample(SampleParams(every=3)), TOKENS[:8])

    assert [token.text for token in run.at("out")] == ["0", "3", "6"]


def test_a_share_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    """Chance, but repeatable."""
    first, again, other = (
        run_operator(Sample(SampleParams(share=0.25)), TOKENS, seed=seed).at("out")
        for seed in (1, 1, 2)
    )

    assert first == again != other
    assert 60 < len(first) < 140


@pytest.mark.parametrize(("share", "count"), [(0, 0), (1, 400)])
def test_none_and_all_are_exact(share: float, count: int) -> None:
    """The ends of the range mean what they say."""
    assert len(run_operator(Sample(SampleParams(share=share)), TOKENS).at("out")) == count
