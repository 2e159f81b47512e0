"""`chunker`: join tokens into pieces that can be shown or spoken by themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from aiflow.events import Channel, Chunk, Message, Token
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import CHUNK, TEXT

# A point behind a digit or a lone letter is part of a number or an abbreviation more often
# than an end; waiting for `max_tokens` there costs little, a cut within "3.5" is heard.
_SENTENCE_END = re.compile(r"(?:[!?…。\uff01\uff1f]|(?<!\d)(?<!\b\w)\.)[\"'”’»)\]]*\s*\Z|\n\s*\Z")


class ChunkerParams(Params):
    """Parameters of `chunker`."""

    max_tokens: int = Field(
        20,
        ge=1,
        le=100_000,
        title="Longest chunk",
        description="A chunk is cut at so many tokens at the latest.",
        json_schema_extra={"x-unit": "tokens"},
    )
    until: Literal["sentence", "count"] = Field(
        "sentence",
        title="Cut at",
        description="Where a chunk may end: at the end of a sentence or line, or only at"
        " the longest length.",
    )


@dataclass(slots=True)
class Pending:
    """The tokens of a chunk that is not complete yet.

    Invariant: fewer than `max_tokens` texts between two calls, all of one channel.

    Attributes:
        first: sequence of the event that brought the first text; None without texts.
    """

    texts: list[str] = field(default_factory=list)
    channel: Channel = "answer"
    first: int | None = None

    def add(self, text: str, channel: Channel, sequence: int) -> None:
        """Put a text behind the others."""
        if self.first is None:
            self.first = sequence
        self.channel = channel
        self.texts.append(text)

    def take(self) -> Chunk:
        """Return all texts as one chunk and keep none."""
        chunk = Chunk("".join(self.texts), self.channel)
        self.texts.clear()
        self.first = None
        return chunk


class Chunker(Operator[ChunkerParams]):
    """Join tokens into chunks that end with a sentence or at a largest size.

    No letter is lost or changed: the chunks' texts in a row are the tokens' texts in a
    row. A chunk never mixes channels.

    Emits when: a chunk is complete, or the channel changes, or the turn ends; at most one
        chunk per token.
    Backpressures when: downstream does.
    Completes when: its input has ended and what was kept has left.
    Fails when: never.
    """

    name = "chunker"
    title = "Chunker"
    category = "text"
    summary = "Joins tokens into sentences or pieces of a largest size."
    inputs = (Port("in", TEXT, "tokens"),)
    outputs = (Port("out", CHUNK, "pieces to show or speak"),)
    Params: ClassVar = ChunkerParams
    # A chunk is made of neighbours: two workers would join them in any order.
    state = State.SERIALIZED

    def new_state(self) -> Pending:
        """Return no pending tokens."""
        return Pending()

    def kept_events(self) -> int:
        """Return how many tokens a chunk may hold before it leaves."""
        return self.params.max_tokens

    def process(self, payload: Token | Chunk | Message, scope: Scope) -> Chunk | None:
        """Add one text; return a chunk where one is complete."""
        pending: Pending = scope.state
        channel: Channel = "answer" if isinstance(payload, Message) else payload.channel
        chunk = None
        # One chunk at most leaves per call. A token that both ends the old channel's chunk
        # and completes its own waits for the next call: hence the second question here.
        if pending.texts and (pending.channel != channel or self._is_complete(pending)):
            chunk = pending.take()
        pending.add(payload.text, channel, scope.sequence)
        if chunk is None and self._is_complete(pending):
            chunk = pending.take()
        scope.keep_from(pending.first)
        return chunk

    def finish(self, scope: Scope) -> Chunk | None:
        """Return what is left, None where nothing is."""
        pending: Pending = scope.state
        chunk = pending.take() if pending.texts else None
        scope.keep_from(None)
        return chunk

    def _is_complete(self, pending: Pending) -> bool:
        if len(pending.texts) >= self.params.max_tokens:
            return True
        if self.params.until == "count":
            return False
        text = "".join(pending.texts[-4:])  # digit, point and space may come one by one
        return bool(_SENTENCE_END.search(text)) and any(map(str.strip, pending.texts))
