"""`replay`: play a recorded stream with its own times."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aiflow.operators.base import Params, Port, Source
from aiflow.types import CONTROL, RETRIEVAL, SAFETY, TOKEN, TOOL_FRAGMENT


class ReplayParams(Params):
    """Parameters of `replay`."""

    path: str = Field(
        "traces/slow-speech.trace",
        min_length=1,
        title="Trace",
        description="The trace file, relative to the graph's file, else to the shipped graphs.",
        json_schema_extra={"x-path": "open"},
    )
    speed: float = Field(
        1.0,
        ge=0,
        le=1_000_000,
        title="Speed",
        description="How many times faster than recorded; 0 is as fast as it is taken.",
        json_schema_extra={"x-unit": "×"},
    )
    conversations: int = Field(
        1,
        ge=1,
        le=100_000,
        title="Conversations",
        description="How many conversations one run opens; each plays the whole trace.",
        json_schema_extra={"x-unit": "conversations"},
    )


class Replay(Source[ReplayParams]):
    """Play a recorded stream with the times at which it once arrived.

    Emits when: the trace has a payload and its recorded time has come; where the graph
        was slower, at once, with the recorded time as the time of arrival.
    Backpressures when: downstream does; the rest of the trace waits in its file.
    Completes when: the trace has ended.
    Fails when: the trace cannot be read, or holds a stream that broke.
    """

    name = "replay"
    title = "Trace replay"
    category = "sources"
    summary = "Plays a recorded stream with its own times."
    Params: ClassVar = ReplayParams
    outputs = (
        Port("out", TOKEN, "the text, with its channel: reasoning, answer or refusal"),
        Port("tools", TOOL_FRAGMENT, "pieces of tool calls as they come"),
        Port("retrieval", RETRIEVAL, "documents and citations in the trace"),
        Port("safety", SAFETY, "findings of the provider's content filter"),
        Port("control", CONTROL, "start, usage and finish of the stream"),
    )

    def conversations(self) -> int:
        """Return the number the params ask for."""
        return self.params.conversations
