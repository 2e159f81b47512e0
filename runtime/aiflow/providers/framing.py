"""Which framing a body has, found from its first bytes.

A content type only says what a server meant to send: event streams arrive as `text/plain`,
error objects as `text/event-stream`. No line of an event stream begins with a brace or a
bracket, so the first byte that is no white space decides.
"""

from __future__ import annotations

from aiflow.providers.frames import EXCERPT_BYTES, MAX_FRAME_BYTES, Frame, Framing, decode
from aiflow.providers.json_stream import JsonFraming
from aiflow.providers.sse import SseFraming

_BOM = b"\xef\xbb\xbf"


class DetectedFraming:
    """Waits for the first byte that says what the body is, then reads it as that."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._framing: Framing | None = None
        self._head = b""
        self._is_after_bom = False

    @property
    def is_sse(self) -> bool:
        """Whether the body is an event stream."""
        return isinstance(self._framing, SseFraming)

    @property
    def is_page(self) -> bool:
        """Whether the body is a page for people, HTML or XML."""
        return isinstance(self._framing, _PageFraming)

    @property
    def buffered_bytes(self) -> int:
        """Bytes that belong to no frame yet."""
        return len(self._head) + (self._framing.buffered_bytes if self._framing else 0)

    @property
    def excerpt(self) -> str:
        """The beginning of what could not be read."""
        return self._framing.excerpt if self._framing else decode(self._head)

    def push(self, data: bytes) -> None:
        """Add bytes."""
        if self._framing is None:
            data = self._strip(self._head + data)
            if self._framing is None:
                return
        self._framing.push(data)

    def pull(self) -> Frame | None:
        """Return the next frame, None where more bytes are needed."""
        return self._framing.pull() if self._framing else None

    def close(self, *, clean: bool) -> list[Frame]:
        """Return what is still to be read at the end."""
        return self._framing.close(clean=clean) if self._framing else []

    def _strip(self, head: bytes) -> bytes:
        """Drop a byte-order mark and leading white space; pick the framing by what is next."""
        if not self._is_after_bom:
            if len(head) < len(_BOM) and _BOM.startswith(head):
                self._head = head
                return b""
            self._is_after_bom = True
            head = head.removeprefix(_BOM)
        # Some servers send blank lines while a plain answer is not ready.
        head = head.lstrip()
        self._head = b""
        if head:
            self._framing = self._pick(head[:1])
        return head

    def _pick(self, first: bytes) -> Framing:
        if first in (b"{", b"["):
            return JsonFraming(self._max_frame_bytes)
        if first == b"<":
            return _PageFraming()
        return SseFraming(self._max_frame_bytes)


class _PageFraming:
    """Swallows a page and keeps its beginning, for the error that tells of it."""

    buffered_bytes = 0

    def __init__(self) -> None:
        self._head = b""

    @property
    def excerpt(self) -> str:
        """The beginning of the page."""
        return decode(self._head)

    def push(self, data: bytes) -> None:
        """Keep what is still missing of the beginning."""
        self._head += data[: EXCERPT_BYTES - len(self._head)]

    def pull(self) -> Frame | None:
        """Return None: a page has no frames."""
        return None

    def close(self, *, clean: bool) -> list[Frame]:
        """Return no frame."""
        return []
