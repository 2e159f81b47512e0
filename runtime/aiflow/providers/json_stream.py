"""JSON objects one after another: NDJSON, one JSON array, or a single (pretty-printed) object.

The three need no telling apart: an object ends where its braces do, with strings and escapes
known, and commas, brackets and white space between objects are skipped. So the last line needs
no line end, and an element of an array is there as soon as its brace is closed.
A raw line feed cannot stand inside a JSON string: one that does shows a torn line, which is
given up so that the next line is read whole.
"""

from __future__ import annotations

import re

from aiflow.providers.frames import EXCERPT_BYTES, MAX_FRAME_BYTES, Frame, FrameKind, decode

_OUTSIDE_STRING = re.compile(rb'["{}\[\]\n]')
_STRING_RUN = re.compile(rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+', re.DOTALL)
_BETWEEN = re.compile(rb"[^\s,\[\]]")
_OPENING = b"{["


class JsonFraming:
    """Cuts a byte stream into JSON objects.

    Invariant: `_buffer` begins with the object that is being read, if `_depth` > 0, and has
    been looked at up to `_searched`.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._depth = 0
        self._is_in_string = False
        self._is_in_junk = False
        self._is_over = False
        self._excerpt = b""

    @property
    def buffered_bytes(self) -> int:
        """Bytes that belong to no frame yet."""
        return len(self._buffer)

    @property
    def excerpt(self) -> str:
        """The beginning of what stood where no object was."""
        return decode(self._excerpt)

    def push(self, data: bytes) -> None:
        """Add bytes."""
        if not self._is_over:
            self._buffer += data

    def pull(self) -> Frame | None:
        """Return the next frame, None where more bytes are needed."""
        if self._is_over:
            return None
        frame: Frame | None = None
        if self._depth or self._is_in_junk or self._find_start():
            frame = self._end_junk() if self._is_in_junk else self._find_end()
        if frame is None and len(self._buffer) > self._max_frame_bytes:
            self._is_over = True
            self._buffer.clear()
            return Frame("too-long", f"an object is longer than {self._max_frame_bytes} bytes")
        return frame

    def close(self, *, clean: bool) -> list[Frame]:
        """Return an object that was never closed as malformed."""
        text = decode(self._buffer).strip()
        self._buffer.clear()
        return [Frame("malformed", text)] if clean and text and not self._is_over else []

    def _find_start(self) -> bool:
        """Drop what stands between objects; say whether an object or junk begins."""
        found = _BETWEEN.search(self._buffer)
        if found is None:
            self._buffer.clear()
            return False
        del self._buffer[: found.start()]
        self._searched = 0
        if self._buffer[0] == _OPENING[0]:
            self._searched = self._depth = 1
        else:
            self._is_in_junk = True
        return True

    def _end_junk(self) -> Frame | None:
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        self._is_in_junk = False
        return self._cut("malformed", end)

    def _find_end(self) -> Frame | None:
        """Walk to the brace that ends the object."""
        buffer = self._buffer
        position = self._searched
        while True:
            if self._is_in_string:
                position = self._end_string(position)
                if self._is_in_string:
                    self._searched = position
                    is_torn = buffer[position : position + 1] == b"\n"
                    return self._cut("malformed", position) if is_torn else None
            found = _OUTSIDE_STRING.search(buffer, position)
            if found is None:
                self._searched = len(buffer)
                return None
            mark = found[0]
            position = found.end()
            if mark == b"\n":
                # Indented JSON has no brace in the first column but its own: one there is
                # the next line's object, and this one was never finished.
                if position == len(buffer):
                    self._searched = position - 1
                    return None
                if buffer[position] == _OPENING[0]:
                    return self._cut("malformed", position)
            elif self._closes(mark):
                return self._cut("data", position)

    def _end_string(self, position: int) -> int:
        """Return where the string ends, or, still in it, where more bytes are needed."""
        # A backslash that is the last byte is left for the next look.
        run = _STRING_RUN.match(self._buffer, position)
        position = run.end() if run else position
        if self._buffer[position : position + 1] == b'"':
            self._is_in_string = False
            position += 1
        return position

    def _closes(self, mark: bytes) -> bool:
        """Count one quote, brace or bracket; say whether it ends the object."""
        if mark == b'"':
            self._is_in_string = True
            return False
        self._depth += 1 if mark in _OPENING else -1
        return self._depth == 0

    def _cut(self, kind: FrameKind, end: int) -> Frame:
        text = decode(self._buffer[:end]).strip()
        del self._buffer[:end]
        self._searched = self._depth = 0
        self._is_in_string = False
        if kind == "malformed" and len(self._excerpt) < EXCERPT_BYTES:
            self._excerpt += text.encode()[:EXCERPT_BYTES]
        return Frame(kind, text)
