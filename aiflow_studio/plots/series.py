"""Series: what the plots draw, made from snapshots. No Qt.

A depth is a step: it holds until the next sample, and only its corners are kept, so that a
queue that stands at its bound costs two points however long it stands. A latency is the mean
over the last second (difference of sums by difference of counts), because a median since the
start would hide what changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np
from numpy.typing import NDArray

from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot

Array = NDArray[np.float64]

#: Most curves of one plot: more cannot be told apart from the back of a room.
MOST_NODES = 6
#: Seconds that a latency is averaged over.
LATENCY_S = 1.0
#: Smallest latency drawn, in milliseconds; on a log scale nothing is at 0.
FLOOR_MS = 0.01
#: From how full a queue counts as filling, as a share of its capacity.
FILLING = 0.25
#: Up to this capacity a class counts single events, and the bound is always drawn.
SMALL = 16

#: Widths of the time axis in seconds; the first that holds the run is taken, then it scrolls.
WINDOWS_S = (10.0, 20.0, 40.0)
#: Share of the axis that stays free on the right, for the labels at the ends of the lines.
LABEL_SHARE = 0.16


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: float64 arrays (n,) of the same length, oldest first, all finite."""

    x: Array
    y: Array

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return self.x.size == 0

    @property
    def last(self) -> float:
        """The newest value; 0 where there is none."""
        return float(self.y[-1]) if self.y.size else 0.0


EMPTY = Line(np.empty(0), np.empty(0))


def depth_line(snapshots: Sequence[Snapshot], node: str) -> Line:
    """Return the corners of a queue's depth over the seconds of the run."""
    points: list[tuple[float, float]] = []
    for snapshot in snapshots:
        stats = snapshot.nodes.get(node)
        if stats is None:
            continue
        at, depth = snapshot.at - snapshot.started_at, float(stats.depth)
        if points and points[-1][1] == depth and len(points) > 1 and points[-2][1] == depth:
            points[-1] = (at, depth)
            continue
        if points and points[-1][1] != depth:
            # The old depth held until now.
            points.append((at, points[-1][1]))
        points.append((at, depth))
    return _line(points)


def latency_line(
    snapshots: Sequence[Snapshot], node: str, which: Callable[[NodeStats], LatencyStats]
) -> Line:
    """Return a latency in milliseconds, averaged over `LATENCY_S`.

    Where nothing was measured in that second the last mean holds on.
    """
    points: list[tuple[float, float]] = []
    back = 0
    for snapshot in snapshots:
        stats = snapshot.nodes.get(node)
        if stats is None:
            continue
        while snapshots[back].at < snapshot.at - LATENCY_S:
            back += 1
        before = snapshots[back].nodes.get(node)
        mean = _mean_ms(which(before) if before else LatencyStats(), which(stats))
        if mean is None:
            if not points:
                continue
            mean = points[-1][1]
        points.append((snapshot.at - snapshot.started_at, mean))
    return _line(_without_flats(points))


def percentile_line(
    snapshots: Sequence[Snapshot], node: str, which: Callable[[NodeStats], LatencyStats]
) -> Line:
    """Return the 99th percentile since the start, in milliseconds."""
    points = [
        (snapshot.at - snapshot.started_at, max(FLOOR_MS, which(stats).p99_ms))
        for snapshot in snapshots
        if (stats := snapshot.nodes.get(node)) is not None and which(stats).count > 0
    ]
    return _line(_without_flats(points))


def thinned(snapshots: Sequence[Snapshot], most: int) -> Sequence[Snapshot]:
    """Return every n-th snapshot, the newest included; about `most` of them."""
    step = max(1, len(snapshots) // most)
    return snapshots[(len(snapshots) - 1) % step :: step] if snapshots else snapshots


def choose(
    snapshot: Snapshot, selected: Iterable[str], kept: Sequence[str], most: int = MOST_NODES
) -> tuple[str, ...]:
    """Return the nodes worth a curve: selected, then fullest, then slowest; `most` at most.

    `kept` is the choice so far; a node on it is left out only for a better one, so that curves
    do not come and go. Those that stay keep their order; nodes without a queue have no curve.
    """
    wanted = set(selected)
    fed = {edge.partition(">")[2].partition(".")[0] for edge in snapshot.edges}
    queued = {name: stats for name, stats in snapshot.nodes.items() if name in fed}

    def interest(name: str) -> tuple[bool, float, bool, float]:
        stats = queued[name]
        fill = stats.max_depth / stats.queue_capacity if stats.queue_capacity else stats.max_depth
        return name in wanted, round(min(fill, 1.0), 1), name in kept, stats.wait.sum_s

    best = sorted(queued, key=interest, reverse=True)[:most]
    old = [name for name in kept if name in best]
    return tuple(old + [name for name in best if name not in old])


def slowest(snapshot: Snapshot, nodes: Sequence[str], most: int) -> tuple[str, ...]:
    """Return those of `nodes` where events wait longest, slowest first; () if none did."""
    ranked = by_waiting(snapshot, nodes)
    return tuple(name for name in ranked if snapshot.nodes[name].wait.count > 0)[:most]


def by_waiting(snapshot: Snapshot, nodes: Iterable[str]) -> tuple[str, ...]:
    """Return those of `nodes` that there are, first where events wait longest.

    A ranking for curves. Who holds others back is another question: `aiflow.analysis`.
    """
    known = [name for name in nodes if name in snapshot.nodes]
    return tuple(sorted(known, key=lambda name: -snapshot.nodes[name].wait.p50_ms))


def bounds(snapshot: Snapshot, nodes: Sequence[str]) -> tuple[int, ...]:
    """Return the capacities that deserve a line: small ones, and those of filling queues.

    A large empty queue would squeeze what happens below it.
    """
    found = {
        stats.queue_capacity
        for name in nodes
        if (stats := snapshot.nodes.get(name)) is not None
        and stats.queue_capacity is not None
        and (
            stats.queue_capacity <= SMALL
            or stats.max_depth >= max(1.0, FILLING * stats.queue_capacity)
        )
    }
    return tuple(sorted(found))


def depth_top(snapshot: Snapshot, nodes: Sequence[str]) -> float:
    """Return the largest value that the depth plot must hold."""
    deepest = max((snapshot.nodes[n].max_depth for n in nodes if n in snapshot.nodes), default=0)
    return float(max((deepest, *bounds(snapshot, nodes), 1)))


class SteadyTop:
    """The upper end of an axis: grows in round steps at once, shrinks only when far too large."""

    def __init__(self, least: float) -> None:
        self._least = least
        self.value = round_up(least)

    def reset(self) -> None:
        """Begin anew, as at the start of a run."""
        self.value = round_up(self._least)

    def hold(self, top: float) -> float:
        """Return the end of an axis that holds `top`."""
        wanted = round_up(max(top, self._least))
        if wanted > self.value or wanted * 4 < self.value:
            self.value = wanted
        return self.value


def round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 5, 8 and 10 times a power of ten."""
    power = 10.0 ** floor(log10(value))
    for step in (1, 2, 4, 5, 8):
        if value <= step * power * (1 + 1e-9):
            return step * power
    return 10 * power


def time_window(elapsed_s: float) -> tuple[float, float]:
    """Return the ends of the time axis: it widens in steps, then scrolls with the run."""
    for width in WINDOWS_S:
        if elapsed_s <= width * (1 - LABEL_SHARE):
            return 0.0, width
    width = WINDOWS_S[-1]
    right = elapsed_s + width * LABEL_SHARE
    return right - width, right


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places for labels near where they are wanted, at least `gap` apart.

    `wanted` are middles in any order, and the answer has the same order. `low` and `high` are
    the room there is; too many labels fill it evenly.
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    placed = [0.0] * len(wanted)
    floor_ = low
    for rank in order:
        placed[rank] = max(wanted[rank], floor_)
        floor_ = placed[rank] + gap
    ceiling = high
    for rank in reversed(order):
        placed[rank] = min(placed[rank], ceiling)
        ceiling = placed[rank] - gap
    return placed


def _mean_ms(before: LatencyStats, after: LatencyStats) -> float | None:
    count = after.count - before.count
    if count <= 0:
        return None
    return max(FLOOR_MS, (after.sum_s - before.sum_s) / count * 1000)


def _without_flats(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out points in the middle of a level stretch."""
    kept: list[tuple[float, float]] = []
    for point in points:
        if len(kept) > 1 and kept[-1][1] == kept[-2][1] == point[1]:
            kept[-1] = point
        else:
            kept.append(point)
    return kept


def _line(points: Sequence[tuple[float, float]]) -> Line:
    if not points:
        return EMPTY
    array = np.asarray(points, dtype=np.float64)
    return Line(array[:, 0].copy(), array[:, 1].copy())
