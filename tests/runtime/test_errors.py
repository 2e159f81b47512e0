"""Tests of `aiflow.errors`."""

from __future__ import annotations

import errno
import os

import pytest

from aiflow.errors import OperatorError, reason_of


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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EADDRINUSE, "error while binding on ('127.0.0.1', 80)"), "another program"),
        (OSError(errno.ENOENT, os.strerror(errno.ENOENT)), "there is no such file or folder"),
        (OSError(errno.EXDEV, "Invalid cross-device link"), "Invalid cross-device link"),
        (OSError("Multiple exceptions"), "Multiple exceptions"),
        (TimeoutError(), "it did not answer"),
    ],
)
def test_what_the_system_refuses_is_a_clause_that_says_something(
    error: OSError, words: str
) -> None:
    """In our words where we have some, else in the system's; never empty."""
    assert reason_of(error).startswith(words)
