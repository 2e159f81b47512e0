"""Filling: which queues grow, and when they will be full if they go on like that."""

from __future__ import annotations

from dataclasses import dataclass

from aiflow.analysis.wording import duration
from aiflow.metrics.snapshot import Snapshot

#: Growth below so many events, or below this share of q, is the noise of arrivals.
_LEAST_EVENTS = 2
_LEAST_SHARE = 0.05
#: What lies further ahead than this many seconds will have changed by then.
HORIZON_S = 60.0


@dataclass(frozen=True, slots=True)
class Filling:
    """A queue that grows.

    Attributes:
        per_s: events by which it grows each second.
        full_in_s: seconds until it holds q events.
    """

    node: str
    depth: int
    queue_capacity: int
    per_s: float
    full_in_s: float

    @property
    def sentence(self) -> str:
        """It in one sentence."""
        return (
            f"{self.node} fills: {self.depth:,} of {self.queue_capacity:,} events wait, and"
            f" {self.per_s:,.1f} more each second; full in {duration(self.full_in_s)}."
        )


def filling(
    before: Snapshot | None, now: Snapshot, horizon_s: float = HORIZON_S
) -> tuple[Filling, ...]:
    """Return the queues that will be full within the horizon, the soonest first.

    Args:
        before: an earlier snapshot of the same run, best some seconds; None tells nothing.
        now: the newest.
        horizon_s: how far ahead is worth telling.
    """
    if before is None or before.started_at != now.started_at or before.at >= now.at:
        return ()
    found = []
    for id, node in now.nodes.items():
        old, capacity = before.nodes.get(id), node.queue_capacity
        if old is None or not capacity or node.depth >= capacity:
            continue
        grown = node.depth - old.depth
        if grown < max(_LEAST_EVENTS, _LEAST_SHARE * capacity):
            continue
        per_s = grown / (now.at - before.at)
        full_in_s = (capacity - node.depth) / per_s
        if full_in_s <= horizon_s:
            found.append(Filling(id, node.depth, capacity, per_s, full_in_s))
    return tuple(sorted(found, key=lambda each: each.full_in_s))
