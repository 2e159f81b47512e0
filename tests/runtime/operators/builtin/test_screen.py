"""Tests of `aiflow.operators.builtin.screen`."""

from __future__ import annotations

from aiflow.events import Chunk, Token
from aiflow.operators.base import NoParams
from aiflow.operators.builtin.screen import Screen
from aiflow.testing.operators import run_operator


def test_pieces_follow_one_another_as_running_text() -> None:
    """Nothing is put between two pieces, and the last line is ended."""
    run = run_operator(Screen(NoParams()), [Token("Hel"), Token("lo,"), Chunk(" world.")])

    assert run.shown == "Hello, world.\n"
