"""Tests of `aiflow.compiler.findings`."""

from __future__ import annotations

import pytest

from aiflow.cli.exits import advice
from aiflow.compiler.findings import did_you_mean, suggestion

NAMES = ("queue_capacity", "reorder_capacity", "workers")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("worker", "workers"), ("queue", "queue_capacity"), ("voice", ""), ("", "")],
)
def test_what_was_meant_is_near_by_its_letters_or_begins_so(word: str, meant: str) -> None:
    """Whatever is neither is no suggestion."""
    assert suggestion(word, NAMES) == meant


def test_the_compiler_and_the_command_line_mean_the_same() -> None:
    """Each in a sentence of its own."""
    assert did_you_mean("queue", NAMES, "remove it") == "Did you mean queue_capacity?"
    assert advice("queue", NAMES) == "did you mean queue_capacity?"
