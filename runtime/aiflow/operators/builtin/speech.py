"""`speech`: say each piece of text, paced as speech is, by a real voice or in simulated time."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aiflow.events import Chunk, Message, Token
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import SideEffects, State
from aiflow.speech.resource import SpeechEngine
from aiflow.types import TEXT


class SpeechParams(Params):
    """Parameters of `speech`."""

    seconds_per_chunk: float = Field(
        0.25,
        ge=0,
        le=3600,
        title="Time per chunk",
        description="How long one piece takes to say without an engine, whatever its length.",
        json_schema_extra={"x-unit": "s"},
    )
    words_per_minute: float | None = Field(
        None,
        ge=1,
        le=1000,
        title="Words per minute",
        description="Pace by words instead, without an engine; empty takes the time per chunk.",
        json_schema_extra={"x-unit": "words/min"},
    )


class Speech(Operator[SpeechParams]):
    """Say one piece after the other.

    With a speech engine it is heard, and paced by what is heard: a piece counts as processed when
    its last sound has been played. Sentences make the best pieces; a chunker in front gives them.
    A cancelled turn falls silent at once. Without an engine the time is real and the voice is
    simulated. Where no sound can be made the node says so, and the time passes all the same.

    Text without a letter or a digit is shown and not said.

    Emits when: never; it shows each piece as it begins to say it.
    Backpressures when: its queue is full, because saying takes longer than writing.
    Completes when: its input has ended and the last piece has been said.
    Fails when: its engine breaks down in the middle, or its WAV file cannot be written.
    """

    name = "speech"
    title = "Speech"
    category = "sinks"
    summary = "Says each piece of text, paced as speech is."
    inputs = (Port("in", TEXT, "what to say"),)
    Params: ClassVar = SpeechParams
    accepts: ClassVar = {"engine": "speech-engine"}
    # Two voices at once are no speech, and what has been said cannot be taken back.
    state = State.SERIALIZED
    side_effects = SideEffects.NON_IDEMPOTENT
    default_policy: ClassVar = {"state": "serialized"}

    def service_time_s(self) -> float | None:
        """Return the time per chunk; None where the pace depends on the words."""
        return self.params.seconds_per_chunk if self.params.words_per_minute is None else None

    async def process(self, payload: Token | Chunk | Message, scope: Scope) -> None:
        """Show the text and say it, or wait as long as saying it would take."""
        engine: SpeechEngine | None = scope.resources.get("engine")
        if engine is not None:
            _tell(engine, scope)
        scope.show(" ".join(payload.text.split()) + "\n")
        if engine is None:
            await scope.sleep(self._duration_s(payload.text))
        else:
            await engine.say(payload.text)
            _tell(engine, scope)

    def _duration_s(self, text: str) -> float:
        if self.params.words_per_minute is None:
            return self.params.seconds_per_chunk
        return len(text.split()) * 60 / self.params.words_per_minute


def _tell(engine: SpeechEngine, scope: Scope) -> None:
    """Show what a person should know of the voice, such as that it is not heard."""
    for notice in engine.take_notices():
        scope.show(f"({notice})\n")
