"""Server-sent events, read on bytes.

As the standard has it, with what vendors do beside it: an event at the very end is
dispatched without its blank line, `error:` is a field, and a bare JSON object between events
is a frame. Lines end at CR, LF and CRLF and nowhere else: U+2028 and its like stand inside
JSON, so `str.splitlines` would cut it.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re

from aiflow.providers.frames import EXCERPT_BYTES, MAX_FRAME_BYTES, Frame, decode

_LINE_END = re.compile(rb"[\r\n]")
_CR = 13
_LF = 10
# Fields of the standard that carry nothing for us.
_IGNORED = (b"id", b"retry")


class SseFraming:
    """Cuts a byte stream into server-sent events.

    Invariant: there is no line end in `_buffer` before `_searched`.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._is_after_cr = False
        self._is_over = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = ""
        # Lines of no known field, kept while they may be a JSON object that stands by itself.
        self._stray: list[bytes] = []
        self._stray_bytes = 0
        self._excerpt = b""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of lines that have not been looked at."""
        return len(self._buffer)

    @property
    def excerpt(self) -> str:
        """The beginning of the lines that belong to no field."""
        return decode(self._excerpt)

    def push(self, data: bytes) -> None:
        """Add bytes."""
        if self._is_over or not data:
            return
        # A CR has ended its line at once; an LF right behind it belongs to it.
        if self._is_after_cr and data[0] == _LF:
            data = data[1:]
        self._is_after_cr = False
        self._buffer += data

    def pull(self) -> Frame | None:
        """Return the next frame, None where more bytes are needed."""
        while not self._is_over and (line := self._take_line()) is not None:
            frame = self._read(line)
            if frame is not None:
                return frame
        if not self._is_over and len(self._buffer) > self._max_frame_bytes:
            return self._give_up()
        return None

    def close(self, *, clean: bool) -> list[Frame]:
        """Return the frames of a last line and event that nothing has ended."""
        if not clean or self._is_over:
            return []
        frames = []
        if self._buffer:
            line = bytes(self._buffer)
            self._buffer.clear()
            frames.append(self._read(line))
        frames.append(self._dispatch())
        frames.append(self._take_stray())
        return [frame for frame in frames if frame is not None]

    def _take_line(self) -> bytes | None:
        buffer = self._buffer
        found = _LINE_END.search(buffer, self._searched)
        if found is None:
            self._searched = len(buffer)
            return None
        end = found.start()
        line = bytes(buffer[:end])
        after = end + 1
        if buffer[end] == _CR:
            if after == len(buffer):
                self._is_after_cr = True
            elif buffer[after] == _LF:
                after += 1
        del buffer[:after]
        self._searched = 0
        return line

    def _read(self, line: bytes) -> Frame | None:
        if not line:
            return self._dispatch() or self._take_stray()
        if line.startswith(b"data:"):
            return self._add_data(line[6:] if line[5:6] == b" " else line[5:])
        if line.startswith(b":"):
            return Frame("comment", decode(line[1:]).strip())
        return self._read_field(line)

    def _read_field(self, line: bytes) -> Frame | None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            return self._add_data(value)
        if name == b"error" and value:
            return Frame("error", decode(value), "error")
        if name == b"event":
            self._event = decode(value)
        elif name not in _IGNORED:
            return self._add_stray(line)
        return None

    def _add_data(self, value: bytes) -> Frame | None:
        self._data.append(value)
        self._data_bytes += len(value) + 1
        return self._give_up() if self._data_bytes > self._max_frame_bytes else None

    def _dispatch(self) -> Frame | None:
        """End the event; one without any `data` field is none, whatever else it had."""
        event, self._event = self._event, ""
        if not self._data:
            return None
        text = decode(b"\n".join(self._data))
        self._data = []
        self._data_bytes = 0
        return Frame("data", text, event)

    def _add_stray(self, line: bytes) -> Frame | None:
        if len(self._excerpt) < EXCERPT_BYTES:
            self._excerpt += line[:EXCERPT_BYTES] + b"\n"
        # A gateway that fails in mid-stream writes its error object as it is, often indented.
        if self._stray or line.lstrip().startswith(b"{"):
            self._stray.append(line)
            self._stray_bytes += len(line) + 1
        return self._give_up() if self._stray_bytes > self._max_frame_bytes else None

    def _take_stray(self) -> Frame | None:
        if not self._stray:
            return None
        text = decode(b"\n".join(self._stray))
        self._stray = []
        self._stray_bytes = 0
        return Frame("data", text)

    def _give_up(self) -> Frame:
        self._is_over = True
        self._buffer.clear()
        self._data = []
        return Frame("too-long", f"a line or event is longer than {self._max_frame_bytes} bytes")
