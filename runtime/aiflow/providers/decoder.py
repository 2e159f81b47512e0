"""Bytes in, payloads out, one at a time: framing and a dialect's reader joined. No I/O.

What is the same for every dialect lives here: signs of life, end marker, JSON that cannot be
read, errors the framing shows, and how a stream ends. It ends once: with one `finish` control
per choice, or with one whose reason is `error`; nothing follows.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from aiflow.events import Control, Payload
from aiflow.providers.dialect import FrameReader
from aiflow.providers.failure import Failure
from aiflow.providers.frames import MAX_FRAME_BYTES, Frame
from aiflow.providers.framing import DetectedFraming
from aiflow.providers.text import scrub
from aiflow.transport.excerpt import page_text, shorten

_END_MARKER = "[DONE]"
_CUT_SHORT = Failure("the connection broke off in mid-stream", "connection", retryable=True)
_INCOMPLETE = Failure(
    "the stream ended without saying that it was finished", "incomplete", retryable=True
)
# Not strict: a server that writes a tab or another control letter into a text as it is loses
# nothing by it, where the whole frame would be lost.
_JSON = json.JSONDecoder(strict=False)


class StreamDecoder:
    """Decodes one answer.

    Use it eagerly (`feed`) or lazily: `push` bytes, then `pull` until it returns None; then
    no more than the pieces of one frame wait here beside the bytes.

    Args:
        reader: the dialect's reader, used for this answer only.
        max_frame_bytes: longest line, event or object; a longer one ends the stream.
        secret: the key that was sent; kept out of what a failure says.

    Attributes:
        failure: why there is no whole answer: an error, or a stream that just ended; None where
            there is one, and before the end.
    """

    def __init__(
        self, reader: FrameReader, max_frame_bytes: int = MAX_FRAME_BYTES, secret: str = ""
    ) -> None:
        self._reader = reader
        self._secret = secret
        self._framing = DetectedFraming(max_frame_bytes)
        self._ready: deque[Payload] = deque()
        self._is_ended = False
        self._has_bytes = False
        self._has_frames = False
        self._reported: Failure | None = None
        self.failure: Failure | None = None

    @property
    def undecoded_bytes(self) -> int:
        """Bytes pushed and not yet read as a frame."""
        return self._framing.buffered_bytes

    @property
    def is_done(self) -> bool:
        """Whether the last payload has been pulled; bytes that follow are ignored."""
        return self._is_ended and not self._ready

    def push(self, data: bytes) -> None:
        """Add bytes; any cut is right."""
        self._has_bytes = self._has_bytes or bool(data)
        if not self._is_ended:
            self._framing.push(data)

    def pull(self) -> Payload | None:
        """Return the next payload; None where more bytes are needed, and at the end."""
        while not self._ready:
            frame = None if self._is_ended else self._framing.pull()
            if frame is None:
                return None
            self._ready.extend(self._read(frame))
        return self._ready.popleft()

    def feed(self, data: bytes) -> list[Payload]:
        """Add bytes and return all payloads that are complete with them."""
        self.push(data)
        return list(self._drain())

    def close(self, *, clean: bool = True, failure: Failure | None = None) -> list[Payload]:
        """Return the last payloads, the finish among them unless it was returned before.

        Args:
            clean: the body ended as it should.
            failure: why it did not; a broken connection where None.
        """
        payloads = list(self._drain())
        for frame in self._framing.close(clean=clean and failure is None):
            if not self._is_ended:
                payloads += self._read(frame)
        if self._is_ended:
            return payloads
        failure = failure or (self._unreadable() if clean else _CUT_SHORT)
        return payloads + (self._fail(failure) if failure else self._end(is_marked=False))

    def _drain(self) -> Iterator[Payload]:
        while (payload := self.pull()) is not None:
            yield payload

    def _read(self, frame: Frame) -> list[Payload]:
        text = frame.text.strip()
        if frame.kind == "comment" or (frame.kind == "data" and text in ("", "null")):
            self._has_frames = True
            return [Control("keep-alive", {"text": scrub(text)})]
        if frame.kind == "malformed":
            return [_malformed(text)]
        if frame.kind == "too-long":
            return self._fail(Failure(text, "protocol"))
        if text == _END_MARKER:
            return self._end(is_marked=True)
        is_error = frame.kind == "error" or frame.event == "error"
        values, torn = _documents(text), ""
        if not values:
            values, torn = _documents_by_line(text)
        if is_error and not values:
            return self._report(_reported(text))
        payloads: list[Payload] = [_malformed(torn)] if torn else []
        return payloads + self._read_values(values, is_error=is_error)

    def _read_values(self, values: list[Any], *, is_error: bool) -> list[Payload]:
        payloads: list[Payload] = []
        for value in values:
            if is_error or _is_report(value):
                return payloads + self._report(_reported(value))
            if not isinstance(value, Mapping):
                payloads.append(_malformed(json.dumps(value)))
                continue
            self._has_frames = True
            payloads += self._reader.read(value, is_event=self._framing.is_sse)
            if self._reader.failure:
                return payloads + self._fail(self._reader.failure)
            if self._reader.is_at_end:
                return payloads + self._end(is_marked=True)
        return payloads

    def _report(self, failure: Failure) -> list[Payload]:
        """Fail, now or as soon as the provider has said how the answer ends."""
        if not self._reader.says_more_after_error:
            return self._fail(failure)
        self._has_frames = True
        self._reported = self._reported or failure
        return []

    def _end(self, *, is_marked: bool) -> list[Payload]:
        if self._reported:
            return self._fail(self._reported)
        self._is_ended = True
        finishes = self._reader.finish(is_marked=is_marked)
        if any(finish.data["reason"] == "incomplete" for finish in finishes):
            self.failure = _INCOMPLETE
        return [*self._reader.release(), *finishes]

    def _fail(self, failure: Failure) -> list[Payload]:
        self._is_ended = True
        # What was reported first says more than what came of it.
        failure = (self._reported or failure).without(self._secret)
        self.failure = failure
        data = {
            "choice": 0,
            "reason": "error",
            "raw": self._reader.last_word(),
            "error": failure.as_data(),
        }
        return [*self._reader.release(), Control("finish", data)]

    def _unreadable(self) -> Failure | None:
        """Return what is wrong with a body that ended well and held no frame at all."""
        if self._has_frames:
            return None
        if not self._has_bytes:
            return Failure("the provider sent an empty answer", "protocol", retryable=True)
        excerpt = self._framing.excerpt
        if self._framing.is_page:
            return Failure(
                f"the provider sent a page, not a stream: {page_text(excerpt)}", "protocol"
            )
        shown = f": {shorten(excerpt)}" if excerpt.strip() else ""
        return Failure(f"the provider sent no event that could be read{shown}", "protocol")


def _malformed(text: str) -> Control:
    return Control("notice", {"what": "malformed-frame", "text": shorten(scrub(text))})


def _documents(text: str) -> list[Any]:
    """Return the JSON values of a frame; none where any part of it cannot be read.

    One value as a rule. Servers also put two into one event, as two `data` lines or glued.
    """
    values = []
    position = 0
    try:
        while position < len(text):
            value, position = _JSON.raw_decode(text, position)
            values.append(value)
            while position < len(text) and text[position].isspace():
                position += 1
    except (ValueError, RecursionError):
        return []
    return [part for value in values for part in (value if isinstance(value, list) else [value])]


def _documents_by_line(text: str) -> tuple[list[Any], str]:
    """Return the objects that stand whole on one line, and the rest.

    A gateway may put an error into an event that was not at its end.
    """
    values: list[Any] = []
    torn = []
    for line in text.split("\n"):
        found = _documents(line) if line.lstrip().startswith("{") else []
        values += found
        torn += [] if found else [line]
    return values, "\n".join(torn)


def _is_report(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "error"


def _reported(report: object) -> Failure:
    """Return the reading of what a server called an error by a field or an event's name."""
    if isinstance(report, Mapping) and report.get("error"):
        return Failure.of_report(report["error"], report)
    return Failure.of_report(report)
