"""The lines of an MCP program, counted while they are read; each is a message.

The client gathers a line however long it gets. All that it lets others choose on its way is the
encoding, so there is one here that is UTF-8 and counts: whoever opened the way is told of a line
that is too long, and nothing of it, nor of what comes after, is kept.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Name of the encoding.
ENCODING = "aiflow_lines"
_UTF_8 = codecs.lookup("utf-8")

#: Most bytes of a line, and what to call at the first one that is longer. The client makes the
#: decoder in a task that begins with a copy of the context in which the way was opened.
_limit: ContextVar[tuple[int, Callable[[], None]]] = ContextVar("aiflow_lines_limit")


@contextmanager
def limited(most_bytes: int, tell: Callable[[], None]) -> Iterator[None]:
    """Hold decoders that are made in tasks of this block to lines of so many bytes."""
    token = _limit.set((most_bytes, tell))
    try:
        yield
    finally:
        _limit.reset(token)


class _Decoder(codecs.IncrementalDecoder):
    """Decodes UTF-8 until a line is too long."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._most, self._tell = _limit.get()
        self._bytes = 0

    def decode(self, input: ReadableBuffer, final: bool = False) -> str:
        """Return as much text as there is; nothing once a line has been too long."""
        if self._bytes > self._most:
            return ""
        data = bytes(input)
        first, end, _ = data.partition(b"\n")
        self._bytes += len(first)
        if self._bytes > self._most:
            self._tell()
            return ""
        if end:
            self._bytes = len(data) - data.rfind(b"\n") - 1
        return self._decoder.decode(data, final)


def _found(name: str) -> codecs.CodecInfo | None:
    if name != ENCODING:
        return None
    return codecs.CodecInfo(
        name=ENCODING, encode=_UTF_8.encode, decode=_UTF_8.decode, incrementaldecoder=_Decoder
    )


codecs.register(_found)
