"""Tests of `aiflow.operators.builtin.dead_letter`."""

from __future__ import annotations

from aiflow.events import DeadLetter, Message, Token, ToolResult
from aiflow.operators.builtin.dead_letter import DeadLetterParams, DeadLetters
from aiflow.testing.operators import run_operator

LETTER = DeadLetter(Token("good\nday"), "speech", "TimeoutError: late", 3)
SAID = "speech gave up on token 0 “good day” of c1 after 3 tries: TimeoutError: late"


def test_a_letter_is_told_in_one_line_and_passed_on() -> None:
    """As a sentence, and as what it holds."""
    run = run_operator(DeadLetters(DeadLetterParams()), [LETTER])

    assert run.shown == SAID + "\n"
    assert run.at("out") == [Message(SAID)]
    assert run.at("payload") == [Token("good\nday")]


def test_nothing_is_made_for_ports_without_an_edge() -> None:
    """As a sink it only tells, or not even that."""
    quiet = DeadLetters(DeadLetterParams(is_shown=False))

    run = run_operator(quiet, [LETTER], outputs=[])

    assert (run.outputs, run.shown) == ([], "")


def test_a_letter_without_text_is_told_by_its_kind() -> None:
    """And a long text by its beginning."""
    letters = [
        DeadLetter(ToolResult("1", "f", ""), "call", "KeyError: 'x'", 1),
        DeadLetter(Token("x" * 999), "call", "ValueError", 1),
    ]

    first, second = run_operator(DeadLetters(DeadLetterParams()), letters).shown.splitlines()

    assert first == "call gave up on tool-result 0 of c1 after 1 try: KeyError: 'x'"
    assert "x" * 199 + "…" in second
    assert "x" * 200 not in second
