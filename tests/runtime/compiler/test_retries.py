"""Tests of the checks of dead letters and of the limits of tries."""

from __future__ import annotations

import pytest

from aiflow.graph import edits
from tests.runtime.compiler.parts import chain, check, codes
from tests.runtime.compiler.test_promises import found, mended

LETTERS = {"retry": {"attempts": 2, "then": "dead_letter"}}


def test_dead_letters_want_a_reader() -> None:
    """Without one they are counted and gone; skip says that this is meant."""
    made = chain(policy=LETTERS)

    assert codes(check(made)) == ["AF316"]
    assert mended(made, "AF316").nodes["middle"].policy["retry"]["then"] == "skip"
    assert not found(edits.connect(made, "middle.dead", "drain.in"), "AF316")


def test_a_reader_wants_dead_letters() -> None:
    """Nothing would ever arrive; a source gives up on nothing at all."""
    read = edits.connect(chain(), "middle.dead", "drain.in")
    source = edits.connect(chain(), "spring.dead", "drain.in")

    assert found(read, "AF317")[0].node == "middle"
    assert not found(mended(read, "AF317"), "AF317")
    assert "spring.dead>drain.in" not in mended(source, "AF317").edges


def test_a_source_is_not_tried_again() -> None:
    """What it has streamed has left."""
    made = edits.merge_policy(chain(), "spring", LETTERS)

    assert codes(check(made)) == ["AF310"]


@pytest.mark.parametrize(
    ("one_s", "all_s", "is_told"), [(5, 4, True), (5, 5, False), (5, 9, False)]
)
def test_one_try_has_no_more_time_than_all(one_s: int, all_s: int, is_told: bool) -> None:
    """Else the smaller limit hides the larger one."""
    retry = {"attempts": 2, "timeout_s": one_s, "total_timeout_s": all_s}

    assert bool(found(chain(policy={"retry": retry}), "AF318")) == is_told


def test_a_reorder_buffer_has_a_use_where_events_are_tried_again() -> None:
    """One worker goes on with the next, and what waits for its try keeps its place there."""
    buffer = {"reorder_capacity": 4}

    assert found(chain(policy=buffer), "AF602")
    assert not found(chain(policy=buffer | {"retry": {"attempts": 2}}), "AF602")
