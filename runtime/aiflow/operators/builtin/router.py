"""`router`: send each token the way of its channel."""

from __future__ import annotations

from typing import ClassVar

from aiflow.events import Token
from aiflow.operators.base import Emit, NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.types import TOKEN


class Router(Operator[NoParams]):
    """Send reasoning, answer and refusal each out of a port of its own.

    Emits when: a token arrives; exactly one, unchanged, at its channel's port. A refusal
        leaves by `answer` where nothing is connected to `refusal`, so that it is read.
    Backpressures when: the branch that the token must take does.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "router"
    title = "Channel router"
    category = "text"
    summary = "Sends reasoning, answer and refusal their own ways."
    inputs = (Port("in", TOKEN, "tokens of all channels"),)
    outputs = (
        Port("reasoning", TOKEN, "what the model thinks aloud"),
        Port("answer", TOKEN, "what is meant for the reader"),
        Port("refusal", TOKEN, "why the model declines; part of answer if unconnected"),
    )
    Params: ClassVar = NoParams

    def process(self, payload: Token, scope: Scope) -> Emit:
        """Return the token for the port of its channel."""
        port: str = payload.channel
        if port == "refusal" and "refusal" not in scope.outputs:
            port = "answer"
        return Emit(port, payload)
