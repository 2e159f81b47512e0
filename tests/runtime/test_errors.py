"""Tests of `aiflow.errors`."""

from __future__ import annotations

import pytest

from aiflow.errors import OperatorError


class MuteError(Exception):
    """An error of an author who let it raise when it is shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (ValueError("no\n  such   row"), "ValueError: no such row"),
        (MemoryError(), "MemoryError"),
        (MuteError(), "MuteError (which cannot be shown)"),
    ],
)
def test_an_operators_error_is_one_clause(cause: Exception, words: str) -> None:
    """Whatever its author lets it say, or raise."""
    error = OperatorError("a", "c1", cause)

    assert str(error) == f"node a failed in conversation c1: {words}"


def test_a_document_in_an_error_is_cut() -> None:
    """Its beginning says enough."""
    assert len(str(OperatorError("a", "c1", ValueError("x" * 100_000)))) < 1_100
