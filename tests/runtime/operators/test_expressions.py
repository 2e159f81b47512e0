"""Tests of `aiflow.operators.expressions`."""

from __future__ import annotations

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.operators.expressions import FUNCTIONS, MAX_TEXT, Expression

NAMES = {"text": "One two, three.", "n": 7, "items": [1, 2], "raw": {"a": "b"}, "none": None}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("7 // 2 + 7 % 4", 6),
        ("-n + +n", 0),
        ("text[:3] + '!'", "One!"),
        ("'ab' * 2", "abab"),
        ("raw['a']", "b"),
        ("items[0]", 1),
        ("3 < n <= 7", True),
        ("3 < n < 7", False),
        ("'two' in text and n != 8", True),
        ("'x' not in text", True),
        ("none is None or missing", True),
        ("not n", False),
        ("none and missing", None),
        ("'long' if len(text) > 10 else missing", "long"),
        ("n in [1, 7]", True),
        ("n in (1, 2)", False),
        ("upper(text)", "ONE TWO, THREE."),
        ("join(words(replace(text, ',', '')), '-')", "One-two-three."),
        ("lines('a' + str(n))", ["a7"]),
        ("round(float('2.345'), 1) + int('3')", 5.3),
        ("min(n, 3) + max(n, 3) + abs(-1)", 11),
        ("starts(text, 'One') and ends(text, '.')", True),
        ("count(text, 'e')", 3),
        ("matches(text, '[a-z]+,')", True),
        ("title(strip(lower(' A ')))", "A"),
    ],
)
def test_an_expression_has_the_value_that_python_readers_expect(source: str, value: object) -> None:
    """The whole language in rows; what is not reached is not computed."""
    assert Expression(source).evaluate(NAMES) == value


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("text.upper()", "there is no function text.upper; there are len, str"),
        ("text.__class__", "a point behind a value"),
        ("().__class__.__mro__", "a point behind a value"),
        ("__import__('os')", "there is no function __import__"),
        ("(lambda: 1)()", "there is no function"),
        ("[each for each in text]", "listcomp"),
        ("f'{text}'", "joinedstr"),
        ("{'a': 1}", "dict"),
        ("(x := 1)", "an assignment"),
        ("2 ** 99", "a power"),
        ("1 << 9", "lshift"),
        ("~1", "invert"),
        ("len(*text)", "without names or stars"),
        ("len(a=1)", "without names or stars"),
        ("len()", "len takes 1 values, not 0"),
        ("round(1, 2, 3)", "round takes 1 to 2 values"),
        ("b'bytes'", "may not hold b'bytes'"),
        ("1j", "may not hold 1j"),
        ("...", "may not hold"),
        ("a b", "is no expression"),
        ("", "is no expression"),
        ("x = 1", "is no expression"),
        ("\0", "is no expression"),
        ("(" * 900, "is no expression|nested too deeply"),
        ("-" * 1990 + "1", "nested too deeply"),
        ("1+" * 1000 + "1", "at most 2,000 characters"),
    ],
)
def test_what_the_language_does_not_have_is_refused_before_a_run(source: str, reason: str) -> None:
    """Naming it; nothing is computed to find out."""
    with pytest.raises(ValueError, match=reason):
        Expression(source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("txt", "there is no txt in this payload; it has items, n,"),
        ("1 / 0", "division by zero"),
        ("text + 1", "a number is wanted, not 'One two"),
        ("upper(1)", "a text is wanted, not 1; write str"),
        ("text[99]", "index out of range"),
        ("n[0]", "a int has no parts"),
        ("raw['z']", "'z'"),
        ("int('x')", "is no whole number"),
        ("float('x')", "is no number"),
        ("'%999999999d' % 1", "a number is wanted"),
        ("text * 999999999", "longer than 1,000,000"),
        ("replace(text * 1000, '', text * 1000)", "longer than 1,000,000"),
        ("join(words(text), 'x' * 900000)", "longer than 1,000,000"),
        ("matches(text, '(')", "cannot be computed"),
        ("1 < 'a'", "not supported"),
    ],
)
def test_what_cannot_be_computed_says_why(source: str, reason: str) -> None:
    """One sentence with the expression in it; no other kind of error leaves."""
    with pytest.raises(ValueError, match=reason):
        Expression(source).evaluate(NAMES)


WORDS = ("text", "n", "items", "raw", "1", "'a'", "0.5", "None", "__class__", "eval", "lambda ")
SIGNS = (*"()[]{}.,:+-*/%<>=", " ", " and ", " not ", " if ", " else ", " in ")
PIECES = st.sampled_from((*FUNCTIONS, *WORDS, *SIGNS))


@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_written_ends_in_a_plain_value_or_in_a_value_error(source: str) -> None:
    """No text reaches anything but values, and none breaks out by another error."""
    with contextlib.suppress(ValueError):
        value = Expression(source).evaluate(NAMES)
        assert isinstance(value, str | int | float | bool | list | dict | type(None))
        assert not isinstance(value, str) or len(value) <= MAX_TEXT + len(source)


@given(st.text(max_size=30))
def test_a_text_that_is_a_constant_stays_what_it_is(text: str) -> None:
    """Reading and writing a text constant is the identity."""
    assert Expression(repr(text)).evaluate({}) == ast.literal_eval(repr(text)) == text
