"""Taps: the last events of an edge, for somebody who looks; without one an edge costs nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from aiflow.engine.cells import Event
from aiflow.operators.names import kind_of

#: Longest text of one payload that a tap shows.
SHOWN_CHARACTERS = 2_000


class TapView:
    """The last events that went over one edge since somebody began to look.

    Args:
        edge: id of the edge.
        keep: most events kept, >= 1.
        on_close: takes the tap off the edge.
    """

    def __init__(self, edge: str, keep: int, on_close: Callable[[], None]) -> None:
        self.edge = edge
        self._seen: deque[tuple[Event, float]] = deque(maxlen=max(1, keep))
        self._on_close = on_close

    def see(self, event: Event, at: float) -> None:
        """Keep one event."""
        self._seen.append((event, at))

    def rows(self) -> list[dict[str, Any]]:
        """Return what is kept as plain values, oldest first."""
        return [row_of(event, at) for event, at in self._seen]

    def close(self) -> None:
        """Cease to look; safe to repeat."""
        self._on_close()


def row_of(event: Event, at: float) -> dict[str, Any]:
    """Return one event as plain JSON-ready values, long texts cut."""
    return {
        "at": at,
        "conversation": event.conversation,
        "turn": event.turn,
        "source": event.source,
        "sequence": event.sequence,
        "part": event.part,
        "hops": event.hops,
        "created_at": event.created_at,
        "type": kind_of(event.payload),
        "payload": plain(event.payload),
    }


def plain(payload: object) -> Any:  # noqa: ANN401 - any plain value
    """Return a payload as plain values; what has no such form is shown by its repr."""
    try:
        value = msgspec.to_builtins(payload, enc_hook=_shown)
    except (TypeError, ValueError, OverflowError, RecursionError):
        value = _shown(payload)
    return _cut(value)


def _shown(value: object) -> str:
    return repr(value)[:SHOWN_CHARACTERS]


def _cut(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str) and len(value) > SHOWN_CHARACTERS:
        return value[:SHOWN_CHARACTERS] + "…"
    if isinstance(value, dict):
        return {key: _cut(part) for key, part in value.items()}
    return value
