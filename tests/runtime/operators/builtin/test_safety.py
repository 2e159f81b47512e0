"""Tests of `aiflow.operators.builtin.safety`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aiflow.engine.session import Session
from aiflow.events import Channel, Chunk, Message, SafetyLabel, Token
from aiflow.operators.builtin.safety import Safety, SafetyParams
from aiflow.policies import Policy
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

LABEL = SafetyLabel("completion", "forbidden", filtered=True)
TERMS = ("secret", "eel", "sees")


def safety(**params: object) -> Safety:
    """Return a filter for "secret" with a window of eight, unless told otherwise."""
    given = {"terms": ("secret",), "window": 8, "replacement": "#", **params}
    return Safety(SafetyParams.model_validate(given))


def run(*payloads: object, **params: object) -> OperatorRun:
    """Run the filter on payloads."""
    return run_operator(safety(**params), payloads)


def text_of(payloads: list[Any]) -> str:
    """Return the texts in a row."""
    return "".join(payload.text for payload in payloads)


def cut(text: str, places: list[int]) -> list[str]:
    """Return a text in pieces."""
    ends = [*sorted({place % (len(text) + 1) for place in places}), len(text)]
    starts = [0, *ends[:-1]]
    return [text[start:end] for start, end in zip(starts, ends, strict=True) if start < end]


def test_a_match_across_tokens_is_withheld_and_labelled() -> None:
    """No piece of it leaves; the tokens around it keep their cut and kind."""
    made = run(Token("my "), Token("sec"), Token("r"), Token("et is"), Token(" safe"))

    assert made.at("out") == [Token("my "), Token("#"), Token(" is"), Token(" safe")]
    assert made.at("safety") == [LABEL]


def test_a_label_comes_right_before_the_event_in_which_the_gap_begins() -> None:
    """So a reader who is shown both knows which it is about."""
    ports = [port for port, _ in run(Token("a"), Token("secret"), Token("b")).outputs]

    assert ports == ["out", "safety", "out", "out"]


def test_what_is_clean_passes_as_it_is() -> None:
    """The very same payloads, whatever their kind."""
    payloads = [Token("a", "reasoning"), Chunk("b", "reasoning"), Message("c"), Token("d")]

    assert run(*payloads).at("out") == payloads


def test_block_lets_nothing_through_behind_the_first_match() -> None:
    """Neither the rest of that event, nor later ones, of any channel."""
    made = run(Token("a secret b secret"), Token("c"), Token("d", "reasoning"), mode="block")

    assert text_of(made.at("out")) == "a #"
    assert made.at("safety") == [LABEL]


def test_an_event_leaves_as_soon_as_the_window_is_behind_it() -> None:
    """Not earlier, not later, and the lowest sequence that is kept is told."""
    made = run(*map(Token, "abcdefghijkl"), window=8)

    assert made.kept == [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, None]


def test_a_change_of_channel_lets_go_of_what_was_held_in_order() -> None:
    """Reasoning never waits for the answer to end."""
    payloads = [Token("hm", "reasoning"), Token("so", "reasoning"), Token("yes"), Token("no")]

    made = run(*payloads)

    assert made.at("out") == payloads
    assert made.kept == [0, 0, 2, 2, None]


def test_events_without_text_and_empty_turns_are_nothing() -> None:
    """They leave nothing and hold nothing up."""
    assert run(Token(""), Token("a"), Token("")).at("out") == [Token("a")]
    assert run().outputs == []


@given(
    st.lists(st.sampled_from([*TERMS, "s", "e", "ret", "ee", " ", "S", "EEL"]), max_size=14),
    st.lists(st.integers(0, 200), max_size=25),
)
def test_no_forbidden_text_leaves_whatever_the_cuts(words: list[str], places: list[int]) -> None:
    """And what leaves, and the labels, are the same as for the text in one piece."""
    text = "".join(words)

    in_pieces = run(*map(Token, cut(text, places)), terms=TERMS)

    whole = run(Token(text), terms=TERMS)
    out = text_of(in_pieces.at("out"))
    assert not any(term in out.lower() for term in TERMS)
    assert out == text_of(whole.at("out"))
    assert out.count("#") == len(in_pieces.at("safety")) == len(whole.at("safety"))


@given(st.lists(st.tuples(st.sampled_from(["sec", "ret", "s", "e", "el"]), st.booleans())))
def test_no_forbidden_text_leaves_where_channels_alternate(parts: list[tuple[str, bool]]) -> None:
    """Read by itself, neither channel holds a term."""
    channels: tuple[Channel, Channel] = ("answer", "reasoning")
    made = run(*(Token(text, channels[which]) for text, which in parts), terms=TERMS)

    for channel in channels:
        out = text_of([token for token in made.at("out") if token.channel == channel])
        assert not any(term in out for term in TERMS)


@given(st.text("secrt ", max_size=60), st.lists(st.integers(0, 200), max_size=25))
def test_in_a_graph_it_keeps_its_bound_and_its_order(text: str, places: list[int]) -> None:
    """With small queues behind a slow reader: the same text, in flight no more than declared."""
    seen: list[Token] = []
    pieces = cut(text, places)
    plan = (
        PlanBuilder(max_conversations=1)
        .source("source", [Token(piece) for piece in pieces])
        .operator("filter", safety(), queue_capacity=2)
        .sink("sink", seen.append, queue_capacity=1)
        .chain("source", "filter", "sink")
        .build()
    )
    session = Session(plan)

    async def whole() -> None:
        await session.run()

    run_virtual(whole())
    counts = session.snapshot()
    assert text_of(seen) == text_of(run(*map(Token, pieces)).at("out"))
    assert counts.bound is not None
    assert counts.max_in_flight <= counts.bound


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"terms": ("",)}, "an empty term would withhold everything"),
        ({"patterns": ("(",)}, r"'\(' is no regular expression.*escape"),
        ({"patterns": ("a*",)}, "also matches no text at all"),
    ],
)
def test_a_rule_that_is_none_is_an_error_of_the_params(
    params: dict[str, object], reason: str
) -> None:
    """The message names it and says what to do."""
    with pytest.raises(ValidationError, match=reason):
        SafetyParams.model_validate(params)


def test_rules_that_cannot_do_what_they_say_are_found_before_the_run() -> None:
    """A filter of nothing, and a term that the window cannot hold."""
    assert list(safety(terms=()).check(Policy())) == [
        "it has neither terms nor patterns, so it withholds nothing"
    ]
    (clause,) = safety(window=5).check(Policy())
    assert clause == "its longest term has 6 characters, and its window of 5 cannot hold it"
    assert list(safety().check(Policy())) == []
