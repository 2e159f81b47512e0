"""Tests of `aiflow.operators.builtin.map`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.events import Chunk, Retrieval, Token
from aiflow.operators.builtin.map import Map, MapParams
from aiflow.testing.operators import run_operator


def mapped(*payloads: object, **params: object) -> list[object]:
    """Return what a map makes of payloads."""
    return run_operator(Map(MapParams.model_validate(params)), payloads).at("out")


def test_one_field_changes_and_the_rest_stays() -> None:
    """Kind, channel and the other fields are kept."""
    out = mapped(Token("hi", "reasoning"), Chunk("ho"), expression="upper(text) + channel[0]")

    assert out == [Token("HIr", "reasoning"), Chunk("HOa")]


def test_none_drops_the_event() -> None:
    """So a map filters as well."""
    out = mapped(Token("a"), Token("bb"), expression="text if len(text) > 1 else None")

    assert out == [Token("bb")]


def test_a_field_of_text_takes_any_value_as_text_and_others_what_fits() -> None:
    """A number becomes text in `text`; a score takes numbers."""
    assert mapped(Token("abc"), expression="len(text)") == [Token("3")]
    out = mapped(Retrieval(score=2.0), expression="score / 4", field="score")
    assert out == [Retrieval(score=0.5)]


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"expression": "'high'", "field": "score"}, "the field score of a retrieval takes no"),
        ({"expression": "1", "field": "size"}, "a retrieval has no field size"),
        ({"expression": "size"}, "there is no size in this retrieval"),
    ],
)
def test_what_does_not_fit_fails_with_a_sentence(params: dict[str, str], reason: str) -> None:
    """The field, the kind and the reason are in it."""
    with pytest.raises(ValueError, match=reason):
        mapped(Retrieval(), **params)


def test_a_payload_without_fields_fails() -> None:
    """Nothing can be set in it."""
    with pytest.raises(ValueError, match="a int has no field text"):
        mapped(5, expression="1")


def test_code_is_no_expression() -> None:
    """It is an error of the params, told while typing."""
    with pytest.raises(ValidationError, match="a point behind a value"):
        MapParams(expression="text.__class__")
