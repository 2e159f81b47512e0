"""Splits a model's text at `<think>` and `</think>`, wherever the deltas were cut.

Only where it was asked for: an answer may hold such a tag for its own sake, and a model that
quotes the closing tag while it thinks fools every splitter, this one too.
"""

from __future__ import annotations

from aiflow.events import Channel

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkSplitter:
    """Sorts one choice's text into reasoning and answer.

    Invariant: `_held` is a proper prefix of the tag that is looked for, or white space
    before a first opening tag.

    Args:
        start_in_reasoning: the text begins inside the block; an opening tag that comes first
            all the same is taken away.
    """

    def __init__(self, *, start_in_reasoning: bool = False) -> None:
        self._is_reasoning = start_in_reasoning
        self._may_open = start_in_reasoning
        self._held = ""

    def split(self, text: str) -> list[tuple[Channel, str]]:
        """Return the pieces that are certain by now, none of them empty."""
        text = self._held + text
        self._held = ""
        if self._may_open and not self._skip_open(text):
            return []
        if self._may_open:
            self._may_open = False
            stripped = text.lstrip()
            text = stripped.removeprefix(_OPEN) if stripped.startswith(_OPEN) else text
        pieces: list[tuple[Channel, str]] = []
        while True:
            tag = _CLOSE if self._is_reasoning else _OPEN
            before, found, after = text.partition(tag)
            if not found:
                before, self._held = _without_beginning(before, tag)
            if before:
                pieces.append((self._channel, before))
            if not found:
                return pieces
            self._is_reasoning = not self._is_reasoning
            text = after

    def end(self) -> list[tuple[Channel, str]]:
        """Return what was held back because it might have become a tag."""
        held, self._held = self._held, ""
        return [(self._channel, held)] if held else []

    @property
    def _channel(self) -> Channel:
        return "reasoning" if self._is_reasoning else "answer"

    def _skip_open(self, text: str) -> bool:
        """Say whether it is certain if the text begins with an opening tag; else hold it."""
        begun = text.lstrip()
        if len(begun) < len(_OPEN) and _OPEN.startswith(begun):
            self._held = text
            return False
        return True


def _without_beginning(text: str, tag: str) -> tuple[str, str]:
    """Return text and the longest end of it that is a beginning of the tag, apart."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return text[:-length], text[-length:]
    return text, ""
