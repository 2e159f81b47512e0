r"""Traces: the raw bytes of one answer, when each piece arrived, and in which dialect.

Text, one piece a line, so that a trace can be read, compared and cut by hand:

    {"aiflow-trace": 1, "dialect": "openai-chat", "content_type": "text/event-stream"}
    0.101<TAB>"data: {\"choices\": …}\n\n"
    0.112<TAB>{"base64": "/9j/"}
    0.140<TAB>{"end": "closed"}

Seconds count from the request. Bytes that are UTF-8 stand as a JSON string, others as base64, so
any bytes come back as they were. The last line says how the connection ended; a file without
it was cut off. A trace never holds a request or a header, so it holds no key.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, NamedTuple, Self

from aiflow.errors import TraceError, reason_of

VERSION = 1
_MARK = "aiflow-trace"
#: How every trace begins that `TraceWriter` has written.
FIRST_BYTES = f'{{"{_MARK}":'.encode()

# A piece is what one network read brought; longer ones are written as several.
MAX_PIECE_BYTES = 256 * 1024
# Room for that many bytes with each of them escaped.
_MAX_LINE_BYTES = 2 * 1024 * 1024

TraceEnd = Literal["closed", "broken"]


class TracePiece(NamedTuple):
    """Bytes that arrived together.

    Attributes:
        at: seconds since the request, 0 or more, never less than the piece before.
    """

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file whose first line has been read.

    Attributes:
        dialect: the wire format of the bytes.
        content_type: what the server called them.
    """

    path: Path
    dialect: str
    content_type: str

    @classmethod
    def open(cls, path: Path) -> Trace:
        """Read a trace's first line.

        Raises:
            TraceError: the file cannot be read, is no trace, or is of a newer version.
        """
        with _opened(path) as file:
            header = _json(path, 1, _line(path, 1, file))
        if not isinstance(header, Mapping) or _MARK not in header:
            raise TraceError(str(path), "line 1: this is no trace (it has no aiflow-trace header)")
        version = header[_MARK]
        if not isinstance(version, int) or version < 1:
            raise TraceError(str(path), f"line 1: the version is {version!r}, which is no number")
        if version > VERSION:
            raise TraceError(
                str(path),
                f"line 1: it is of version {version}, and this program reads up to {VERSION};"
                " update aiflow-runtime",
            )
        dialect = header.get("dialect")
        if not isinstance(dialect, str) or not dialect:
            raise TraceError(str(path), "line 1: it does not say its dialect")
        return cls(path, dialect, str(header.get("content_type", "")))

    def pieces(self) -> Iterator[TracePiece]:
        """Yield the pieces, reading the file as they are asked for.

        Raises:
            TraceError: a line is torn or wrong; all pieces before it have been yielded.
        """
        for entry in self.entries():
            if isinstance(entry, TracePiece):
                yield entry

    def check(self) -> TraceEnd:
        """Read it all once and return how the recorded connection ended.

        Raises:
            TraceError: a line is torn or wrong.
        """
        end: TraceEnd = "closed"
        for entry in self.entries():
            if not isinstance(entry, TracePiece):
                end = entry
        return end

    def entries(self) -> Iterator[TracePiece | TraceEnd]:
        """Yield the pieces, then how the recorded connection ended.

        Raises:
            TraceError: a line is torn or wrong; all pieces before it have been yielded.
        """
        last = 0.0
        with _opened(self.path) as file:
            _line(self.path, 1, file)
            number = 1
            while True:
                number += 1
                line = _line(self.path, number, file)
                at, content = self._split(number, line)
                if at < last:
                    raise self._error(number, f"its time {at:g} is before {last:g}")
                last = at
                if isinstance(content, Mapping) and "end" in content:
                    if content["end"] not in ("closed", "broken"):
                        raise self._error(number, f"no stream ends by {content['end']!r}")
                    yield "broken" if content["end"] == "broken" else "closed"
                    if file.read(1):
                        raise self._error(number + 1, "there is more after the end")
                    return
                yield TracePiece(at, self._bytes(number, content))

    def _split(self, number: int, line: bytes) -> tuple[float, Any]:
        time, tab, rest = line.partition(b"\t")
        try:
            at = float(time)
        except ValueError:
            at = math.nan
        if not tab or not math.isfinite(at) or at < 0:
            raise self._error(number, "it does not begin with seconds and a tab")
        return at, _json(self.path, number, rest)

    def _bytes(self, number: int, content: object) -> bytes:
        if isinstance(content, str):
            try:
                return content.encode()
            except UnicodeEncodeError:
                raise self._error(number, "its text has half a character") from None
        coded = content.get("base64") if isinstance(content, Mapping) else None
        if not isinstance(coded, str):
            raise self._error(number, "it holds neither text, nor base64, nor an end")
        try:
            return base64.b64decode(coded, validate=True)
        except binascii.Error:
            raise self._error(number, "its base64 is broken") from None

    def _error(self, number: int, reason: str) -> TraceError:
        return TraceError(str(self.path), f"line {number}: {reason}")


class TraceWriter:
    """Writes a trace while a stream comes in.

    Use it as a context manager: leaving it writes the end, `broken` where an error left it.
    Invariant: after each piece the file is a whole trace that ends `broken`, and the next piece
    takes that end's place; so what came is readable also when the program is killed.

    Args:
        path: the file; an old one is replaced.
        dialect: the wire format of the bytes.
        content_type: what the server called them.
    """

    def __init__(self, path: Path, dialect: str, content_type: str = "") -> None:
        self._file = path.open("wb")
        self._last = 0.0
        header = {_MARK: VERSION, "dialect": dialect, "content_type": content_type}
        self._place = 0
        self._put(json.dumps(header).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close("closed" if error is None else "broken")

    def write(self, at: float, data: bytes) -> None:
        """Add a piece.

        Args:
            at: seconds since the request; not before the piece before it.
            data: what arrived, any bytes.
        """
        self._last = max(self._last, at)
        for start in range(0, len(data), MAX_PIECE_BYTES):
            self._put(self._line(_coded(data[start : start + MAX_PIECE_BYTES])))

    def close(self, end: TraceEnd, at: float | None = None) -> None:
        """Write how the connection ended and close the file; safe to repeat."""
        if not self._file.closed:
            self._last = max(self._last, self._last if at is None else at)
            with self._file:
                # Never shorter than the end that stands there: both words have six letters.
                self._file.seek(self._place)
                self._file.write(self._line({"end": end}))

    def _put(self, line: bytes) -> None:
        """Write a line over the end that stands there, and an end after it."""
        self._file.seek(self._place)
        self._file.write(line + self._line({"end": "broken"}))
        self._file.flush()
        self._place += len(line)

    def _line(self, content: object) -> bytes:
        text = json.dumps(content, ensure_ascii=False)
        return f"{self._last:.6f}\t{text}\n".encode()


def _coded(data: bytes) -> object:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise TraceError(
            str(path), f"it cannot be read ({reason_of(error)}); check the path"
        ) from error


def _line(path: Path, number: int, file: IO[bytes]) -> bytes:
    try:
        line = file.readline(_MAX_LINE_BYTES)
    except OSError as error:
        raise TraceError(str(path), f"line {number}: {reason_of(error)}") from error
    if line.endswith(b"\n"):
        return line[:-1]
    if len(line) >= _MAX_LINE_BYTES:
        raise TraceError(str(path), f"line {number}: it is longer than {_MAX_LINE_BYTES} bytes")
    raise TraceError(str(path), f"line {number}: the file was cut off here (no end line)")


def _json(path: Path, number: int, text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TraceError(str(path), f"line {number}: it is not JSON") from None
