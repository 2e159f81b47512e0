"""Tests of `aiflow.operators.builtin.aggregate`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aiflow.events import Chunk, Control, Message, Token
from aiflow.operators.builtin.aggregate import Aggregate, AggregateParams
from aiflow.testing.operators import run_operator


def test_the_turn_leaves_as_one_message_at_its_end() -> None:
    """Nothing leaves before, all is in it, and what is kept is said."""
    run = run_operator(Aggregate(AggregateParams()), [Token("a "), Chunk("b "), Message("c")])

    assert run.at("out") == [Message("a b c")]
    assert run.kept == [0, 0, 0, None]


def test_a_turn_without_text_makes_no_message() -> None:
    """An empty message would be an answer that nobody gave."""
    assert run_operator(Aggregate(AggregateParams()), [Token("")]).outputs == []


@given(st.lists(st.text("ab", max_size=5), max_size=20), st.integers(1, 12))
def test_a_long_text_leaves_in_pieces_and_none_is_lost(texts: list[str], most: int) -> None:
    """The bound on characters holds for all but a single text that is longer by itself."""
    aggregate = Aggregate(AggregateParams(max_characters=most))

    messages = run_operator(aggregate, [Token(text) for text in texts]).at("out")

    assert "".join(message.text for message in messages) == "".join(texts)
    longest = max(map(len, texts), default=0)
    assert all(len(message.text) <= max(most, longest) for message in messages)


def test_each_answer_is_a_message_where_that_is_asked_for() -> None:
    """At its finish, which stands behind its text; another control message says nothing."""
    finish = Control("finish", {"choice": 0, "reason": "stop"})
    texts = [Token("one"), Control("usage"), finish, Token("two"), finish, finish]

    by_answer = run_operator(Aggregate(AggregateParams(until="answer")), texts)
    by_turn = run_operator(Aggregate(AggregateParams()), texts)

    assert by_answer.at("out") == [Message("one"), Message("two")]
    assert by_answer.kept == [0, 0, None, 3, None, None, None]
    assert by_turn.at("out") == [Message("onetwo")]


def test_one_channel_is_taken_and_the_other_left_out() -> None:
    """A text without a channel belongs to every one."""
    texts = [Token("hm", "reasoning"), Token("yes"), Message("!")]

    answer = run_operator(Aggregate(AggregateParams(channel="answer")), texts)
    reasoning = run_operator(Aggregate(AggregateParams(channel="reasoning")), texts)

    assert answer.at("out") == [Message("yes!")]
    assert reasoning.at("out") == [Message("hm!")]
