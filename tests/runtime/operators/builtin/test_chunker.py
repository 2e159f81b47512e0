"""Tests of `aiflow.operators.builtin.chunker`."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.events import Chunk, Message, Token
from aiflow.operators.builtin.chunker import Chunker, ChunkerParams
from aiflow.testing.operators import run_operator


def chunks_of(text: str, **params: object) -> list[str]:
    """Return the chunks' texts for a text that comes word by word."""
    tokens = [Token(part) for part in re.findall(r"\s*\S+|\s+\Z", text)]
    run = run_operator(Chunker(ChunkerParams.model_validate(params)), tokens)
    return [chunk.text for chunk in run.at("out")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It waits. It is full!", ["It waits.", " It is full!"]),
        ('He said "stop." Then went', ['He said "stop."', " Then went"]),
        ("About 3. 5 percent", ["About 3. 5 percent"]),
        ("Version 3 . 5", ["Version 3 .", " 5"]),
        ("Tokens, e.g. words", ["Tokens, e.g. words"]),
        ("Full\uff1f Yes。", ["Full\uff1f", " Yes。"]),
        ("no end at all", ["no end at all"]),
        ("", []),
    ],
)
def test_a_chunk_ends_with_its_sentence(text: str, expected: list[str]) -> None:
    """A sentence end cuts; a point in a number or an abbreviation does not."""
    assert chunks_of(text) == expected


def test_a_line_end_cuts_but_blank_lines_wait_for_words() -> None:
    """A heading is a chunk, and no chunk is made of white space alone."""
    tokens = [Token(text) for text in ("Heading", "\n", "\n", "\n", "words")]

    run = run_operator(Chunker(ChunkerParams()), tokens)

    assert [chunk.text for chunk in run.at("out")] == ["Heading\n", "\n\nwords"]


def test_a_point_is_read_with_the_token_before_it() -> None:
    """A number cut into tokens is not taken for the end of a sentence."""
    tokens = [Token(text) for text in ("It is ", "3", ".", "5", " ", "sec", ".", "”", " Go")]

    run = run_operator(Chunker(ChunkerParams()), tokens)

    assert [chunk.text for chunk in run.at("out")] == ["It is 3.5 sec.", "” Go"]


def test_a_chunk_has_at_most_max_tokens() -> None:
    """Without sentence ends the count cuts."""
    assert chunks_of("a b c d e f g", max_tokens=3) == ["a b c", " d e f", " g"]


def test_counting_only_ignores_sentence_ends() -> None:
    """`until: count` cuts at the count and nowhere else."""
    assert chunks_of("a. b. c. d.", max_tokens=3, until="count") == ["a. b. c.", " d."]


def test_a_change_of_channel_ends_the_chunk() -> None:
    """Reasoning and answer never share a chunk, also where one token is a sentence."""
    tokens = [Token("Hm", "reasoning"), Token("Yes."), Token("No."), Token("So", "reasoning")]

    run = run_operator(Chunker(ChunkerParams()), tokens)

    assert run.at("out") == [
        Chunk("Hm", "reasoning"),
        Chunk("Yes."),
        Chunk("No."),
        Chunk("So", "reasoning"),
    ]


def test_a_message_counts_as_answer_text() -> None:
    """A message has no channel; it is what was answered."""
    run = run_operator(Chunker(ChunkerParams(max_tokens=1)), [Message("All of it")])

    assert run.at("out") == [Chunk("All of it", "answer")]


def test_it_says_from_where_it_keeps_events() -> None:
    """The lowest kept sequence is reported after each call, and none at the end."""
    run = run_operator(Chunker(ChunkerParams(max_tokens=2)), [Token(" a")] * 5)

    assert run.kept == [0, None, 2, None, 4, None]


TOKEN_LISTS = st.lists(
    st.builds(
        Token,
        st.text("ab .!?\n\"'1", max_size=4),
        st.sampled_from(["reasoning", "answer", "refusal"]),
    ),
    max_size=40,
)


@given(TOKEN_LISTS, st.integers(1, 6), st.sampled_from(["sentence", "count"]))
def test_no_letter_is_lost_or_moved(tokens: list[Token], most: int, until: str) -> None:
    """Per channel run, the chunks' texts in a row are the tokens' texts in a row."""
    chunker = Chunker(ChunkerParams.model_validate({"max_tokens": most, "until": until}))

    run = run_operator(chunker, tokens)

    assert _joined(run.at("out")) == _joined(tokens)


@given(TOKEN_LISTS, st.integers(1, 6))
def test_it_keeps_fewer_events_than_it_declares(tokens: list[Token], most: int) -> None:
    """After each call at most `kept_events()` tokens wait, so that the bound is true."""
    chunker = Chunker(ChunkerParams(max_tokens=most))

    run = run_operator(chunker, tokens)

    for sequence, kept in enumerate(run.kept[:-1]):
        assert kept is None or sequence - kept + 1 <= chunker.kept_events()


def _joined(payloads) -> list[tuple[str, str]]:
    """Return neighbouring texts of one channel joined."""
    return [
        (channel, "".join(each.text for each in group))
        for channel, group in groupby(payloads, key=lambda each: each.channel)
    ]
