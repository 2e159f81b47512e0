"""`screen`: show text as it comes."""

from __future__ import annotations

from typing import ClassVar

from aiflow.events import Chunk, Message, Token
from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.types import TEXT


class Screen(Operator[NoParams]):
    """Show text as running text, each piece right behind the one before.

    Emits when: never; it shows each text as it arrives.
    Backpressures when: never by itself; showing takes no time.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "screen"
    title = "Screen"
    category = "sinks"
    summary = "Shows text as it comes."
    inputs = (Port("in", TEXT, "what to show"),)
    Params: ClassVar = NoParams

    def process(self, payload: Token | Chunk | Message, scope: Scope) -> None:
        """Show the text."""
        scope.show(payload.text)

    def finish(self, scope: Scope) -> None:
        """End the last line."""
        scope.show("\n")
