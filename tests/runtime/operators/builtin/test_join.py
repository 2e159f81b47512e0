"""`join` puts texts together; which parts belong together is tested with the engine's joins."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aiflow.clock import SystemClock
from aiflow.events import Audio, Joined, Message
from aiflow.operators.base import Joining
from aiflow.operators.builtin.join import Join, JoinParams
from aiflow.operators.scope import Scope


def texts(joined: Joined, separator: str = " ") -> Joined:
    """Return what a join makes of parts."""
    return Join(JoinParams(separator=separator)).process(joined, Scope("j", SystemClock()))


def test_the_texts_of_a_joined_event_are_those_of_its_parts() -> None:
    """By port, and all together, with the separator between them."""
    parts = {"a": (Message("x"), Message("y")), "b": (), "c": (Message("z"),)}

    joined = texts(Joined(parts), "|")

    assert joined.parts == parts
    assert joined.data == {"a": "x|y", "b": "", "c": "z"}
    assert joined.text == "x|y|z"


def test_a_part_without_a_text_leaves_none() -> None:
    """It is there all the same, among the parts."""
    sound = Audio(b"", 16_000)

    joined = texts(Joined({"a": (sound,), "b": (Message("z"),)}))

    assert joined.data == {"a": "", "b": "z"}
    assert joined.text == "z"
    assert joined.parts["a"] == (sound,)


@pytest.mark.parametrize("mode", ["all", "zip"])
def test_what_may_be_stored_is_in_the_bound(mode: str) -> None:
    """A zip stores too, where what it waits for stands behind what it has."""
    operator = Join(JoinParams(mode=mode, leftover="error", max_parts=5))  # type: ignore[arg-type]

    assert operator.joins() == Joining(mode, is_strict=True, max_parts=5)  # type: ignore[arg-type]
    assert operator.kept_events() == 5


def test_there_is_no_other_mode() -> None:
    """A word that is none is refused with the params."""
    with pytest.raises(ValidationError):
        JoinParams(mode="some")  # type: ignore[arg-type]
