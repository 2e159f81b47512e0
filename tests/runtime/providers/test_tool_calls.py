"""Tests of `aiflow.providers.tool_calls`: what leaves can simply be joined."""

from __future__ import annotations

import pytest

from aiflow.events import ToolFragment
from aiflow.providers.tool_calls import ToolCalls, parse_arguments


def test_the_id_comes_once_and_a_repeated_name_not_at_all() -> None:
    """Servers that repeat both in every piece look like those that do not."""
    calls = ToolCalls(0)
    entry = {"index": 3, "id": "c", "function": {"name": "f", "arguments": "{"}}

    first, second = calls.add(entry), calls.add(entry)

    assert first == ToolFragment(0, "c", "f", "{")
    assert second == ToolFragment(0, "", "", "{")


def test_an_id_that_comes_later_belongs_to_the_open_call() -> None:
    """A first piece without an id is completed by the next, not doubled."""
    calls = ToolCalls(0)

    calls.add({"index": 0, "function": {"name": "f"}})
    second = calls.add({"index": 0, "id": "c", "function": {"arguments": "{}"}})

    assert len(calls) == 1
    assert second == ToolFragment(0, "c", "", "{}")


def test_a_new_name_after_whole_arguments_opens_a_call() -> None:
    """At a used index and without ids, nothing else tells two calls apart."""
    calls = ToolCalls(0)

    calls.add({"index": 0, "function": {"name": "f", "arguments": "{}"}})
    calls.add({"index": 0, "function": {"name": "g", "arguments": "{}"}})

    assert len(calls) == 2


def test_half_a_character_of_the_arguments_waits() -> None:
    """Halves meet per call, though another call's piece comes between."""
    calls = ToolCalls(0)
    pieces = [
        calls.add({"index": 0, "id": "a", "function": {"arguments": '"\ud83e'}}),
        calls.add({"index": 1, "id": "b", "function": {"arguments": '"\ud83e'}}),
        calls.add({"index": 0, "function": {"arguments": '\udd9c"'}}),
        *calls.end(),
    ]

    assert "".join(each.arguments for each in pieces if each.index == 0) == '"🦜"'
    assert "".join(each.arguments for each in pieces if each.index == 1) == '"\ufffd'


@pytest.mark.parametrize("entry", [{}, {"function": None}, {"function": "f"}, {"id": 7}])
def test_a_strange_entry_is_a_piece_with_nothing(entry: dict[str, object]) -> None:
    """Missing and wrong fields are as if they were empty."""
    fragment = ToolCalls(0).add(entry)

    assert (fragment.name, fragment.arguments) == ("", "")


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        ("", {}),
        (" \n", {}),
        ('{"a": [1]}', {"a": [1]}),
        ('{"a":1}{"a":1}', None),
        ("[1]", None),
        ('"{}"', None),
        ('{"a": NaN}', None),
        ('{"a":', None),
        ("[" * 100_000, None),
    ],
)
def test_arguments_are_an_object_or_not_understood(raw: str, parsed: object) -> None:
    """Empty text is no argument; what is no JSON object is None, never repaired."""
    assert parse_arguments(raw) == parsed
