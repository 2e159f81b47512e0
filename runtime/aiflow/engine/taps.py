"""Taps: the last events of an edge, for somebody who looks; without one an edge costs nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from aiflow.engine.cells import EdgeState, Event, Tap, Turn
from aiflow.graph.secrets import without_secrets
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


class Watchers:
    """Who looks at which edge; many may look at one, and an edge nobody looks at costs nothing.

    Args:
        edges: by id.
        turns: returns all open turns.
    """

    def __init__(self, edges: Mapping[str, EdgeState], turns: Callable[[], Iterable[Turn]]) -> None:
        self._edges = edges
        self._turns = turns
        self._by_edge: dict[str, tuple[Tap, ...]] = {}

    def add(self, edge: str, tap: Tap) -> None:
        """Show an edge's events to somebody, beside those who see them already."""
        self._set(edge, (*self._by_edge.get(edge, ()), tap))

    def remove(self, edge: str, tap: Tap) -> None:
        """Show an edge's events to somebody no longer; safe to repeat."""
        self._set(edge, tuple(each for each in self._by_edge.get(edge, ()) if each is not tap))

    def _set(self, edge: str, taps: tuple[Tap, ...]) -> None:
        state = self._edges[edge]
        self._by_edge[edge] = taps
        state.tap = None if not taps else taps[0] if len(taps) == 1 else _Several(taps)
        for turn in self._turns():
            lane = turn.lanes.get(state.plan.source)
            if lane is not None:
                lane.routes[state.plan.source_port].refresh()


class _Several:
    """Several who look at one edge."""

    def __init__(self, taps: tuple[Tap, ...]) -> None:
        self._taps = taps

    def see(self, event: Event, at: float) -> None:
        """Show an event to each."""
        for tap in self._taps:
            tap.see(event, at)


def row_of(event: Event, at: float) -> dict[str, Any]:
    """Return one event as plain JSON-ready values, long texts cut and keys masked."""
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
        "payload": without_secrets(plain(event.payload)),
    }


def plain(payload: object) -> Any:  # noqa: ANN401 - any plain value
    """Return a payload as plain values; what has no such form is shown by its repr."""
    try:
        value = msgspec.to_builtins(payload, enc_hook=_shown)
    except (TypeError, ValueError, OverflowError, RecursionError):
        value = _shown(payload)
    return _cut(value)


def _shown(value: object) -> str:
    try:
        return repr(value)[:SHOWN_CHARACTERS]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a payload's own code, or one that is nested too deep
        return f"<{type(value).__name__} that cannot be shown>"


def _cut(value: Any) -> Any:  # noqa: ANN401 - any plain value
    if isinstance(value, str) and len(value) > SHOWN_CHARACTERS:
        return value[:SHOWN_CHARACTERS] + "…"
    if isinstance(value, dict):
        return {key: _cut(part) for key, part in value.items()}
    return value
