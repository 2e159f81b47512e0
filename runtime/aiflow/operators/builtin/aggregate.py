"""`aggregate`: the whole text of a turn, or of each answer, as one message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from aiflow.events import Chunk, Control, Message, Token
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import CONTROL, MESSAGE, TEXT, PortType

#: Text, and behind it the word that an answer is over.
TEXT_AND_CONTROL = PortType("text-and-control", (TEXT, CONTROL))


@dataclass(slots=True)
class Collected:
    """The text of a turn so far.

    Attributes:
        length: characters of all texts.
        first: sequence of the event that brought the first text; None without texts.
    """

    texts: list[str] = field(default_factory=list)
    length: int = 0
    first: int | None = None

    def add(self, text: str, sequence: int) -> None:
        """Put a text behind the others."""
        if self.first is None:
            self.first = sequence
        self.texts.append(text)
        self.length += len(text)

    def take(self) -> Message:
        """Return all texts as one message and keep none."""
        message = Message("".join(self.texts))
        self.texts.clear()
        self.length = 0
        self.first = None
        return message


class AggregateParams(Params):
    """Parameters of `aggregate`."""

    until: Literal["turn", "answer"] = Field(
        "turn",
        title="Until the end of",
        description="turn gives one message a turn; answer one for each answer of a model, whose"
        " control messages are then connected too.",
    )
    channel: Literal["all", "answer", "reasoning"] = Field(
        "all",
        title="Channel",
        description="Which of a model's text is taken; the rest is left out.",
    )
    max_characters: int = Field(
        1_000_000,
        ge=1,
        le=1_000_000_000,
        title="Longest message",
        description="A text that grows beyond this leaves as a message, and a new one begins.",
        json_schema_extra={"x-unit": "characters"},
    )


class Aggregate(Operator[AggregateParams]):
    """Collect text and pass it on as one message at the end of the turn, or of each answer.

    The reader waits for the last token: it is what streaming is there to avoid, and the
    baseline to hold streaming against. It keeps text, not events; `max_characters` bounds it.

    In a loop a turn does not end before the loop does, so there it is the end of an answer that
    counts. Connect the ports `out` and `control` of the model to its one port: what one node sends
    to one port keeps its order, so the finish stands behind the text.

    Emits when: its input ends, or an answer where that is asked for; one message, none where no
        text came. A text longer than `max_characters` leaves in several messages.
    Backpressures when: downstream does, as a message leaves; else it takes all that comes.
    Completes when: its input has ended and the message has left.
    Fails when: never.
    """

    name = "aggregate"
    title = "Aggregate"
    category = "text"
    summary = "Joins the text of a turn, or of each answer, into one message."
    inputs = (
        Port("in", TEXT_AND_CONTROL, "tokens, chunks or messages; a model's control messages"),
    )
    outputs = (Port("out", MESSAGE, "the whole text"),)
    Params: ClassVar = AggregateParams
    state = State.SERIALIZED

    def waits_for_end(self) -> bool:
        """Return whether it takes any text, and sends none before the turn ends.

        A shorter longest message than the default is there to be reached.
        """
        params, usual = self.params, AggregateParams()
        is_long = params.max_characters >= usual.max_characters
        return params.until == "turn" and params.channel == "all" and is_long

    def new_state(self) -> Collected:
        """Return no text."""
        return Collected()

    def process(self, payload: Token | Chunk | Message | Control, scope: Scope) -> Message | None:
        """Keep the text; return what was kept where it is over or the two together are too long."""
        kept: Collected = scope.state
        if isinstance(payload, Control):
            is_over = payload.kind == "finish" and payload.data.get("choice", 0) == 0
            return self.finish(scope) if is_over and self.params.until == "answer" else None
        if self.params.channel not in ("all", getattr(payload, "channel", self.params.channel)):
            return None
        message = None
        if kept.texts and kept.length + len(payload.text) > self.params.max_characters:
            message = kept.take()
        kept.add(payload.text, scope.sequence)
        scope.keep_from(kept.first)
        return message

    def finish(self, scope: Scope) -> Message | None:
        """Return the whole text, None where none came."""
        kept: Collected = scope.state
        scope.keep_from(None)
        return kept.take() if kept.length else None
