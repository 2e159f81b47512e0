"""`speech`: say each piece of text, paced as speech is; here in simulated time."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aiflow.events import Chunk, Message, Token
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import SideEffects, State
from aiflow.types import TEXT


class SpeechParams(Params):
    """Parameters of `speech`."""

    seconds_per_chunk: float = Field(
        0.25,
        ge=0,
        le=3600,
        title="Time per chunk",
        description="How long one piece takes to say, whatever its length.",
        json_schema_extra={"x-unit": "s"},
    )
    words_per_minute: float | None = Field(
        None,
        ge=1,
        le=1000,
        title="Words per minute",
        description="Pace by words instead; empty takes the time per chunk.",
        json_schema_extra={"x-unit": "words/min"},
    )


class Speech(Operator[SpeechParams]):
    """Say one piece after the other; the time is real, the voice is simulated.

    Emits when: never; it shows each piece as it begins to say it.
    Backpressures when: its queue is full, because saying takes longer than writing.
    Completes when: its input has ended and the last piece has been said.
    Fails when: never.
    """

    name = "speech"
    title = "Speech"
    category = "sinks"
    summary = "Says each piece of text, paced as speech is."
    inputs = (Port("in", TEXT, "what to say"),)
    Params: ClassVar = SpeechParams
    # Two voices at once are no speech, and what has been said cannot be taken back.
    state = State.SERIALIZED
    side_effects = SideEffects.NON_IDEMPOTENT
    default_policy: ClassVar = {"state": "serialized"}

    def service_time_s(self) -> float | None:
        """Return the time per chunk; None where the pace depends on the words."""
        return self.params.seconds_per_chunk if self.params.words_per_minute is None else None

    async def process(self, payload: Token | Chunk | Message, scope: Scope) -> None:
        """Show the text and wait as long as saying it takes."""
        scope.show(" ".join(payload.text.split()) + "\n")
        await scope.sleep(self._duration_s(payload.text))

    def _duration_s(self, text: str) -> float:
        if self.params.words_per_minute is None:
            return self.params.seconds_per_chunk
        return len(text.split()) * 60 / self.params.words_per_minute
