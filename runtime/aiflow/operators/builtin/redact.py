"""`redact`: replace what matches a pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec
from pydantic import Field, field_validator

from aiflow.events import Chunk, Message, Token
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.types import TEXT

Text = TypeVar("Text", Token, Chunk, Message)


class RedactParams(Params):
    """Parameters of `redact`."""

    patterns: tuple[str, ...] = Field(
        (r"[\w.+-]+@[\w-]+\.[\w.-]+",),
        min_length=1,
        title="Patterns",
        description="Regular expressions of what must not pass; each is applied in turn.",
    )
    replacement: str = Field(
        "[redacted]",
        title="Replacement",
        description="What stands in place of a match, letter by letter.",
    )
    ignore_case: bool = Field(
        False,
        title="Ignore case",
        description="Whether capital and small letters count as the same.",
    )

    @field_validator("patterns")
    @classmethod
    def _patterns_are_regular_expressions(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"{pattern!r} is no regular expression: {error}; mend it or escape"
                    " its special letters with a backslash"
                ) from error
        return patterns


class Redact(Operator[RedactParams]):
    """Replace what matches a pattern, within the text of one event.

    A match that is cut between two events is not seen: put the redactor behind a chunker
    or an aggregate that keeps together what must be found.

    Emits when: a text arrives; exactly one each, of the same kind and channel.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "redact"
    title = "Redactor"
    category = "text"
    summary = "Replaces what matches a pattern within one event."
    inputs = (Port("in", TEXT, "tokens, chunks or messages"),)
    outputs = (Port("out", TEXT, "the same with matches replaced", like="in"),)
    Params: ClassVar = RedactParams

    def __init__(self, params: RedactParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        flags = re.IGNORECASE if params.ignore_case else re.NOFLAG
        self._patterns = tuple(re.compile(pattern, flags) for pattern in params.patterns)

    def outputs_per_event(self) -> float:
        """Return 1: exactly one each."""
        return 1.0

    def process(self, payload: Text, scope: Scope) -> Text:
        """Return the payload with every match replaced."""
        text = payload.text
        for pattern in self._patterns:
            # A function, because the replacement must not be read as a template.
            text = pattern.sub(lambda _: self.params.replacement, text)
        return payload if text == payload.text else msgspec.structs.replace(payload, text=text)
