"""Text as it may leave an adapter: always encodable, never with half a character.

JSON may carry a character beyond U+FFFF as two escaped halves, and a server may cut between
them; `json.loads` makes lone surrogates of that, which fail later, far away, at `.encode()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiflow.events import Channel, Token
from aiflow.providers.profile import ModelProfile
from aiflow.providers.think_tags import ThinkSplitter

_FIRST_HIGH = "\ud800"
_LAST_HIGH = "\udbff"


def scrub(text: str) -> str:
    """Return text with halves joined where they meet and U+FFFD where one stands alone."""
    # UTF-16 has the halves as units of their own, so a round trip pairs them.
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def scrub_all(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with every text in it scrubbed."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(str(key)): scrub_all(part) for key, part in value.items()}
    return [scrub_all(part) for part in value] if isinstance(value, list) else value


class HalfKeeper:
    """Keeps the first half of a character back until the next piece of the same text."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, text: str) -> str:
        """Return what is whole of the text so far; it may be ""."""
        if not text:
            return ""
        text = self._half + text
        self._half = ""
        if _FIRST_HIGH <= text[-1] <= _LAST_HIGH:
            self._half = text[-1]
            text = text[:-1]
        return scrub(text)

    def end(self) -> str:
        """Return U+FFFD for a half whose other half never came, else ""."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""


class ChoiceText:
    """Makes the tokens of one choice out of pieces of text.

    Args:
        choice: number of the choice.
        profile: says whether the answer's text holds think tags.
    """

    def __init__(self, choice: int, profile: ModelProfile) -> None:
        self._choice = choice
        self._channel: Channel = "answer"
        self._keeper = HalfKeeper()
        self._splitter = (
            ThinkSplitter(start_in_reasoning=profile.start_in_reasoning)
            if profile.think_tags
            else None
        )

    def answer(self, text: str) -> list[Token]:
        """Return the tokens of a piece of the answer's text, tags taken apart."""
        if self._splitter is None:
            return self.add("answer", text)
        return [
            token
            for channel, piece in self._splitter.split(text)
            for token in self.add(channel, piece)
        ]

    def add(self, channel: Channel, text: str) -> list[Token]:
        """Return the tokens of a piece of one channel's text; an empty piece is none."""
        if not text:
            return []
        tokens = [] if channel == self._channel else self._end_channel()
        self._channel = channel
        if whole := self._keeper.add(text):
            tokens.append(Token(whole, channel, self._choice))
        return tokens

    def end(self) -> list[Token]:
        """Return what was held back."""
        tokens = []
        for channel, piece in self._splitter.end() if self._splitter else []:
            tokens += self.add(channel, piece)
        return tokens + self._end_channel()

    def _end_channel(self) -> list[Token]:
        half = self._keeper.end()
        return [Token(half, self._channel, self._choice)] if half else []
