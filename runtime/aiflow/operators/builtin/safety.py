"""`safety`: withhold what must not leave, also where it comes in pieces.

Here is the operator: params, events, ports. How a text is searched while it still grows, and
why no cut of it makes a difference, is in `aiflow.operators.withholding`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from pydantic import Field, field_validator

from aiflow.events import Chunk, Message, SafetyLabel, Token
from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.operators.withholding import GrowingText, Rules
from aiflow.policies import Policy, State
from aiflow.types import SAFETY, TEXT

Text = Token | Chunk | Message


class SafetyParams(Params):
    """Parameters of `safety`."""

    terms: tuple[str, ...] = Field(
        ("swordfish",),
        title="Terms",
        description="Words or texts that must not pass, letter by letter.",
    )
    patterns: tuple[str, ...] = Field(
        (),
        title="Patterns",
        description="Regular expressions of what must not pass.",
    )
    category: str = Field(
        "forbidden",
        min_length=1,
        title="Category",
        description="The word that labels of this filter carry, such as violence.",
    )
    mode: Literal["redact", "block"] = Field(
        "redact",
        title="On a match",
        description="Redact puts the replacement in its place and goes on; block lets nothing"
        " of the turn through behind it.",
    )
    replacement: str = Field(
        "[withheld]",
        title="Replacement",
        description="What stands in place of a match, letter by letter.",
    )
    window: int = Field(
        40,
        ge=1,
        le=10_000,
        title="Window",
        description="Characters that are held back: so long a match is caught for certain, and"
        " so much later a text is read.",
        json_schema_extra={"x-unit": "characters"},
    )
    ignore_case: bool = Field(
        True,
        title="Ignore case",
        description="Whether capital and small letters count as the same.",
    )

    @field_validator("terms")
    @classmethod
    def _terms_are_texts(cls, terms: tuple[str, ...]) -> tuple[str, ...]:
        if "" in terms:
            raise ValueError("an empty term would withhold everything; remove it")
        return terms

    @field_validator("patterns")
    @classmethod
    def _patterns_match_something(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                found = re.compile(pattern).search("")
            except re.error as error:
                raise ValueError(
                    f"{pattern!r} is no regular expression: {error}; mend it or escape"
                    " its special letters with a backslash"
                ) from error
            if found:
                raise ValueError(f"{pattern!r} also matches no text at all; make it match one")
        return patterns


class Held(NamedTuple):
    """An event that has not left: up to which letter of its text it reaches."""

    payload: Text
    sequence: int
    end: int


@dataclass(slots=True)
class Watch:
    """A turn's texts and the events that are held back.

    Invariant: all held events are of one text, the last that something came for, and all but
    the last `window` letters of it have left.

    Attributes:
        texts: (channel, choice) -> its text.
        current: which of them the held events belong to.
        is_blocked: nothing leaves any more.
    """

    texts: dict[tuple[str, int], GrowingText] = field(default_factory=dict)
    current: tuple[str, int] = ("answer", 0)
    held: deque[Held] = field(default_factory=deque)
    is_blocked: bool = False


class Safety(Operator[SafetyParams]):
    """Withhold forbidden text before any of it leaves, wherever its pieces are cut.

    Events keep their kind, channel and cut; each waits until `window` more letters have come
    behind it. Matches that overlap or touch are withheld as one. A match longer than the
    window may be caught in part only. Each channel is a text of its own; where channels
    alternate, what was held of the one leaves before the other, and a match that goes on later
    is caught in its later part.

    Emits when: an event is older than the window, or its channel or turn ends; and at `safety`
        a label for each text withheld, right before the event in which it begins.
    Backpressures when: downstream does.
    Completes when: its input has ended and what was held has left.
    Fails when: never.
    """

    name = "safety"
    title = "Safety filter"
    category = "text"
    summary = "Withholds forbidden text, also across tokens, and labels it."
    inputs = (Port("in", TEXT, "tokens, chunks or messages"),)
    outputs = (
        Port("out", TEXT, "the same with matches withheld", like="in"),
        Port("safety", SAFETY, "a label for each text that was withheld"),
    )
    Params: ClassVar = SafetyParams
    # A match is made of neighbours.
    state = State.SERIALIZED

    def __init__(self, params: SafetyParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        self._rules = Rules(params.terms, params.patterns, ignore_case=params.ignore_case)

    def new_state(self) -> Watch:
        """Return a watch that has seen nothing."""
        return Watch()

    def kept_events(self) -> int:
        """Return how many events the window may hold: one a letter."""
        return self.params.window

    def check(self, policy: Policy) -> Iterator[str]:
        """Name the filter that filters nothing, and the term that the window cannot hold."""
        if not self.params.terms and not self.params.patterns:
            yield "it has neither terms nor patterns, so it withholds nothing"
        longest = max(self.params.terms, key=len, default="")
        if len(longest) > self.params.window:
            yield (
                f"its longest term has {len(longest)} characters, and its window of"
                f" {self.params.window} cannot hold it"
            )

    def process(self, payload: Text, scope: Scope) -> Iterator[Any]:
        """Yield what is old enough to leave."""
        watch: Watch = scope.state
        if watch.is_blocked or not payload.text:
            return
        key = _key(payload)
        if key != watch.current and watch.held:
            yield from self._leave(watch, is_end=True)
        if not watch.is_blocked:
            watch.current = key
            text = watch.texts.setdefault(key, GrowingText(self._rules, self.params.window))
            text.add(payload.text)
            watch.held.append(Held(payload, scope.sequence, text.length))
            yield from self._leave(watch)
        scope.keep_from(watch.held[0].sequence if watch.held else None)

    def finish(self, scope: Scope) -> Iterator[Any]:
        """Yield what is left."""
        watch: Watch = scope.state
        yield from self._leave(watch, is_end=True)
        scope.keep_from(None)

    def _leave(self, watch: Watch, *, is_end: bool = False) -> Iterator[Any]:
        """Yield the held events that are decided, each cleared of what is withheld."""
        text = watch.texts.get(watch.current)
        if text is None:
            return
        decided = text.decide(is_end=is_end)
        while watch.held and watch.held[0].end <= decided:
            payload, _, end = watch.held.popleft()
            cleared, begun = text.take(
                end, self.params.replacement, is_cut=self.params.mode == "block"
            )
            for _ in range(begun):
                yield Emit("safety", self._label())
            if cleared:
                yield _with_text(payload, cleared)
            if begun and self.params.mode == "block":
                watch.is_blocked = True
                watch.held.clear()
                watch.texts.clear()

    def _label(self) -> SafetyLabel:
        return SafetyLabel("completion", self.params.category, filtered=True)


def _key(payload: Text) -> tuple[str, int]:
    if isinstance(payload, Token):
        return payload.channel, payload.choice
    return ("answer" if isinstance(payload, Message) else payload.channel), 0


def _with_text(payload: Text, text: str) -> Text:
    return payload if text == payload.text else msgspec.structs.replace(payload, text=text)
