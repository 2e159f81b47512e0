"""`synthetic`: make tokens at a rate, for graphs that need no model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from string import Formatter
from typing import ClassVar

from pydantic import Field, field_validator

from aiflow.events import Token
from aiflow.operators.base import Emit, Params, Port, Source
from aiflow.operators.scope import Scope
from aiflow.types import TOKEN

_NAMES = ("n", "conversation")
_ADVICE = "write {n} or {conversation}, and {{ for a brace"


class SyntheticParams(Params):
    """Parameters of `synthetic`."""

    count: int = Field(
        100,
        ge=0,
        le=100_000_000,
        title="Tokens",
        description="How many tokens each conversation gets.",
        json_schema_extra={"x-unit": "tokens"},
    )
    rate: float = Field(
        20.0,
        ge=0,
        le=1_000_000,
        title="Rate",
        description="Tokens per second on average; 0 is as fast as they are taken.",
        json_schema_extra={"x-unit": "tokens/s"},
    )
    jitter: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Jitter",
        description="Share of each pause that is left to chance: 0 is even, 1 is anything"
        " from none to twice the pause.",
    )
    burst: int = Field(
        1,
        ge=1,
        le=100_000,
        title="Burst",
        description="Tokens that arrive together; the pause after them is as much longer.",
        json_schema_extra={"x-unit": "tokens"},
    )
    reasoning_share: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Reasoning share",
        description="Part of the tokens, from the start, that goes to the reasoning channel.",
    )
    text: str = Field(
        "{n} ",
        title="Text",
        description="The text of each token; {n} is its number from 1, {conversation} its"
        " conversation.",
    )
    conversations: int = Field(
        1,
        ge=1,
        le=100_000,
        title="Conversations",
        description="How many conversations one run opens.",
        json_schema_extra={"x-unit": "conversations"},
    )

    @field_validator("text")
    @classmethod
    def _text_names_only_what_there_is(cls, text: str) -> str:
        # Read, not filled: a width such as {n:>999999999} would take the memory of the machine,
        # and a graph is checked as soon as it is opened.
        try:
            places = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
        except ValueError as error:
            raise ValueError(f"{text!r} cannot be read ({error}); {_ADVICE}") from error
        for name, width, conversion in places:
            if name not in _NAMES or width or conversion:
                raise ValueError(f"{text!r} has a place that cannot be filled; {_ADVICE}")
        return text


class Synthetic(Source[SyntheticParams]):
    """Make tokens at a rate, with jitter and bursts that are the same for the same seed.

    Emits when: the next token is due; with rate 0 whenever downstream takes one.
    Backpressures when: downstream does; tokens due meanwhile follow at once, and their
        time of arrival stays the time at which they were due.
    Completes when: `count` tokens have left.
    Fails when: never.
    """

    name = "synthetic"
    title = "Synthetic"
    category = "sources"
    summary = "Makes tokens at a rate, with jitter and bursts."
    Params: ClassVar = SyntheticParams
    outputs = (Port("out", TOKEN, "the tokens"),)

    def conversations(self) -> int:
        """Return the number the params ask for."""
        return self.params.conversations

    def events_per_turn(self) -> int:
        """Return the count of the params."""
        return self.params.count

    def rate_per_s(self) -> float | None:
        """Return the rate of the params; None where tokens come as fast as they are taken."""
        return self.params.rate or None

    def stream(self, scope: Scope) -> Iterator[Token] | AsyncIterator[Emit]:
        """Yield the tokens of one conversation."""
        return self._paced(scope) if self.params.rate else self._tokens(scope)

    def _tokens(self, scope: Scope) -> Iterator[Token]:
        params = self.params
        reasoning = round(params.count * params.reasoning_share)
        for number in range(1, params.count + 1):
            text = params.text.format(n=number, conversation=scope.conversation)
            yield Token(text, "reasoning" if number <= reasoning else "answer")

    async def _paced(self, scope: Scope) -> AsyncIterator[Emit]:
        params = self.params
        chance = scope.random
        pause_s = params.burst / params.rate
        due = scope.clock.now()
        for index, token in enumerate(self._tokens(scope)):
            if index and index % params.burst == 0:
                due += pause_s * (1 + params.jitter * chance.uniform(-1, 1))
                await scope.sleep_until(due)
            yield Emit("out", token, due)
