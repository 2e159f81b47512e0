"""Tests of `aiflow.operators.withholding`."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.operators.withholding import GrowingText, Rules

WINDOW = 5
TERMS = ("ab", "bca", "aaaa", "cabca")
PATTERNS = (r"c[ab]{1,3}c", r"\bb\b", r"(?<=a )b", r"a(?! )c")
ALPHABET = "abc "

pieces = st.lists(st.text(ALPHABET, min_size=1, max_size=7), max_size=12)
rules = st.builds(
    Rules,
    st.lists(st.sampled_from(TERMS), unique=True),
    st.lists(st.sampled_from(PATTERNS), unique=True),
)


def streamed(which: Rules, parts: list[str]) -> tuple[str, int]:
    """Return what leaves of a text that comes in parts, and how many gaps it has."""
    text = GrowingText(which, WINDOW)
    out, gaps = "", 0
    for number, part in enumerate(parts, 1):
        text.add(part)
        decided = text.decide(is_end=number == len(parts))
        left, begun = text.take(decided, "#")
        out, gaps = out + left, gaps + begun
    return out, gaps


def at_once(which: Rules, text: str) -> str:
    """Return the text with every letter of every match withheld: what is to be."""
    mask = bytearray(len(text))
    for each in range(which.count):
        for begin, end, _ in which.matches(each, text, 0):
            mask[begin:end] = b"\1" * (end - begin)
    marked = "".join("\0" if hidden else letter for letter, hidden in zip(text, mask, strict=True))
    return re.sub("\0+", "#", marked)


@given(rules, pieces)
def test_every_cut_of_a_text_leaves_the_same(which: Rules, parts: list[str]) -> None:
    """What leaves is what a search of the whole would leave, and each gap is told once."""
    out, gaps = streamed(which, parts)

    assert out == at_once(which, "".join(parts))
    assert out.count("#") == gaps


@given(pieces)
def test_no_term_ever_leaves(parts: list[str]) -> None:
    """Whatever the cuts, in what has left at any time there is no term."""
    out, _ = streamed(Rules(TERMS, ()), parts)

    assert not any(term in out for term in TERMS)


@given(st.lists(st.tuples(st.text(ALPHABET, min_size=1, max_size=7), st.booleans())))
def test_a_text_that_had_to_leave_early_still_lets_no_term_through(
    parts: list[tuple[str, bool]],
) -> None:
    """Where all of it was let go in mid-match, the rest of the match is withheld."""
    text = GrowingText(Rules(TERMS, ()), WINDOW)
    out = ""
    for part, is_end in [*parts, ("c", True)]:
        text.add(part)
        out += text.take(text.decide(is_end=is_end), "#")[0]

    assert not any(term in out for term in TERMS)


@given(pieces)
def test_what_is_kept_does_not_grow_with_the_text(parts: list[str]) -> None:
    """Context, window and the last part, and nothing more."""
    text = GrowingText(Rules(TERMS, PATTERNS), WINDOW)

    for part in parts * 20:
        text.add(part)
        text.take(text.decide(), "#")
        assert len(text._text) <= 4 * WINDOW + len(part)


@pytest.mark.parametrize(
    ("is_cut", "left"), [(False, ("xx#yy#", 2)), (True, ("xx#", 1))], ids=["redact", "block"]
)
def test_a_cut_ends_behind_the_first_gap(is_cut: bool, left: tuple[str, int]) -> None:
    """What block mode lets through."""
    text = GrowingText(Rules(("ab",), ()), WINDOW)
    text.add("xxabyyab")

    assert text.take(text.decide(is_end=True), "#", is_cut=is_cut) == left


def test_capitals_count_as_the_same_only_where_asked() -> None:
    """`ignore_case` holds for terms and patterns."""
    for ignore_case, left in ((True, "#-#"), (False, "AB-CC")):
        text = GrowingText(Rules(("ab",), ("cc",), ignore_case=ignore_case), WINDOW)
        text.add("AB-CC")
        assert text.take(text.decide(is_end=True), "#")[0] == left
