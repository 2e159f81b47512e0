"""What a dialect is: one wire format, without any I/O.

It turns a request into an `HttpCall` and the answer's frames into payloads. Sockets,
credentials and time are the provider's; cutting bytes into frames is `framing`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from aiflow.errors import PluginError
from aiflow.events import Control, Payload
from aiflow.providers.failure import Failure
from aiflow.providers.messages import ChatRequest
from aiflow.providers.profile import ModelProfile

GROUP = "aiflow.dialects"


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request as a dialect words it.

    Attributes:
        path: where below the endpoint, with a leading slash.
        body: JSON as bytes.
        headers: what the dialect needs beside content type and credential.
    """

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class FrameReader(Protocol):
    """Reads the frames of one answer.

    Attributes:
        failure: set once the provider has reported an error; nothing is read after it.
        is_at_end: a frame has marked the end; nothing is read after it.
        says_more_after_error: an error event is followed by one that ends the answer, so
            reading goes on to that.
    """

    failure: Failure | None
    is_at_end: bool
    says_more_after_error: bool

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one JSON object.

        Args:
            value: the object.
            is_event: it came in an event stream, so it is a delta and not the whole answer.
        """
        ...

    def release(self) -> list[Payload]:
        """Return text that was held back and the usage, before the finish."""
        ...

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return one `finish` control per choice.

        Args:
            is_marked: the stream came to its end marker, so it is not cut short.
        """
        ...

    def last_word(self) -> str | None:
        """Return the provider's finish word for choice 0, None where it gave none."""
        ...


class Dialect(Protocol):
    """One wire format."""

    name: str

    def url(self, endpoint: str, path: str) -> str:
        """Return the address of a call below an endpoint as people write it."""
        ...

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        ...

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        ...

    def reader(self, profile: ModelProfile) -> FrameReader:
        """Return a reader for one answer."""
        ...


def dialect_names() -> list[str]:
    """Return the names of all dialects that are installed, sorted."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


@cache
def find_dialect(name: str) -> Dialect:
    """Return the dialect of that name; looking at all installed packages takes milliseconds.

    Raises:
        PluginError: there is none, or its package is broken.
    """
    for entry in entry_points(group=GROUP, name=name):
        owner = entry.dist.name if entry.dist else "an unknown package"
        try:
            module = entry.load()
        except Exception as error:
            raise PluginError(name, owner, f"{type(error).__name__}: {error}") from error
        dialect: Dialect | None = getattr(module, "dialect", None)
        if dialect is None:
            raise PluginError(name, owner, "its module has no attribute `dialect`")
        return dialect
    known = ", ".join(dialect_names())
    raise PluginError(name, "this installation", f"there is no such dialect; there are {known}")
