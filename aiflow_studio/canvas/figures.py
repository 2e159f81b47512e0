"""Figures: what a card and a wire show while a run lasts, made from snapshots.

Counters in a snapshot are cumulative, so rates and time shares come from the last snapshot
and an earlier one: a second before for shares, longer for the rate of what happens seldom.
No Qt and no colours here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from aiflow.metrics.snapshot import Activity, EdgeStats, NodeStats, Snapshot

WINDOW_S = 1.0

# Four events a second read as 2.9 or 4.9 when one second is counted; so few are counted longer.
_LONG_WINDOW_S = 5.0
_FEW_EVENTS = 30

# From how much of the last second on an edge counts as held back: it holds its sender most of
# the time, and one sample between two events must not make it flicker.
_HELD_BACK_SHARE = 0.5

_IDLE_RATE = 0.05

_FINEST_MS = 0.01
# From here on rounding gives one more digit.
_TWO_DIGITS, _FOUR_DIGITS = 9.95, 999.5


@dataclass(frozen=True, slots=True)
class Shares:
    """How a node's worker time was spent, each 0 to 1, together 1 (or 0 where nothing is known)."""

    busy: float = 0.0
    backpressured: float = 0.0
    window_blocked: float = 0.0
    idle: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """Live numbers of one card.

    Attributes:
        capacity: effective q; None where it is unlimited or there is no queue.
        activity: what the node did most of the last second.
        rate: events per second that left it (of a sink: that it processed).
        service_ms: median time in the operator; None before the first event.
        first_ms: request sent to the model's first delta, shown at sources; None before it.
        dropped: events discarded so far.
        is_paused: a breakpoint holds it.
    """

    depth: int = 0
    capacity: int | None = None
    activity: Activity = "idle"
    shares: Shares = Shares()
    rate: float = 0.0
    service_ms: float | None = None
    first_ms: float | None = None
    dropped: int = 0
    has_failed: bool = False
    is_paused: bool = False

    def as_drawn(self, *, is_far: bool = False) -> tuple[object, ...]:
        """Return a value that differs exactly when the picture does.

        Args:
            is_far: only the time shares can be told from where the picture is seen.
        """
        shares = self.shares
        spent = (shares.busy, shares.backpressured, shares.window_blocked)
        parts = tuple(round(share, 2) for share in spent)
        if is_far:
            return parts
        return (
            self.depth,
            self.capacity,
            self.activity,
            parts,
            rate_text(self.rate),
            None if self.service_ms is None else ms_text(self.service_ms),
            None if self.first_ms is None else ms_text(self.first_ms),
            self.dropped,
            self.has_failed,
            self.is_paused,
        )


@dataclass(frozen=True, slots=True)
class EdgeFigures:
    """Live numbers of one wire.

    Attributes:
        rate: events per second put on it.
        is_held_back: a sender waits because of it, now or most of the last second.
        label: such as `8/8 full` where it is held back, else "".
        has_breakpoint: it pauses the node behind it.
    """

    rate: float = 0.0
    is_held_back: bool = False
    label: str = ""
    has_breakpoint: bool = False


class FigureWindow:
    """Keeps the snapshots of the last seconds and forms figures from them."""

    def __init__(self) -> None:
        self._kept: deque[Snapshot] = deque()

    def clear(self) -> None:
        """Forget everything, as before the first run."""
        self._kept.clear()

    def feed(self, snapshot: Snapshot) -> None:
        """Take the newest snapshot; one of another run starts the window anew."""
        last = self._kept[-1] if self._kept else None
        if last is not None and _is_another_run(last, snapshot):
            self._kept.clear()
        self._kept.append(snapshot)
        # One snapshot older than the window stays: the window reaches back to it.
        while len(self._kept) > 1 and self._kept[1].at <= snapshot.at - _LONG_WINDOW_S:
            self._kept.popleft()

    def nodes(self) -> dict[str, NodeFigures]:
        """Return node id -> figures; empty before the first snapshot."""
        span = self._span()
        if span is None:
            return {}
        return {node_id: _node_figures(node_id, span) for node_id in span.last.nodes}

    def edges(self, targets: Mapping[str, str]) -> dict[str, EdgeFigures]:
        """Return edge id -> figures.

        Args:
            targets: edge id -> id of the node whose queue it feeds.
        """
        span = self._span()
        if span is None:
            return {}
        figures = {}
        for edge_id, stats in span.last.edges.items():
            is_held_back = self._is_held_back(edge_id, span)
            target = span.last.nodes.get(targets.get(edge_id, ""))
            figures[edge_id] = EdgeFigures(
                rate=span.rate(partial(_appended, edge_id)),
                is_held_back=is_held_back,
                label=_full_label(stats, target) if is_held_back else "",
                has_breakpoint=stats.has_breakpoint,
            )
        return figures

    def _span(self) -> _Span | None:
        if not self._kept:
            return None
        last = self._kept[-1]
        since = last.at - WINDOW_S
        recent = next((each for each in reversed(self._kept) if each.at <= since), self._kept[0])
        return _Span(self._kept[0], recent, last)

    def _is_held_back(self, edge_id: str, span: _Span) -> bool:
        seen = [
            each.edges[edge_id].is_full
            for each in self._kept
            if each.at >= span.recent.at and edge_id in each.edges
        ]
        is_running = span.last.phase in ("running", "draining")
        return is_running and sum(seen) > _HELD_BACK_SHARE * len(seen)


@dataclass(frozen=True, slots=True)
class _Span:
    """The snapshots that figures are formed from: five seconds ago, one second ago, now."""

    oldest: Snapshot
    recent: Snapshot
    last: Snapshot

    def rate(self, count: Callable[[Snapshot], int]) -> float:
        """Return how fast a counter grows, per second."""
        now = count(self.last)
        start = self.recent if now - count(self.recent) >= _FEW_EVENTS else self.oldest
        span_s = self.last.at - start.at
        rate = (now - count(start)) / span_s if span_s > 0 else 0.0
        return rate if rate >= _IDLE_RATE else 0.0


def rate_text(rate: float) -> str:
    """Return events per second in a few characters: `0/s`, `4.0/s`, `22/s`, `1.5k/s`."""
    if rate == 0:
        return "0/s"
    if rate < _TWO_DIGITS:
        return f"{rate:.1f}/s"
    return f"{rate:.0f}/s" if rate < _FOUR_DIGITS else f"{rate / 1000:.1f}k/s"


def ms_text(milliseconds: float) -> str:
    """Return a duration in a few characters: `0.04 ms`, `2.5 ms`, `250 ms`, `1.98 s`."""
    if 0 < milliseconds < _FINEST_MS:
        return f"<{_FINEST_MS} ms"
    if milliseconds < 1:
        return f"{milliseconds:.2f} ms"
    if milliseconds < _TWO_DIGITS:
        return f"{milliseconds:.1f} ms"
    if milliseconds < _FOUR_DIGITS:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.2f} s"


def _is_another_run(before: Snapshot, after: Snapshot) -> bool:
    return before.started_at != after.started_at or after.at < before.at


def _node_figures(node_id: str, span: _Span) -> NodeFigures:
    stats = span.last.nodes[node_id]
    shares = _shares(span.recent.nodes.get(node_id) or NodeStats(node_id), stats)
    is_sink = stats.emitted == 0 and stats.processed > 0

    def left(snapshot: Snapshot) -> int:
        then = snapshot.nodes.get(node_id)
        return 0 if then is None else then.processed if is_sink else then.emitted

    return NodeFigures(
        depth=stats.depth,
        capacity=stats.queue_capacity,
        activity=_most(shares, stats.activity),
        shares=shares,
        rate=span.rate(left),
        service_ms=stats.service.p50_ms if stats.service.count else None,
        first_ms=span.last.model_ttft_ms,
        dropped=sum(stats.dropped.values()),
        has_failed=stats.failed > 0,
        is_paused=stats.is_paused,
    )


def _appended(edge_id: str, snapshot: Snapshot) -> int:
    stats = snapshot.edges.get(edge_id)
    return stats.appended if stats is not None else 0


def _shares(before: NodeStats, after: NodeStats) -> Shares:
    spent = (
        max(0.0, after.busy_s - before.busy_s),
        max(0.0, after.backpressured_s - before.backpressured_s),
        max(0.0, after.window_blocked_s - before.window_blocked_s),
        max(0.0, after.idle_s - before.idle_s),
    )
    whole = sum(spent)
    return Shares(*(part / whole for part in spent)) if whole > 0 else Shares()


def _most(shares: Shares, now: Activity) -> Activity:
    """Return the activity with the largest share; what the node does now where none is known."""
    ranked: list[tuple[float, Activity]] = [
        (shares.busy, "busy"),
        (shares.backpressured, "backpressured"),
        (shares.window_blocked, "window_blocked"),
        (shares.idle, "idle"),
    ]
    share, activity = max(ranked, key=lambda pair: pair[0])
    return activity if share > 0 else now


def _full_label(edge: EdgeStats, target: NodeStats | None) -> str:
    if target is None or target.queue_capacity is None:
        return f"{edge.depth} waiting"
    depth = f"{target.depth}/{target.queue_capacity}"
    return f"{depth} full" if target.depth >= target.queue_capacity else depth
