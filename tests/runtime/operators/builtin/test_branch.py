"""Tests of `aiflow.operators.builtin.branch`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.events import Message, Token
from aiflow.operators.builtin.branch import Branch, BranchParams
from aiflow.testing.operators import run_operator


def test_each_event_leaves_unchanged_by_one_of_the_two_ports() -> None:
    """Nothing is lost, nothing leaves twice, the order of each way is kept."""
    payloads = [Token("a"), Token("b", "reasoning"), Token("c"), Token("", "refusal")]

    run = run_operator(Branch(BranchParams(condition="channel == 'answer'")), payloads)

    assert run.at("yes") == [payloads[0], payloads[2]]
    assert run.at("no") == [payloads[1], payloads[3]]


def test_what_counts_as_true_leaves_by_yes() -> None:
    """An empty text is false, as in Python."""
    run = run_operator(Branch(BranchParams(condition="text")), [Message("x"), Message("")])

    assert [port for port, _ in run.outputs] == ["yes", "no"]


def test_a_condition_on_a_missing_field_fails() -> None:
    """A typing mistake sends nothing the wrong way in silence."""
    with pytest.raises(ValueError, match="there is no chanel in this token"):
        run_operator(Branch(BranchParams(condition="chanel == 1")), [Token("a")])


def test_a_condition_that_is_no_expression_is_an_error_of_the_params() -> None:
    """Told before the run."""
    with pytest.raises(ValidationError, match="is no expression"):
        BranchParams(condition="if text")
