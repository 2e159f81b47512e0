"""Tests of `tool-assemble`."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.clock import SystemClock
from aiflow.events import Control, ToolCall, ToolFragment
from aiflow.operators.builtin.tool_assemble import ToolAssemble, ToolAssembleParams
from aiflow.operators.scope import Scope
from aiflow.providers.reading import Reading, normalize
from aiflow.testing.operators import OperatorRun, run_operator
from tests.runtime.providers import cases, cases_anthropic, cases_gemini, cases_responses
from tests.runtime.providers.cases import Case

CASES = [
    *(*cases.CASES, *cases_anthropic.CASES),
    *(*cases_gemini.CASES, *cases_responses.CASES),
]

START = Control("start", {"model": "m"})


def finish(reason: str = "tool_calls", choice: int = 0) -> Control:
    """Return the word that an answer is over."""
    return Control("finish", {"choice": choice, "reason": reason})


def assembled(*payloads: object, **params: int) -> OperatorRun:
    """Return what comes of pieces, each with a sequence of its own, as from a source."""
    return run_operator(ToolAssemble(ToolAssembleParams(**params)), payloads)


def calls(run: OperatorRun) -> list[tuple[str, str, object]]:
    """Return id, name and arguments of the calls."""
    return [(call.id, call.name, call.arguments) for call in run.at("out")]


def test_interleaved_pieces_become_calls_in_the_order_of_their_index() -> None:
    """Ids and names may come late, and nothing leaves before the answer is over."""
    run = assembled(
        START,
        ToolFragment(1, "", "", '{"b":'),
        ToolFragment(0, "a", "one", ""),
        ToolFragment(1, "", "two", "2}"),
        ToolFragment(0, "", "", '{"a": 1}'),
        ToolFragment(1, "b", ""),
        finish(),
    )

    assert calls(run) == [("a", "one", {"a": 1}), ("b", "two", {"b": 2})]
    assert run.at("out")[0].arguments_raw == '{"a": 1}'


def test_what_is_kept_is_told_until_it_has_left() -> None:
    """From the first piece; a start and a finish keep nothing."""
    run = assembled(START, ToolFragment(0, "a", "f"), ToolFragment(0, "", "", "{}"), finish())

    assert run.kept == [None, 1, 1, None, None]


def test_no_text_is_an_empty_object() -> None:
    """A tool without parameters is called with none."""
    assert calls(assembled(ToolFragment(0, "a", "f"), finish())) == [("a", "f", {})]


@pytest.mark.parametrize("raw", ['{"a": 1', '{"a": NaN}', "[1]", "nonsense", "{} {}"])
def test_arguments_that_are_no_object_leave_as_they_came(raw: str) -> None:
    """Without a guess at what was meant."""
    (call,) = assembled(ToolFragment(0, "a", "f", raw), finish()).at("out")

    assert (call.arguments, call.arguments_raw) == (None, raw)


@pytest.mark.parametrize("reason", ["error", "incomplete", "content_filter"])
def test_an_answer_that_broke_off_or_was_withdrawn_has_no_call_that_is_made(reason: str) -> None:
    """Not even one that looks whole."""
    run = assembled(ToolFragment(0, "a", "f", "{}"), ToolFragment(1, "b", "g"), finish(reason))

    assert calls(run) == [("a", "f", None), ("b", "g", None)]


def test_an_answer_cut_by_its_length_may_have_lost_the_last_arguments() -> None:
    """Where they had not begun; what came whole before is made."""
    run = assembled(
        ToolFragment(0, "a", "f"), ToolFragment(1, "b", "g", "{}"), ToolFragment(2, "c", "h"),
        finish("length"),
    )  # fmt: skip

    assert calls(run) == [("a", "f", {}), ("b", "g", {}), ("c", "h", None)]


def test_an_answer_that_ends_by_stop_may_call_all_the_same() -> None:
    """Some servers say so."""
    assert calls(assembled(ToolFragment(0, "a", "f"), finish("stop"))) == [("a", "f", {})]


def test_without_control_messages_the_calls_leave_at_the_end() -> None:
    """A stream that broke off would have ended the conversation before."""
    run = assembled(ToolFragment(1, "b", "g"), ToolFragment(0, "a", "f"))

    assert calls(run) == [("a", "f", {}), ("b", "g", {})]


def test_a_call_without_id_gets_one() -> None:
    """So that results can be told apart; the same in each run."""
    run = assembled(START, ToolFragment(0, "", "f"), ToolFragment(1, "", "g"), finish())

    assert [call.id for call in run.at("out")] == ["call_1_0", "call_1_1"]


def test_one_answer_after_the_other_uses_the_same_indices() -> None:
    """Each finish closes its own."""
    run = assembled(
        START, ToolFragment(0, "a", "f"), finish(), START, ToolFragment(0, "b", "g"), finish()
    )

    assert calls(run) == [("a", "f", {}), ("b", "g", {})]


def test_choices_are_apart() -> None:
    """Each is closed by its own finish."""
    run = assembled(
        ToolFragment(0, "a", "f", choice=1), ToolFragment(0, "b", "g"), finish(), finish(choice=1)
    )

    assert [(call.id, call.choice) for call in run.at("out")] == [("b", 0), ("a", 1)]


def test_answers_of_two_prompts_may_be_told_alternately() -> None:
    """Behind a model that is asked about two prompts at once, a sequence is a prompt."""
    operator = ToolAssemble(ToolAssembleParams())
    scope = Scope("n", SystemClock())
    scope.state = operator.new_state()
    left: list[tuple[int, str, str]] = []

    for sequence, payload in (
        *((1, START), (2, START), (1, ToolFragment(0, "a", "f", "{"))),
        *((2, ToolFragment(0, "b", "g")), (1, ToolFragment(0, "", "", "}")), (2, finish())),
        (1, finish()),
    ):
        scope.sequence = sequence
        made = operator.process(payload, scope)
        left += [(sequence, call.id, call.name) for call in made or ()]

    assert left == [(2, "b", "g"), (1, "a", "f")]


def test_answers_of_two_models_are_apart() -> None:
    """Two sources number their pieces alike, and end when they like."""
    operator = ToolAssemble(ToolAssembleParams())
    scope = Scope("n", SystemClock())
    scope.state = operator.new_state()
    left: list[str] = []

    for source, sequence, payload in (
        *(("one", 0, START), ("two", 0, START), ("one", 1, ToolFragment(0, "a", "f", "{"))),
        *(("two", 1, ToolFragment(0, "b", "g")), ("one", 2, ToolFragment(0, "", "", "}"))),
        *(("two", 2, finish()), ("one", 3, finish())),
    ):
        scope.source, scope.sequence = source, sequence
        left += [call.id for call in operator.process(payload, scope) or ()]

    assert left == ["b", "a"]


def test_more_open_calls_than_allowed_fail() -> None:
    """With what to do about it."""
    with pytest.raises(ValueError, match="more than 2 tool calls are open; raise max_calls"):
        assembled(*(ToolFragment(index, str(index), "f") for index in range(3)), max_calls=2)


def test_calls_that_grow_beyond_their_bound_are_not_made() -> None:
    """What is kept is bounded, and the model learns that the call came to nothing."""
    pieces = [ToolFragment(0, "", "", "x" * 10) for _ in range(100)]
    (call,) = assembled(ToolFragment(0, "a", "f", '"'), *pieces, finish(), max_characters=30).at(
        "out"
    )

    assert (call.id, call.name, call.arguments) == ("a", "f", None)
    assert len(call.arguments_raw) <= 30


def test_other_control_messages_say_nothing() -> None:
    """Usage, keep-alives and notices pass by."""
    run = assembled(
        Control("usage", {}), Control("keep-alive"), Control("notice", {"what": "x"}), finish()
    )

    assert run.outputs == []


ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(st.lists(ARGUMENTS, min_size=1, max_size=5), st.data())
def test_however_calls_are_cut_and_mixed_they_come_back_whole(
    given_arguments: list[dict[str, object]], data: st.DataObject
) -> None:
    """Every cut of every call, in any mixture that keeps each call's own order."""
    left = []
    for index, arguments in enumerate(given_arguments):
        text = json.dumps(arguments)
        cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4)))
        ends = [0, *cuts, len(text)]
        parts = [text[a:b] for a, b in pairwise(ends)]
        head = ToolFragment(index, f"c{index}", "f")
        left.append([head, *(ToolFragment(index, "", "", part) for part in parts)])
    mixed = []
    while any(left):
        chosen = data.draw(st.sampled_from([each for each in left if each]))
        mixed.append(chosen.pop(0))

    found: list[ToolCall] = assembled(START, *mixed, finish()).at("out")

    assert [(call.id, call.arguments) for call in found] == [
        (f"c{index}", arguments) for index, arguments in enumerate(given_arguments)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.id}")
def test_what_providers_really_send_becomes_the_calls_that_normalize_reads(case: Case) -> None:
    """One place decides what a call is; a broken answer keeps its calls, and makes none."""
    payloads = list(normalize([case.body], case.dialect, **case.options))
    reading = Reading()
    for payload in payloads:
        reading.add(payload)
    pieces = [each for each in payloads if isinstance(each, ToolFragment | Control)]

    found: list[ToolCall] = assembled(*pieces).at("out")

    by_choice = [call for choice in (0, 1) for call in reading.tool_calls(choice)]
    assert [(call.name, call.arguments_raw) for call in found] == [
        (call.name, call.arguments_raw) for call in by_choice
    ]
    assert all(call.id for call in found)
    if reading.summary()["finish"] in ("error", "incomplete", "content_filter"):
        assert all(call.arguments is None for call in found)
    elif reading.summary()["finish"] != "length":
        assert [call.arguments for call in found] == [call.arguments for call in by_choice]
