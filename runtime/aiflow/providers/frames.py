"""What a framing makes of bytes: one frame per event, line or document. No JSON is read here.

`sse` and `json_stream` cut bytes into frames, `framing` picks the right one of them,
`decoder` gives the frames their meaning.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

# Longest line, event or document. Real lines of 100 KB exist (an image in base64), so the
# bound is far above them; it only keeps a broken server from filling the memory.
MAX_FRAME_BYTES = 8 * 1024 * 1024

# Enough of an unreadable body to recognise what it is.
EXCERPT_BYTES = 2048

FrameKind = Literal["data", "comment", "error", "malformed", "too-long"]


class Frame(NamedTuple):
    """One piece of a stream.

    Attributes:
        kind: `data`: text that should be JSON or an end marker; `comment`: a sign of life;
            `error`: text that the server itself called an error; `malformed`: what was no
            frame at all; `too-long`: nothing can be read after it.
        text: the content; decoded as UTF-8, each broken byte as U+FFFD.
        event: the event's name, "" where it has none.
    """

    kind: FrameKind
    text: str = ""
    event: str = ""


class Framing(Protocol):
    """Cuts bytes into frames, one at a time, in time linear in the bytes."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes pushed and not yet part of a frame that was pulled."""
        ...

    @property
    def excerpt(self) -> str:
        """The beginning of what could not be read as a frame, "" where all could."""
        ...

    def push(self, data: bytes) -> None:
        """Add bytes; any cut is right."""
        ...

    def pull(self) -> Frame | None:
        """Return the next frame, None where more bytes are needed."""
        ...

    def close(self, *, clean: bool) -> list[Frame]:
        """Return what is still to be read at the end, after `pull` has returned None.

        Args:
            clean: the body ended as it should; after a broken connection the last frame
                may be half of one and is left out.
        """
        ...


def decode(data: bytes | bytearray) -> str:
    """Return text of whole lines or frames; a broken byte becomes U+FFFD."""
    return data.decode("utf-8", "replace")
