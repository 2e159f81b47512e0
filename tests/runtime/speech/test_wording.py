"""Tests of `aiflow.speech.wording`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.speech.wording import LONGEST, pieces


def test_a_text_is_said_sentence_by_sentence() -> None:
    """Line ends end a sentence too, and blanks are no news."""
    text = "Hello there.  How are\tyou?\nFine! It costs 3.50, e.g. in Bonn.\n\nBye"

    assert pieces(text) == [
        "Hello there.",
        "How are you?",
        "Fine!",
        "It costs 3.50, e.g. in Bonn.",
        "Bye",
    ]


def test_a_language_without_blanks_has_sentences_too() -> None:
    """Its full stop is enough."""
    assert pieces("你好。再见!") == ["你好。", "再见!"]


@pytest.mark.parametrize(
    "text", ["", " \n", "---", "?!…", "😀👍🏽", "\x00\x1b\x07", "**__**", "\ud800"]
)
def test_what_has_no_words_is_not_said(text: str) -> None:
    """Dashes, pictures, control letters, half a letter."""
    assert pieces(text) == []


def test_marks_pictures_and_control_letters_are_left_out() -> None:
    """What a voice would read out as words of their own."""
    text = "## Bread\n**Mix** the `flour`\x00 and _wait_ 😀 2 * 3 = snake_case."

    assert pieces(text) == ["Bread", "Mix the flour and wait 2 * 3 = snake_case."]


def test_a_long_sentence_is_cut_at_a_comma_else_at_a_blank_else_anywhere() -> None:
    """So that the first sound comes soon, whatever somebody sends."""
    commas = pieces("one two, " * 100)
    blanks = pieces("word " * 100)

    assert commas[0].endswith("two,")
    assert blanks[0].endswith("word")
    assert [len(each) for each in pieces("x" * 10_000)] == [LONGEST] * 33 + [100]


@given(st.text())
def test_no_word_is_lost_and_no_piece_is_long_or_empty(text: str) -> None:
    """All letters and digits are said, in their order."""
    made = pieces(text)

    assert all(0 < len(each) <= LONGEST for each in made)
    said = [letter for letter in "".join(made) if letter.isalnum()]
    assert said == [letter for letter in text if letter.isalnum()]
