"""Load: what each node did between two snapshots, as rates and shares."""

from __future__ import annotations

from dataclasses import dataclass

from aiflow.analysis.facts import Facts
from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot


@dataclass(frozen=True, slots=True)
class Load:
    """One node over a span of time.

    Attributes:
        busy: share of its workers' time spent in the operator, 0 to 1.
        pressure: the same, and the time that the window kept workers from work behind an
            event that was in the operator: 1 is a node that cannot do more.
        held: seconds per second that events stood in its workers and could not leave; with
            several workers it may exceed 1.
        window: share of its workers' time lost to the window.
        service_s: mean time of one event in the operator, None where none has ended.
        arrivals_per_s: events that came, and `done_per_s` those that were done.
    """

    busy: float
    pressure: float
    held: float
    window: float
    service_s: float | None
    arrivals_per_s: float
    done_per_s: float


def loads(before: Snapshot | None, now: Snapshot, facts: Facts) -> dict[str, Load]:
    """Return each node's load from `before` to `now`.

    Args:
        before: an earlier snapshot of the same run; None, or one of another run, means the
            start of this one.
        now: the newest.
        facts: of the same plan.
    """
    if before is not None and (before.started_at != now.started_at or before.at >= now.at):
        before = None
    since = now.started_at if before is None else before.at
    elapsed_s = now.at - since
    if elapsed_s <= 0:
        return {}
    old = {} if before is None else before.nodes
    return {
        id: _load(old.get(id, NodeStats(id)), now.nodes[id], elapsed_s, facts)
        for id in facts.order
        if id in now.nodes
    }


def _load(old: NodeStats, new: NodeStats, elapsed_s: float, facts: Facts) -> Load:
    workers = 1 if facts.runs_one_at_a_time(new.id) else max(1, new.workers)
    busy = _grown(old.busy_s, new.busy_s) / elapsed_s
    held = _grown(old.backpressured_s, new.backpressured_s) / elapsed_s
    window = _grown(old.window_blocked_s, new.window_blocked_s) / elapsed_s
    # A window that is shut behind an event that cannot leave is its receiver's doing.
    own = window * busy / (busy + held) if busy > 0 else 0.0
    return Load(
        busy=min(1.0, busy / workers),
        pressure=min(1.0, (busy + own) / workers),
        held=held,
        window=min(1.0, own / workers),
        service_s=_mean_s(old.service, new.service),
        arrivals_per_s=_grown(old.received, new.received) / elapsed_s,
        done_per_s=_grown(old.processed, new.processed) / elapsed_s,
    )


def _grown(old: float, new: float) -> float:
    return max(0.0, new - old)


def _mean_s(old: LatencyStats, new: LatencyStats) -> float | None:
    """Return the mean of the span, or since the start where nothing ended in the span."""
    if new.count > old.count:
        return _grown(old.sum_s, new.sum_s) / (new.count - old.count)
    return new.sum_s / new.count if new.count else None
