"""The whole answer, folded from payloads; and payloads as JSON lines. Behind `aiflow normalize`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from aiflow.events import Control, Payload, Retrieval, SafetyLabel, Token, ToolCall, ToolFragment
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.profile import ModelProfile
from aiflow.providers.tool_calls import joined

_USAGE = ("input", "output", "total", "reasoning", "cached_input")
_TYPES: dict[type[Payload], str] = {
    Token: "token",
    ToolFragment: "tool-fragment",
    Retrieval: "retrieval",
    SafetyLabel: "safety",
}


class Reading:
    """Folds the payloads of one answer.

    Attributes:
        usage: the provider's counts, None where it gave none.
        error: how it failed, None where it did not.
        keepalives: signs of life that came. `malformed_frames`: frames that made no sense.
        opaque_reasoning_blocks: reasoning that came, but not to be read.
    """

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.keepalives = 0
        self.malformed_frames = 0
        self.opaque_reasoning_blocks = 0
        self._retrievals: list[Retrieval] = []
        self._labels: list[SafetyLabel] = []
        self._choices: dict[int, _Choice] = {}

    def add(self, payload: Payload) -> None:
        """Take the next payload."""
        if isinstance(payload, Token):
            self._choice(payload.choice).texts[payload.channel].append(payload.text)
        elif isinstance(payload, ToolFragment):
            self._choice(payload.choice).add_fragment(payload)
        elif isinstance(payload, Retrieval):
            self._retrievals.append(payload)
        elif isinstance(payload, SafetyLabel):
            self._labels.append(payload)
        elif isinstance(payload, Control):
            self._add_control(payload)

    def tool_calls(self, choice: int = 0) -> list[ToolCall]:
        """Return the calls of a choice, in the order in which they were opened."""
        return self._choice(choice).tool_calls()

    def summary(self) -> dict[str, Any]:
        """Return plain values, as `normalize --summary` prints them.

        Choice 0 is the top level; with several choices, `choices` has all of them.
        """
        summary = self._choice(0).summary()
        summary |= {
            "usage": self.usage,
            "error": self.error,
            "retrievals": msgspec.to_builtins(self._retrievals),
            "safety_labels": msgspec.to_builtins(self._labels),
            "keepalives": self.keepalives,
            "malformed_frames": self.malformed_frames,
            "opaque_reasoning_blocks": self.opaque_reasoning_blocks,
        }
        if len(self._choices) > 1:
            summary["choices"] = [
                {"index": number} | choice.summary()
                for number, choice in sorted(self._choices.items())
            ]
        return summary

    def _choice(self, number: int) -> _Choice:
        return self._choices.setdefault(number, _Choice(number))

    def _add_control(self, control: Control) -> None:
        data = control.data
        if control.kind == "usage":
            self.usage = {name: data.get(name) for name in _USAGE}
        elif control.kind == "keep-alive":
            self.keepalives += 1
        elif control.kind == "notice":
            self.malformed_frames += data.get("what") == "malformed-frame"
            self.opaque_reasoning_blocks += data.get("what") == "opaque-reasoning"
        elif control.kind == "finish":
            self._finish(control)

    def _finish(self, control: Control) -> None:
        data = control.data
        choice = self._choice(data.get("choice", 0))
        choice.finish, choice.finish_raw = data["reason"], data.get("raw")
        self.error = data.get("error", self.error)
        if "error" in data:
            # The stream failed, and with it every choice that is part of it.
            for each in self._choices.values():
                each.finish = data["reason"]


class _Choice:
    """What has come of one choice."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.texts: dict[str, list[str]] = {"reasoning": [], "answer": [], "refusal": []}
        self.finish = "incomplete"
        self.finish_raw: str | None = None
        self._calls: dict[int, list[ToolFragment]] = {}

    def add_fragment(self, fragment: ToolFragment) -> None:
        self._calls.setdefault(fragment.index, []).append(fragment)

    def tool_calls(self) -> list[ToolCall]:
        return [joined(parts, self._number) for _, parts in sorted(self._calls.items())]

    def summary(self) -> dict[str, Any]:
        calls = [
            {
                "id": call.id or None,
                "name": call.name,
                "arguments": call.arguments,
                "arguments_raw": call.arguments_raw,
            }
            for call in self.tool_calls()
        ]
        texts = {channel: "".join(parts) for channel, parts in self.texts.items()}
        return texts | {
            "tool_calls": calls,
            "finish": self.finish,
            "finish_raw": self.finish_raw,
        }


def normalize(
    pieces: Iterable[bytes],
    dialect: str,
    *,
    think_tags: bool = False,
    start_in_reasoning: bool = False,
    chunk_size: int | None = None,
) -> Iterator[Payload]:
    """Yield the payloads of raw provider bytes; the framing is found from the bytes.

    Args:
        pieces: the body, in any pieces.
        dialect: name of the wire format.
        think_tags: take reasoning out of the answer's text by `<think>` tags.
        start_in_reasoning: the text begins inside such a block.
        chunk_size: cut into pieces of this many bytes, 1 or more; None takes them as they come.

    Raises:
        PluginError: there is no such dialect.
    """
    profile = ModelProfile(think_tags=think_tags, start_in_reasoning=start_in_reasoning)
    decoder = StreamDecoder(find_dialect(dialect).reader(profile))
    for piece in _cut(pieces, chunk_size):
        yield from decoder.feed(piece)
    yield from decoder.close()


def summarize(payloads: Iterable[Payload]) -> dict[str, Any]:
    """Return the summary of an answer's payloads."""
    reading = Reading()
    for payload in payloads:
        reading.add(payload)
    return reading.summary()


def lines(payloads: Iterable[Payload]) -> Iterator[str]:
    """Yield each payload as one line of JSON, without its line end; `type` says what it is."""
    for payload in payloads:
        yield json.dumps(plain(payload), ensure_ascii=False)


def plain(payload: Payload) -> dict[str, Any]:
    """Return a payload as plain values; `type` says what it is."""
    if isinstance(payload, Control):
        return {"type": payload.kind, **msgspec.to_builtins(payload.data)}
    fields: dict[str, Any] = msgspec.to_builtins(payload)
    return {"type": _TYPES[type(payload)]} | fields


def _cut(pieces: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    for piece in pieces:
        if size is None:
            yield piece
            continue
        for start in range(0, len(piece), size):
            yield piece[start : start + size]
