"""Tests of `aiflow.operators.builtin.conversations`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.operators.builtin.conversations import Conversations, ConversationsParams
from aiflow.operators.scope import Scope
from aiflow.testing.contracts import operator_faults
from aiflow.testing.operators import OperatorRun, run_operator

TURNS = [
    {"text": "one of {conversation}", "after_s": 0.5},
    {"text": "two", "after_s": 2.0},
    {"text": "three", "after_s": 0.25, "barge_in": True},
]


def said(turns: list[dict[str, Any]] = TURNS, run_input: str | None = None) -> OperatorRun:
    """Return what the first of eight says."""
    params = ConversationsParams.model_validate({"turns": turns, "apart_s": 3.0})
    return run_operator(Conversations(params), run_input=run_input)


async def first(stream: Any) -> None:
    """Ask a stream for its first output."""
    async with aclosing(stream):
        await anext(stream)


def test_each_turn_says_its_text_after_its_pause() -> None:
    """The pause before it is counted from the text before, or from the end of its turn."""
    run = said()

    assert [each.text for each in run.at("out")] == ["one of c1", "two", "three"]
    assert run.turns == [0, 1, 2]
    assert run.times == pytest.approx([0.5, 2.5, 2.75])


def test_the_text_given_to_a_run_takes_the_place_of_the_first() -> None:
    """What is said later stays as it is."""
    assert [each.text for each in said(run_input="hello").at("out")] == ["hello", "two", "three"]


def test_conversations_begin_one_after_the_other() -> None:
    """The ninth of eight begins as the first did: a run that repeats has no longer pauses."""
    pauses = []

    class Clock(SystemClock):
        async def sleep(self, delay_s: float) -> None:
            """Take a note instead."""
            pauses.append(delay_s)

    operator = Conversations(ConversationsParams(apart_s=3.0))
    for number in (1, 2, 8, 9):
        scope = Scope("people", Clock())
        scope.number = number
        asyncio.run(first(operator.stream(scope)))

    assert pauses[::2] == [0.0, 3.0, 21.0, 0.0]


def test_a_turn_without_words_is_refused() -> None:
    """And so is a conversation without turns."""
    for turns in ([], [{"text": ""}], [{"text": "x", "after_s": -1}]):
        with pytest.raises(ValueError, match="turns"):
            ConversationsParams.model_validate({"turns": turns})


def test_it_is_a_whole_operator() -> None:
    """It has all that the palette and the inspector show."""
    assert operator_faults(Conversations) == []
