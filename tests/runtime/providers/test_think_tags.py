"""Tests of `aiflow.providers.think_tags`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aiflow.providers.think_tags import ThinkSplitter

PARTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "</", "think>", "a", " ", "<thi", "\n"]),
    max_size=10,
)


def split(pieces: list[str], start: bool) -> dict[str, str]:
    """Return the two texts of pieces that come one after another."""
    splitter = ThinkSplitter(start_in_reasoning=start)
    texts = {"reasoning": "", "answer": ""}
    for piece in pieces:
        for channel, text in splitter.split(piece):
            assert text
            texts[channel] += text
    for channel, text in splitter.end():
        texts[channel] += text
    return texts


@given(PARTS, st.booleans())
def test_where_the_deltas_are_cut_changes_nothing(parts: list[str], start: bool) -> None:
    """Whole, in parts or letter by letter: the same two texts."""
    whole = "".join(parts)

    assert split(parts, start) == split([whole], start) == split(list(whole), start)


@given(PARTS)
def test_no_text_is_lost_but_the_tags(parts: list[str]) -> None:
    """Both texts together have every letter that belongs to no tag."""
    whole = "".join(parts)

    texts = split([whole], start=False)

    tags = len(whole) - len(texts["reasoning"]) - len(texts["answer"])
    assert tags in {7 * n + 8 * m for n in range(11) for m in (n - 1, n)}


def test_a_closing_tag_that_was_never_opened_is_text() -> None:
    """Without the option a lone closing tag stays in the answer."""
    assert split(["a</think>b"], start=False) == {"reasoning": "", "answer": "a</think>b"}


def test_a_second_block_is_reasoning_again() -> None:
    """A model may think more than once."""
    texts = split(["<think>a</think>b<think>c</think>d"], start=False)

    assert texts == {"reasoning": "ac", "answer": "bd"}
