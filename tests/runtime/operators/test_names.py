"""Tests of `aiflow.operators.names`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from aiflow.clock import SystemClock
from aiflow.events import Control, Retrieval, Token, ToolCall
from aiflow.operators.names import ENVELOPE, kind_of, missing_name, names_of
from aiflow.operators.scope import Scope


@dataclass
class Plain:
    size: int


@pytest.fixture
def scope() -> Scope:
    """Return a scope in the middle of a conversation."""
    scope = Scope("n", SystemClock())
    scope.conversation, scope.turn, scope.sequence = "c7", 2, 5
    return scope


def test_an_event_has_the_names_of_its_payload_and_of_its_envelope(scope: Scope) -> None:
    """Fields by their own names, beside where the event stands."""
    names = names_of(Token("hi", "reasoning"), scope)

    assert names == {
        **{"text": "hi", "channel": "reasoning", "choice": 0, "kind": "token", "input": ""},
        **{"conversation": "c7", "turn": 2, "sequence": 5},
    }
    assert set(ENVELOPE) < set(names)


def test_entries_of_raw_and_data_have_names_but_hide_no_field(scope: Scope) -> None:
    """What a provider sends along is reached by its own word."""
    assert names_of(Control("finish", {"reason": "stop", "kind": "x"}), scope)["reason"] == "stop"
    retrieval = Retrieval("1", raw={"rank": 3, "id": "other"})
    assert names_of(retrieval, scope)["rank"] == 3
    assert names_of(retrieval, scope)["id"] == "1"


def test_payloads_of_plug_ins_have_names_too(scope: Scope) -> None:
    """A dataclass and a mapping have fields; anything else has none."""
    assert names_of(Plain(4), scope)["size"] == 4
    assert names_of({"size": 5, 6: "no name"}, scope)["size"] == 5
    assert set(names_of(object(), scope)) == set(ENVELOPE)


def test_a_kind_reads_as_in_the_logs() -> None:
    """Words in lower case with hyphens."""
    assert kind_of(ToolCall("1", "f", None)) == "tool-call"


def test_a_missing_name_is_told_with_those_there_are(scope: Scope) -> None:
    """The person who mistyped sees the right one in the sentence."""
    error = missing_name("txt", names_of(Token("a"), scope))

    assert str(error).startswith("there is no txt in this token; it has channel, choice,")
