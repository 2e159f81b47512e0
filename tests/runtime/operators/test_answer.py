"""Tests of `aiflow.operators.answer`."""

from __future__ import annotations

import pytest

from aiflow.clock import SystemClock
from aiflow.events import Control, Payload, Retrieval, SafetyLabel, Token, ToolFragment
from aiflow.operators.answer import MALFORMED, AnswerMarks, port_of
from aiflow.operators.registry import Catalog
from aiflow.operators.scope import Scope

ANSWER: list[tuple[Payload, str]] = [
    (Token("a"), "out"),
    (ToolFragment(0), "tools"),
    (Retrieval("r"), "retrieval"),
    (SafetyLabel("prompt", "violence"), "safety"),
    (Control("start"), "control"),
]


@pytest.mark.parametrize("operator", ["chat", "chat-reply", "replay"])
def test_whoever_streams_an_answer_has_each_of_its_ports(operator: str) -> None:
    """A payload for a port that is not there would fail the turn."""
    known = Catalog.load().operators[operator].outputs

    assert [port.name for port in known] == [port_of(payload) for payload, _ in ANSWER]
    assert [port_of(payload) for payload, _ in ANSWER] == [port for _, port in ANSWER]


def test_a_control_message_is_no_piece_of_the_answer() -> None:
    """The first delta is the first payload that is not one; each mark is set once."""
    scope = Scope("chat", SystemClock())
    marked: list[tuple[str, float]] = []
    scope._mark = lambda what, at: marked.append((what, at))
    marks = AnswerMarks(scope)

    marks.note(Control("start"), 1.0, 0.5)
    marks.note(Token("a"), 2.0, 0.5)
    marks.note(Token("b"), 3.0, 0.5)

    assert marked == [("request_sent", 0.5), ("first_delta", 2.0)]


def test_a_frame_that_could_not_be_read_is_counted() -> None:
    """For whoever looks at the run afterwards; other notices are no loss."""
    scope = Scope("chat", SystemClock())
    noticed: list[str] = []
    scope._notice = noticed.append
    marks = AnswerMarks(scope)

    for what in (MALFORMED, "signature", MALFORMED):
        marks.note(Control("notice", {"what": what}), 1.0, 0.5)

    assert noticed == [MALFORMED, MALFORMED]


def test_a_request_that_had_to_wait_says_since_when() -> None:
    """From being asked for until it was sent is its wait; one that left at once has none."""
    scope = Scope("chat", SystemClock())
    marked: list[str] = []
    scope._mark = lambda what, at: marked.append(what)
    marks = AnswerMarks(scope)

    marks.note(Control("start"), 2.0, scope.clock.now() + 1)

    assert marked == ["request_asked", "request_sent"]
