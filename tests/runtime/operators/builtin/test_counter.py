"""Tests of `aiflow.operators.builtin.counter`."""

from __future__ import annotations

from aiflow.events import Chunk, Control, Token
from aiflow.operators.base import NoParams
from aiflow.operators.builtin.counter import Counter
from aiflow.testing.operators import run_operator


def test_the_counts_are_shown_at_the_end_by_kind() -> None:
    """One line, the most frequent kind first."""
    payloads = [Control("start"), *[Token("a")] * 1200, Chunk("b"), Chunk("c")]

    run = run_operator(Counter(NoParams()), payloads)

    assert run.shown == "1,203 events: token 1,200, chunk 2, control 1\n"


def test_a_turn_without_events_is_counted_too() -> None:
    """Nothing came is an answer, not silence."""
    assert run_operator(Counter(NoParams())).shown == "0 events\n"
