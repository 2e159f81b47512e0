"""Tests of `aiflow.tools.schema`."""

from __future__ import annotations

import pytest

from aiflow.errors import ToolError
from aiflow.tools.schema import ArgumentsCheck, fitting_name, schema_fault

SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["place"],
}


def test_arguments_that_fit_pass() -> None:
    """More of them may be given where the schema does not forbid it."""
    ArgumentsCheck("t", SCHEMA).check({"place": "x", "days": 2, "more": None})


def test_each_fault_is_named_with_its_place() -> None:
    """All at once, so that a model can mend them at once."""
    with pytest.raises(ToolError) as caught:
        ArgumentsCheck("t", SCHEMA).check({"days": 0})

    said = str(caught.value)
    assert said.startswith("the arguments do not fit the tool t: ")
    assert "'place' is a required property" in said
    assert "days: 0 is less than the minimum of 1" in said


def test_a_long_list_of_faults_is_cut() -> None:
    """With the number of those that are left out."""
    schema = {"type": "object", "required": [f"a{number}" for number in range(9)]}

    with pytest.raises(ToolError, match="and 4 more"):
        ArgumentsCheck("t", schema).check({})


def test_a_reference_to_an_address_is_never_followed() -> None:
    """A schema of a stranger must not make this program call anybody."""
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}

    with pytest.raises(ToolError, match="refers to http://127"):
        ArgumentsCheck("t", schema).check({"a": 1})


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "array"}, "arguments are an object"),
        ({"type": "object", "properties": 3}, "properties"),
        ({}, ""),
        (SCHEMA, ""),
    ],
)
def test_what_is_no_schema_of_arguments_is_told(schema: dict[str, object], says: str) -> None:
    """Before the run."""
    fault = schema_fault(schema)

    assert says in fault
    assert bool(fault) == bool(says)


@pytest.mark.parametrize(
    ("name", "fits"), [("a-b_1", True), ("", False), ("a b", False), ("x" * 65, False)]
)
def test_a_name_fits_where_every_provider_takes_it(name: str, fits: bool) -> None:
    """The least that they agree on."""
    assert fitting_name(name) is fits
