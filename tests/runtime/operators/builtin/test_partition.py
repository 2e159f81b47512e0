"""`partition`: a key stays with its branch; by room it leaves the choice to the engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aiflow.clock import SystemClock
from aiflow.events import Message
from aiflow.operators.base import Emit
from aiflow.operators.builtin.partition import Partition, PartitionParams, branch_of
from aiflow.operators.scope import Scope

BRANCHES = st.frozensets(st.sampled_from("abcdefgh"), min_size=1)


def parted(text: str, outputs: str = "abc", **params: Any) -> Any:
    """Return what a partition makes of one message."""
    scope = Scope("p", SystemClock(), outputs=frozenset(outputs))
    scope.conversation = "c1"
    return Partition(PartitionParams(**params)).process(Message(text), scope)


@given(st.text(), BRANCHES)
def test_a_key_always_takes_the_same_connected_branch(key: str, branches: frozenset[str]) -> None:
    """Nothing but the key and the branches decides."""
    branch = branch_of(key, branches)

    assert branch in branches
    assert branch == branch_of(key, frozenset(reversed(sorted(branches))))


@given(st.text(), BRANCHES, st.sampled_from("abcdefgh"))
def test_a_new_branch_moves_only_the_keys_that_it_takes(
    key: str, branches: frozenset[str], more: str
) -> None:
    """All others stay where they were."""
    assert branch_of(key, branches | {more}) in (branch_of(key, branches), more)


def test_keys_are_spread_over_all_branches() -> None:
    """About evenly: none of four gets less than a fifth of many keys."""
    taken = [branch_of(str(key), frozenset("abcd")) for key in range(1000)]

    assert min(taken.count(branch) for branch in "abcd") > 200


def test_the_branch_of_a_key_is_the_same_on_every_machine() -> None:
    """It does not hang on Python's own hashing, which differs from run to run."""
    taken = [branch_of(key, frozenset("abc")) for key in ("one", "two", "three", "four")]

    assert taken == ["c", "b", "a", "b"]


def test_the_key_is_computed_from_the_payload() -> None:
    """Texts that begin alike go together."""
    first = parted("Hello there", key="lower(words(text)[0])")
    second = parted("hello again", key="lower(words(text)[0])")

    assert isinstance(first, Emit)
    assert first.port == second.port
    assert first.payload == Message("Hello there")


def test_without_a_branch_nothing_goes_on() -> None:
    """There is nowhere to go."""
    assert parted("x", outputs="") is None


def test_by_room_the_payload_names_no_port() -> None:
    """The engine finds one that has room."""
    operator = Partition(PartitionParams(mode="room"))

    assert operator.balances()
    assert not Partition(PartitionParams()).balances()
    assert parted("x", mode="room") == Message("x")


def test_a_key_that_is_no_expression_is_refused() -> None:
    """Before a run."""
    with pytest.raises(ValidationError, match="no expression"):
        PartitionParams(key="text[")
