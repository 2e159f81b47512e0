"""`conversations`: many people who talk at once, each turn by turn, and may interrupt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from aiflow.events import Message
from aiflow.operators.base import NextTurn, Params, Port, Source
from aiflow.operators.scope import Scope
from aiflow.types import MESSAGE

#: What stands for the conversation's id in a text.
_NAME = "{conversation}"


class Say(BaseModel):
    """One turn of a conversation: what is said and when."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    text: str = Field(min_length=1, description="What is said.")
    after_s: float = Field(
        1.0,
        ge=0,
        le=86_400,
        description="Pause in seconds: after the turn before has ended, or, where this one barges"
        " in, after what was said before.",
    )
    barge_in: bool = Field(False, description="Interrupt the turn before instead of waiting.")


class ConversationsParams(Params):
    """Parameters of `conversations`."""

    conversations: int = Field(
        8,
        ge=1,
        le=100_000,
        title="Conversations",
        description="How many conversations one run opens; each says all the turns.",
        json_schema_extra={"x-unit": "conversations"},
    )
    turns: tuple[Say, ...] = Field(
        (
            Say(text="Why should a program ever wait on purpose?", after_s=0.0),
            Say(text="And if it did not?"),
        ),
        min_length=1,
        max_length=1_000,
        title="Turns",
        description="What is said, turn by turn: text, after_s (pause before it in seconds) and"
        " barge_in (interrupt what goes on). {conversation} in a text is the conversation's id;"
        " the text given to a run takes the place of the first.",
        json_schema_extra={"x-editor": "json"},
    )
    apart_s: float = Field(
        0.2,
        ge=0,
        le=86_400,
        title="Apart",
        description="How much later than the one before each conversation says its first text.",
        json_schema_extra={"x-unit": "s"},
    )


class Conversations(Source[ConversationsParams]):
    """Let many people talk at once, each turn by turn.

    A cancelled turn is over, and the conversation goes on with its next.

    Emits when: a turn's pause is over; one message each turn.
    Backpressures when: downstream does, or a turn has not ended: who does not barge in waits.
    Completes when: the last turn has been said.
    Fails when: never.
    """

    name = "conversations"
    title = "Conversations"
    category = "sources"
    summary = "Lets many people talk at once, turn by turn."
    Params: ClassVar = ConversationsParams
    outputs = (Port("out", MESSAGE, "what is said, one message each turn"),)
    takes_turns: ClassVar = True

    def conversations(self) -> int:
        """Return the number the params ask for."""
        return self.params.conversations

    async def stream(self, scope: Scope) -> AsyncIterator[Message | NextTurn]:
        """Yield what one of them says."""
        # In a run that repeats, the next round begins with the first again.
        place = (scope.number - 1) % self.params.conversations
        await scope.sleep(place * self.params.apart_s)
        for index, say in enumerate(self.params.turns):
            if index and not say.barge_in:
                yield NextTurn()
            await scope.sleep(say.after_s)
            if index and say.barge_in:
                yield NextTurn(barge_in=True)
            text = say.text if index or scope.input is None else scope.input
            # Who waits for an answer counts from here, not from the pause before.
            scope.mark("request_sent")
            yield Message(text.replace(_NAME, scope.conversation))
