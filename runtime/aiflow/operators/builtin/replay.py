"""`replay`: play a recorded stream with its own times."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from aiflow.errors import AiFlowError, TraceError
from aiflow.events import Payload
from aiflow.operators.answer import AnswerMarks, port_of
from aiflow.operators.base import Emit, Params, Port, Source
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.profile import DEFAULT_PROFILE
from aiflow.resources import find_file
from aiflow.transport.trace import Trace
from aiflow.types import CONTROL, RETRIEVAL, SAFETY, TOKEN, TOOL_FRAGMENT


class ReplayParams(Params):
    """Parameters of `replay`."""

    path: str = Field(
        "traces/slow-speech.trace",
        min_length=1,
        title="Trace",
        description="The trace file, relative to the graph's file, else to the shipped graphs.",
        json_schema_extra={"x-editor": "path"},
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

    def __init__(self, params: ReplayParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        # For the count below only; one that its stream has let go of counts no longer.
        self._decoders: weakref.WeakSet[StreamDecoder] = weakref.WeakSet()

    @property
    def undecoded_bytes(self) -> int:
        """Bytes that its streams have read from the trace and not decoded yet."""
        return sum(decoder.undecoded_bytes for decoder in self._decoders)

    def conversations(self) -> int:
        """Return the number the params ask for."""
        return self.params.conversations

    def stream(self, scope: Scope) -> Iterator[Emit] | AsyncIterator[Emit]:
        """Yield what the trace holds, each with the time at which it is due."""
        return self._paced(scope) if self.params.speed else self._at_once(scope)

    def check(self, policy: Policy) -> Iterator[str]:
        """Name the trace that is not there or is none."""
        try:
            find_dialect(self._trace().dialect)
        except AiFlowError as error:
            yield f"its trace cannot be played: {error}"

    async def _paced(self, scope: Scope) -> AsyncIterator[Emit]:
        began = scope.clock.now()
        marks = AnswerMarks(scope)
        for at, payload in self._payloads():
            due = began + at / self.params.speed
            await scope.sleep_until(due)
            marks.note(payload, due, began)
            yield Emit(port_of(payload), payload, due)

    def _at_once(self, scope: Scope) -> Iterator[Emit]:
        began = scope.clock.now()
        marks = AnswerMarks(scope)
        for _, payload in self._payloads():
            at = scope.clock.now()
            marks.note(payload, at, began)
            yield Emit(port_of(payload), payload, at)

    def _payloads(self) -> Iterator[tuple[float, Payload]]:
        """Yield each payload with the time in the trace at which its bytes arrived.

        Raises:
            TraceError: the file is torn; what came before it has been yielded.
            ProviderError: the recorded stream broke; what came before it has been yielded.
        """
        trace = self._trace()
        decoder = StreamDecoder(find_dialect(trace.dialect).reader(DEFAULT_PROFILE))
        self._decoders.add(decoder)
        at = 0.0
        for at, data in trace.pieces():
            decoder.push(data)
            while (payload := decoder.pull()) is not None:
                yield at, payload
        for payload in decoder.close(clean=trace.check() == "closed"):
            yield at, payload
        if decoder.failure is not None:
            raise decoder.failure.as_error(self.params.path, trace.dialect)

    def _trace(self) -> Trace:
        path = find_file(self.params.path, self.folders)
        if path is None:
            raise TraceError(self.params.path, "there is no such file; check the path")
        return Trace.open(path)
