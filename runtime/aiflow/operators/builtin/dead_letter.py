"""`dead-letter`: what becomes of the events that a node has given up on."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aiflow.events import DeadLetter, Message, text_of
from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.names import kind_of
from aiflow.operators.scope import Scope
from aiflow.types import ANY, DEAD_LETTER, MESSAGE

_LONGEST = 200


class DeadLetterParams(Params):
    """Parameters of `dead-letter`."""

    is_shown: bool = Field(
        True,
        title="Show",
        description="Shows one line for each letter: who gave up on what, after how many tries,"
        " and why.",
    )


class DeadLetters(Operator[DeadLetterParams]):
    """Take the events that a node has given up on, tell of each, and pass it on.

    It is connected to the port `dead` of a node whose retry ends with `dead_letter`.

    Emits when: a letter arrives and its ports are connected: what it says by `out`, and what
        it holds by `payload`, for another way to deal with it.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "dead-letter"
    title = "Dead letter"
    category = "flow"
    summary = "Tells of events that a node gave up on, and passes them on."
    inputs = (Port("in", DEAD_LETTER, "from the port dead of a node"),)
    outputs = (
        Port("out", MESSAGE, "one sentence for each letter"),
        Port("payload", ANY, "what was given up on, as it came"),
    )
    Params: ClassVar = DeadLetterParams
    max_outputs = 2

    def process(self, payload: DeadLetter, scope: Scope) -> list[Emit]:
        """Return the sentence and the payload, as far as somebody is there to take them."""
        said = _sentence(payload, scope)
        if self.params.is_shown:
            scope.show(said + "\n")
        made = (Emit("out", Message(said)), Emit("payload", payload.payload))
        return [each for each in made if each.port in scope.outputs]


def _sentence(letter: DeadLetter, scope: Scope) -> str:
    text = " ".join(text_of(letter.payload).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    what = f"{kind_of(letter.payload)} {scope.sequence}" + (f" “{text}”" if text else "")
    tries = "1 try" if letter.attempts == 1 else f"{letter.attempts} tries"
    return f"{letter.node} gave up on {what} of {scope.conversation} after {tries}: {letter.error}"
