"""From text to value and back, and the sentences for what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from aiflow.compiler.values import validated
from aiflow.graph.values import same
from aiflow.policies import Policy
from aiflow_studio.inspector.entries import EntryError, expectation, fault_of, read, write
from aiflow_studio.inspector.fields import FieldSpec, Kind, fields_of


def _spec(kind: Kind, **more: object) -> FieldSpec:
    return FieldSpec("field", "Field", kind, **more)  # type: ignore[arg-type]


def _outcome(field: FieldSpec, text: str) -> tuple[object, str | None]:
    try:
        return read(field, text), None
    except EntryError as error:
        return None, str(error)


ENTRY_KINDS = [kind for kind in Kind if kind is not Kind.GROUP]
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(ENTRY_KINDS), st.text(), st.booleans())
def test_any_text_is_a_writable_value_or_is_refused_with_a_sentence(kind, text, is_optional):
    """No text makes a reader fall over, or a value that no file can hold."""
    field = _spec(kind, is_optional=is_optional, choices=("a", "b"))

    value, sentence = _outcome(field, text)

    assert sentence is None or (sentence.startswith("Field ") and sentence.endswith("."))
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_a_list_of_texts_is_read_as_it_was_written(value):
    """Also with empty entries, line ends, brackets."""
    assert read(_spec(Kind.LINES), write(_spec(Kind.LINES), value)) == value


@given(st.integers(-(10**39), 10**39) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_as_it_was_written(value):
    """Whole or not, whatever its size."""
    assert read(_spec(Kind.NUMBER), write(_spec(Kind.NUMBER), value)) == value


@given(JSON_VALUES)
def test_a_json_value_is_read_as_it_was_written(value):
    """Whatever a plug-in's parameter is."""
    assert same(read(_spec(Kind.JSON), write(_spec(Kind.JSON), value)), value)


@pytest.mark.parametrize("text", ["", "x", "0x10", "1,000", "٣", "1_000", "1.5", "1e3", "9" * 50])
def test_a_whole_number_is_digits_and_nothing_else(text):
    """What Python's int() would take more than a person means is refused."""
    with pytest.raises(EntryError, match="Field is a whole number"):
        read(_spec(Kind.INTEGER), text)


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "1_0", "", "1.2.3", "--1"])
def test_a_number_is_finite_and_plain(text):
    """No infinity, no underscore."""
    with pytest.raises(EntryError, match="Field is a number"):
        read(_spec(Kind.NUMBER), text)


def test_an_optional_field_takes_an_empty_entry_as_no_value():
    """Empty means None, for a number as for a text."""
    assert read(_spec(Kind.NUMBER, is_optional=True), " ") is None
    assert read(_spec(Kind.TEXT, is_optional=True), "") is None


@pytest.mark.parametrize("secret", ["sk-123456", "AIzaSyD4fgh5jkl6qwe7rty8uio9p0", "a b", "é"])
def test_a_secret_itself_is_never_taken_for_its_name(secret):
    """What does not look like a variable's name may be the key."""
    with pytest.raises(EntryError, match="never the secret itself"):
        read(_spec(Kind.SECRET_NAME), secret)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "my_key", "K2", ""])
def test_the_name_of_a_variable_is_taken(name):
    """Upper or lower case."""
    assert read(_spec(Kind.SECRET_NAME), name) == name


def test_half_a_surrogate_pair_is_refused():
    """UTF-8 has no way to write it, so no file could be saved any more."""
    with pytest.raises(EntryError, match="no file can hold"):
        read(_spec(Kind.TEXT), "a\ud800")


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ({"low": 1, "high": 1_000_000}, "Field is a whole number from 1 to 1,000,000."),
        ({"low": 0}, "Field is a whole number, 0 or more."),
        ({"low": 0, "low_is_open": True}, "Field is a whole number above 0."),
        ({"high": 9}, "Field is a whole number at most 9."),
        ({"step": 2}, "Field is a whole number in steps of 2."),
        (
            {"low": 1, "high": 3, "is_optional": True},
            "Field is a whole number from 1 to 3, or empty.",
        ),
    ],
)
def test_what_a_field_takes_is_one_sentence(bounds, sentence):
    """The sentence below a red number."""
    assert expectation(_spec(Kind.INTEGER, **bounds)) == sentence


class Odd(BaseModel):
    count: int = Field(1, ge=1, le=9)
    name: str = Field("a", min_length=1, max_length=3)
    words: tuple[str, ...] = Field(("a",), min_length=1)
    even: int = 2
    needed: str

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("only even numbers do")
        return value


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("count", 0, "Count is a whole number from 1 to 9."),
        ("count", "x", "Count is a whole number from 1 to 9."),
        ("name", "", "Name must not be empty."),
        ("name", "abcd", "Name must have at most 3 letters."),
        ("name", 5, "Name must be a text."),
        ("words", [], "Words must not be empty."),
        ("even", 3, "Even: only even numbers do."),
    ],
)
def test_a_fault_is_told_in_a_sentence_that_names_the_field(name, value, sentence):
    """Pydantic's findings in our words."""
    fields = {each.name: each for each in fields_of(Odd)}

    assert fault_of(Odd, {"needed": "", name: value}, fields[name]) == sentence


@pytest.mark.parametrize("workers", ["4", True, 4.5])
def test_a_value_of_another_kind_is_refused_as_the_compiler_refuses_it(workers):
    """A file may hold it, and a run would not begin with it."""
    (spec,) = [each for each in fields_of(Policy) if each.name == "workers"]
    given = {"workers": workers}

    assert validated(Policy, given)[1]
    assert fault_of(Policy, given, spec) == expectation(spec)


def test_half_a_character_elsewhere_is_no_fault_of_this_field():
    """It spoils the text of the whole form, and is told where it stands."""
    (spec,) = [each for each in fields_of(Policy) if each.name == "workers"]

    assert fault_of(Policy, {"workers": 2, "partition_key": "\ud800"}, spec) == ""


def test_a_fault_elsewhere_is_no_fault_of_this_field():
    """One wrong value does not turn the others red."""
    fields = {each.name: each for each in fields_of(Odd)}

    assert fault_of(Odd, {"count": 0, "name": "b"}, fields["name"]) == ""
    assert fault_of(Odd, {}, fields["needed"]) == "Needed is needed and has no value."
