"""Tests of `aiflow.compiler.values`."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from aiflow.compiler.values import Flaw, made, validated
from aiflow.graph.json_text import WrittenNumber
from aiflow.policies import Policy


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str = ""
    share: float = 0.5
    inner: Inner = Inner()
    either: int | Literal["none"] = 1
    many: tuple[int, ...] = ()

    @field_validator("name")
    @classmethod
    def _check(cls, name: str) -> str:
        if name == "boom":
            raise RuntimeError("a validator that breaks")
        if name == "bad":
            raise ValueError("Bad is no name")
        return name


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"share": "half"}, "share", "must be a valid number"),
        ({"share": WrittenNumber("1e999")}, "share", "is Infinity, but must be a finite number"),
        ({"name": "bad"}, "name", "does not fit: bad is no name"),
        ({"inner": {"depth": "1"}}, "inner.depth", "must be a valid integer"),
        ({"inner": {"depth": True}}, "inner.depth", "is true, but must be a valid integer"),
        ({"many": [1, "2"]}, "many.1", "must be a valid integer"),
        ({"either": 1.5}, "either", "is 1.5, but must be a valid integer"),
    ],
)
def test_a_flaw_says_where_and_what(given: dict[str, Any], field: str, message: str) -> None:
    """The field as it stands in the file, and a clause that follows its name."""
    model, flaws = validated(Outer, given)

    assert model is None
    assert (flaws[0].field, flaws[0].message) == (field, message)


@pytest.mark.parametrize("given", [{"nmae": ""}, {"inner": {"nmae": ""}}])
def test_an_unknown_field_comes_with_those_there_are(given: dict[str, Any]) -> None:
    """At whatever depth, so that the right one can be suggested."""
    _, (flaw,) = validated(Outer, given)

    assert flaw.is_unknown
    assert flaw.field.endswith("nmae")
    assert ("depth" in flaw.choices) == ("inner" in given)


def test_numbers_as_written_are_numbers() -> None:
    """What the file keeps as 0.250 is 0.25 to the operator."""
    model, flaws = validated(Outer, {"share": WrittenNumber("0.250")})

    assert (model, flaws) == (Outer(share=0.25), ())


def test_enums_are_given_as_text() -> None:
    """As they stand in a file."""
    model, _ = validated(Policy, {"overflow": "drop_oldest", "retry": {"retry_on": ["any"]}})

    assert model is not None
    assert model.overflow == "drop_oldest"


def test_a_validator_that_breaks_is_a_flaw() -> None:
    """A plug-in's mistake is no crash of ours."""
    _, flaws = validated(Outer, {"name": "boom"})

    assert flaws == (Flaw("", "cannot be looked at (RuntimeError: a validator that breaks)"),)


def test_what_is_no_json_is_a_flaw() -> None:
    """A program may put anything into params."""
    _, (flaw,) = validated(Outer, {"name": object()})

    assert "cannot be written as JSON" in flaw.message


def test_a_constructor_that_breaks_is_a_flaw() -> None:
    """The reason is kept."""
    assert made(int, "x")[1][0].message.startswith("cannot be used (ValueError: invalid literal")
    assert made(int, "7") == (7, ())
