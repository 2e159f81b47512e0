"""Tests of `aiflow.providers.partial_args`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.providers.partial_args import PartialArguments

NAMES = st.text(min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(min_size=1, max_size=6),
    lambda inside: (
        st.lists(inside, min_size=1, max_size=3)
        | st.dictionaries(NAMES, inside, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def parts_of(value: Any, path: str) -> list[dict[str, Any]]:
    """Return the parts that a value is sent in, its texts letter by letter."""
    if isinstance(value, dict):
        quoted = {name: name.replace("\\", "\\\\").replace("'", "\\'") for name in value}
        return [
            part for name in value for part in parts_of(value[name], f"{path}['{quoted[name]}']")
        ]
    if isinstance(value, list):
        return [part for at, each in enumerate(value) for part in parts_of(each, f"{path}[{at}]")]
    if isinstance(value, str):
        return [{"jsonPath": path, "stringValue": letter} for letter in value]
    if value is None:
        return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
    kind = "boolValue" if isinstance(value, bool) else "numberValue"
    return [{"jsonPath": path, kind: value}]


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3))
def test_an_object_comes_back_from_its_parts(value: dict[str, Any]) -> None:
    """Whatever it is made of."""
    arguments = PartialArguments()

    assert all([arguments.add(part) for part in parts_of(value, "$")])
    assert arguments.value == value


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"jsonPath": "$.a"},
        {"stringValue": "x"},
        {"jsonPath": "$", "stringValue": "x"},
        {"jsonPath": "a", "stringValue": "x"},
        {"jsonPath": "$.a[*]", "stringValue": "x"},
        {"jsonPath": "$..a", "stringValue": "x"},
        {"jsonPath": "$.list[999999999]", "stringValue": "x"},
        {"jsonPath": "$.list.name", "stringValue": "x"},
        {"jsonPath": "$.text.name", "stringValue": "x"},
        {"jsonPath": 7, "stringValue": "x"},
    ],
)
def test_what_has_no_place_is_left_out(part: dict[str, Any]) -> None:
    """And what is there stays as it is, however large the number."""
    arguments = PartialArguments()
    arguments.value = {"list": [1], "text": "t"}

    assert not arguments.add(part)
    assert arguments.value["list"] == [1]
