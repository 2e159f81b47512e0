"""Tests of `aiflow.operators.builtin.template`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.events import Message, Retrieval, Token
from aiflow.operators.builtin.template import Template, TemplateParams
from aiflow.testing.operators import run_operator


def made(template: str, payload: object, **params: object) -> Message:
    """Return what a template makes of one payload."""
    operator = Template(TemplateParams.model_validate({"template": template, **params}))
    (message,) = run_operator(operator, [payload], run_input="asked").at("out")
    assert isinstance(message, Message)
    return message


def test_names_stand_for_fields_of_the_payload_and_of_the_conversation() -> None:
    """And the message has the role that the params say."""
    assert made("{channel}: {text} ({conversation}, {turn})", Token("hi")) == Message(
        "answer: hi (c1, 0)", "user"
    )
    assert made("{title} {rank}", Retrieval(title="A", raw={"rank": 2})).text == "A 2"
    assert made("{input}?", Token(""), role="system") == Message("asked?", "system")


def test_two_braces_are_one_and_a_field_is_never_a_template() -> None:
    """What a model wrote cannot ask for another field."""
    assert made("{{text}} {text}", Token("{channel}")).text == "{text} {channel}"


def test_a_field_without_value_leaves_nothing() -> None:
    """No score is no text, and not the word None."""
    assert made("<{score}>", Retrieval()).text == "<>"


@pytest.mark.parametrize("template", ["{text", "text}", "{}", "{text!r}", "{text.x}", "{text:9}"])
def test_a_place_that_is_no_name_is_an_error_of_the_params(template: str) -> None:
    """Neither formats nor attributes nor calls, and no brace that is not closed."""
    with pytest.raises(ValidationError, match="is no name in braces"):
        TemplateParams(template=template)


def test_a_field_that_the_payload_lacks_fails_with_those_there_are() -> None:
    """A typing mistake is told, not printed as nothing."""
    with pytest.raises(ValueError, match="there is no title in this token; it has channel"):
        made("{title}", Token("a"))
