"""Tests of `aiflow.operators.builtin.rag_prompt`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.events import Message, Retrieval
from aiflow.operators.builtin.rag_prompt import RETRIEVAL_OR_TEXT, RagPrompt, RagPromptParams
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.types import RETRIEVAL, SAFETY, TEXT

A = Retrieval("a.md#1", "A", "a.md", "text a")
B = Retrieval("b.md#1", "", "b.md", "text b")


def build(*payloads: object, **params: object) -> OperatorRun:
    """Run a prompt builder with a short template."""
    given = {"template": "{passages}|{question}", **params}
    return run_operator(RagPrompt(RagPromptParams.model_validate(given)), payloads)


def test_passages_and_their_question_make_a_prompt() -> None:
    """Numbered as they came; the next question begins at one again."""
    run = build(A, B, Message("why?"), B, Message("how?"))

    assert run.at("out") == [
        Message("[1] A: text a\n\n[2] text b|why?", "user"),
        Message("[1] text b|how?", "user"),
    ]


def test_a_passage_is_cited_the_moment_it_comes() -> None:
    """Before its question, under the number that the prompt gives it."""
    run = build(A, B, Message("why?"))

    assert [port for port, _ in run.outputs] == ["citations", "citations", "out"]
    assert [(each.id, each.url) for each in run.at("citations")] == [("1", "a.md"), ("2", "b.md")]
    assert run.kept == [0, 0, None, None]


def test_what_does_not_fit_is_neither_in_the_prompt_nor_cited() -> None:
    """By number and by length; a shorter passage behind a long one still fits."""
    assert len(build(A, B, Message("x"), max_passages=1).at("citations")) == 1
    long = Retrieval(text="x" * 100)
    run = build(long, A, Message("x"), max_characters=100)
    assert run.at("out") == [Message("[1] A: text a|x", "user")]
    assert RagPrompt(RagPromptParams(max_passages=7)).kept_events() == 7


def test_without_passages_the_prompt_says_so() -> None:
    """The model is told that nothing was found, in the person's words."""
    assert build(Message("why?"), nothing="-").at("out") == [Message("-|why?", "user")]


def test_a_passage_is_no_template() -> None:
    """What a document holds cannot pull the question in."""
    run = build(Retrieval(text="{question}"), Message("{passages}"))

    assert run.at("out")[0].text == "[1] {question}|{passages}"


def test_passages_without_a_question_fail_with_the_edge_that_is_missing() -> None:
    """Instead of ending without a prompt and without a word."""
    with pytest.raises(ValueError, match=r"passages came without a question.*port query"):
        build(Message("x"), A)


def test_a_template_without_the_question_is_an_error_of_the_params() -> None:
    """The model would never be asked."""
    with pytest.raises(ValidationError, match=r"no \{question\}"):
        RagPromptParams(template="{passages}")


def test_its_port_takes_passages_and_texts_and_nothing_else() -> None:
    """A wrong wire is found before the run."""
    assert RETRIEVAL_OR_TEXT.accepts(RETRIEVAL)
    assert RETRIEVAL_OR_TEXT.accepts(TEXT)
    assert not RETRIEVAL_OR_TEXT.accepts(SAFETY)
