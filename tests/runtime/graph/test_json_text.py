"""Tests of `aiflow.graph.json_text`."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given

from aiflow.errors import GraphFileError
from aiflow.graph.json_text import MAX_BYTES, MAX_DEPTH, WrittenNumber, parse, render
from tests.runtime.graph.drawn import VALUES


@given(VALUES)
def test_what_is_rendered_is_read_back_as_it_was(value: Any) -> None:
    """Rendering loses nothing and is plain JSON for everybody else."""
    text = render(value, "here")

    assert parse(text, "here") == value
    assert json.loads(text) == value
    assert render(parse(text, "here"), "here") == text


@pytest.mark.parametrize(
    "text", ["0.250", "1e3", "1.0", "-0", "-0.0", "1E+2", "1e999", "9" * 5000], ids=lambda t: t[:9]
)
def test_a_number_keeps_the_form_it_was_written_in(text: str) -> None:
    """0.250 is not rewritten to 0.25, and no number is too long or too large to be kept."""
    assert render(parse(text, "here"), "here") == text


def test_a_written_number_survives_being_copied() -> None:
    """Copies and pickles keep the text and not only the value."""
    number = WrittenNumber("0.250")

    copies = [copy.deepcopy(number), pickle.loads(pickle.dumps(number))]

    assert [each.text for each in copies] == ["0.250", "0.250"]


def test_text_outside_ascii_is_not_escaped() -> None:
    """A person reads the file; only what UTF-8 cannot hold is escaped."""
    assert render("τ ≤ ρ 日本 \ud800", "here") == '"τ ≤ ρ 日本 \\ud800"'


def test_what_fits_stands_on_one_line() -> None:
    """The form depends on the content alone, so that two writers write the same."""
    assert render({"a": [1, 2]}, "here") == '{"a": [1, 2]}'
    assert render({"a": ["x" * 60, "y" * 60]}, "here").count("\n") == 5
    assert render({"a": [1]}, "here", open_levels=1) == '{\n  "a": [1]\n}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty; open a graph"),
        (" \n", "the file is empty"),
        ('{"a": 1,\n "b" 2}', "not JSON at line 2, column 6"),
        ('{"record":"run","version":1}\n{"record":"end"}\n', "it is the record of a run"),
        ('{"a": 1, "b": {"c": 1,\n "c": 2}}', 'the key "c" at line 2, column 2 stands twice'),
        ('{"a": [1, NaN]}', "NaN at line 1, column 11 is no JSON number"),
        ("[1,\n-Infinity]", "-Infinity at line 2, column 1 is no JSON number"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "more than 64 levels"),
        ("[" * 200_000, "more than 64 levels"),
        ('{"a":' * 200_000, "more than 64 levels"),
        (b'{"a": "\xff"}', r"not UTF-8 text \(byte 7\)"),
        (" " * (MAX_BYTES + 1), "at most 16 MB are read"),
    ],
    ids=lambda part: str(part)[:20],
)
def test_what_is_no_json_is_refused_with_its_place(text: str | bytes, says: str) -> None:
    """The sentence names the file, the place and what to do."""
    with pytest.raises(GraphFileError, match=says) as caught:
        parse(text, "some.json")

    assert str(caught.value).startswith("some.json: ")
    assert caught.value.hint


def test_a_duplicate_is_found_under_its_escaped_name() -> None:
    """Two spellings of one key are one key; a key twice in two objects is none."""
    with pytest.raises(GraphFileError, match="stands twice"):
        parse('{"a": 1, "\\u0061": 2}', "here")
    assert parse('{"x": {"a": 1}, "a": ["a", "a"]}', "here") == {"x": {"a": 1}, "a": ["a", "a"]}


def test_a_byte_order_mark_is_skipped() -> None:
    """Some editors write one; it is no part of the text."""
    assert parse(b"\xef\xbb\xbf[1]", "here") == [1]


def test_depth_is_allowed_up_to_its_limit() -> None:
    """The limit itself is still read and written."""
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH

    assert "".join(render(parse(text, "here"), "here").split()) == text


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), {1: 2}, b"x", 10**5000],
    ids=["nan", "infinity", "object", "key", "bytes", "integer"],
)
def test_what_has_no_form_in_json_is_refused(value: object) -> None:
    """A program may put anything into params; writing says so and does not break down."""
    with pytest.raises(GraphFileError, match="cannot be written as JSON"):
        render({"a": [value]}, "here")


def test_a_value_within_itself_is_refused() -> None:
    """A list that holds itself ends in the same sentence as one nested too deep."""
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(GraphFileError, match="more than 64 levels"):
        render(loop, "here")
