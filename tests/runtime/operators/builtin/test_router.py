"""Tests of `aiflow.operators.builtin.router`."""

from __future__ import annotations

from aiflow.events import Token
from aiflow.operators.base import NoParams
from aiflow.operators.builtin.router import Router
from aiflow.testing.operators import run_operator

TOKENS = [Token("hm", "reasoning"), Token("yes", "answer"), Token("no", "refusal")]


def test_each_channel_leaves_by_its_own_port() -> None:
    """Three channels, three ports, and the token itself is untouched."""
    run = run_operator(Router(NoParams()), TOKENS)

    assert run.outputs == [
        ("reasoning", TOKENS[0]),
        ("answer", TOKENS[1]),
        ("refusal", TOKENS[2]),
    ]


def test_a_refusal_is_read_where_nobody_asked_for_refusals() -> None:
    """With nothing connected to `refusal`, it is part of the answer."""
    run = run_operator(Router(NoParams()), TOKENS, outputs=["reasoning", "answer"])

    assert run.at("answer") == [TOKENS[1], TOKENS[2]]
