"""Tests of `aiflow.providers.text`."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aiflow.events import Token
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, HalfKeeper, scrub, scrub_all

# Letters, halves and whole characters beyond U+FFFF.
TEXTS = st.text(st.sampled_from(["a", "\ud83e", "\udd9c", "🦜", "\ufffd"]), max_size=8)


@given(TEXTS, st.lists(st.integers(0, 8), max_size=3))
def test_halves_meet_wherever_the_text_is_cut(text: str, cuts: list[int]) -> None:
    """Pieces give the same text as the whole, and it can always be encoded."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    keeper = HalfKeeper()

    joined = "".join(keeper.add(text[a:b]) for a, b in pairwise(places))
    joined += keeper.end()

    assert joined == scrub(text)
    joined.encode()


@given(TEXTS)
def test_scrubbing_keeps_what_is_whole(text: str) -> None:
    """Only lone halves are replaced, one for one; letters stay."""
    clean = scrub(text)

    assert clean.count("a") == text.count("a")
    assert scrub(clean) == clean
    if text.isprintable():
        assert clean == text


def test_a_half_does_not_cross_channels() -> None:
    """A half at the end of the reasoning is not joined to the answer."""
    text = ChoiceText(0, ModelProfile())

    tokens = text.add("reasoning", "r\ud83e") + text.answer("\udd9ca") + text.end()

    assert tokens == [
        Token("r", "reasoning"),
        Token("\ufffd", "reasoning"),
        Token("\ufffda", "answer"),
    ]


def test_an_empty_piece_is_no_token() -> None:
    """Servers send empty text while a character is not whole."""
    text = ChoiceText(0, ModelProfile())

    assert text.answer("") == []
    assert text.add("reasoning", "") == []


def test_every_text_of_a_value_is_scrubbed() -> None:
    """Keys, lists and nested objects too."""
    assert scrub_all({"a\ud83e": ["\ud83e", 1, None, {"b": "c\udd9c"}]}) == {
        "a\ufffd": ["\ufffd", 1, None, {"b": "c\ufffd"}]
    }
