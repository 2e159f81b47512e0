"""Tests of `aiflow.operators.builtin.redact`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.events import Chunk, Message, Token
from aiflow.operators.builtin.redact import Redact, RedactParams
from aiflow.testing.operators import run_operator


def test_every_match_is_replaced_and_the_rest_is_kept() -> None:
    """The kind, the channel and all that does not match stay as they were."""
    redact = Redact(RedactParams(patterns=(r"\d{4}", "secret"), replacement="***"))

    run = run_operator(
        redact,
        [Chunk("pin 1234, secret 5678", "reasoning"), Token("clean"), Message("secret", "user")],
    )

    assert run.at("out") == [
        Chunk("pin ***, *** ***", "reasoning"),
        Token("clean"),
        Message("***", "user"),
    ]


def test_the_default_hides_mail_addresses() -> None:
    """A node just dropped on the canvas does something visible."""
    run = run_operator(Redact(RedactParams()), [Chunk("ask ada@example.org now")])

    assert run.at("out") == [Chunk("ask [redacted] now")]


def test_a_replacement_is_taken_letter_by_letter() -> None:
    """A backslash in the replacement is no reference to a group."""
    run = run_operator(Redact(RedactParams(patterns=("x",), replacement=r"\1")), [Chunk("x")])

    assert run.at("out") == [Chunk(r"\1")]


def test_case_counts_unless_it_is_told_not_to() -> None:
    """`ignore_case` is the only flag there is."""
    sharp = Redact(RedactParams(patterns=("key",)))
    loose = Redact(RedactParams(patterns=("key",), ignore_case=True))

    assert run_operator(sharp, [Chunk("KEY")]).at("out") == [Chunk("KEY")]
    assert run_operator(loose, [Chunk("KEY")]).at("out") == [Chunk("[redacted]")]


def test_a_match_cut_between_two_events_is_not_seen() -> None:
    """The limit that the docstring names is the limit that holds."""
    run = run_operator(Redact(RedactParams(patterns=("secret",))), [Token("sec"), Token("ret")])

    assert run.at("out") == [Token("sec"), Token("ret")]


def test_what_is_no_pattern_is_an_error_of_the_params() -> None:
    """The message names the pattern and what to do."""
    with pytest.raises(ValidationError, match=r"'\(' is no regular expression.*escape"):
        RedactParams(patterns=("(",))
