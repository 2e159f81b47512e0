"""Tests of `aiflow.operators.builtin.speech`."""

from __future__ import annotations

import pytest

from aiflow.events import Chunk, Message
from aiflow.operators.builtin.speech import Speech, SpeechParams
from aiflow.policies import SideEffects, State
from aiflow.testing.operators import run_operator


def test_saying_takes_time_and_shows_what_is_said() -> None:
    """Two chunks take half a second, each shown as a line of its own."""
    run = run_operator(Speech(SpeechParams()), [Chunk(" One two.\n\n"), Chunk(" Three.")])

    assert run.took_s == pytest.approx(0.5)
    assert run.shown == "One two.\nThree.\n"
    assert run.outputs == []


def test_a_pace_in_words_takes_the_place_of_the_time_per_chunk() -> None:
    """Six words at 120 a minute take three seconds."""
    speech = Speech(SpeechParams(words_per_minute=120))

    run = run_operator(speech, [Chunk("one two three"), Chunk("four five six")])

    assert run.took_s == pytest.approx(3.0)


def test_it_declares_its_time_only_where_it_knows_it() -> None:
    """A pace in words depends on the words."""
    assert Speech(SpeechParams(seconds_per_chunk=0.4)).service_time_s() == 0.4
    assert Speech(SpeechParams(words_per_minute=120)).service_time_s() is None


def test_it_is_one_voice_that_takes_nothing_back() -> None:
    """What the compiler must know: serialized, and the effect cannot be repeated."""
    assert Speech.state is State.SERIALIZED
    assert Speech.side_effects is SideEffects.NON_IDEMPOTENT


class Voice:
    """A started engine that notes what it says and has something to tell, twice."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.notices = [["no sound: (a)"], [], ["no sound any more"], [], []]

    def take_notices(self) -> list[str]:
        return self.notices.pop(0)

    async def say(self, text: str) -> None:
        self.said.append(text)


def test_with_an_engine_it_is_the_engine_that_speaks() -> None:
    """What it tells stands in a line of its own, before the text that it is about."""
    voice = Voice()
    speech = Speech(SpeechParams(seconds_per_chunk=60))

    run = run_operator(
        speech, [Chunk(" One\ntwo."), Message("Three.")], resources={"engine": voice}
    )

    assert voice.said == [" One\ntwo.", "Three."]
    assert run.shown == "(no sound: (a))\nOne two.\n(no sound any more)\nThree.\n"
    assert run.took_s == 0
