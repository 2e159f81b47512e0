"""Snapshots: every counter of a session at one instant, frozen.

Counters are cumulative, so a late or lost sample loses nothing; whoever draws forms rates
from two samples. Plain values only: a snapshot crosses process borders as a dict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Phase = Literal["idle", "running", "draining", "completed", "failed", "cancelled"]
Activity = Literal["idle", "busy", "backpressured", "window_blocked"]
Outcome = Literal["active", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """One histogram in numbers; all zero where nothing was measured yet.

    Attributes:
        count: measurements so far.
        sum_s: their sum in seconds; two samples give the mean of the time between.
        p50_ms: median in milliseconds, within the histogram's resolution.
        p99_ms: 99th percentile in milliseconds.
        max_ms: largest in milliseconds.
    """

    count: int = 0
    sum_s: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeStats:
    """One node at one instant.

    received = processed + sum(dropped) + failed + cancelled + in_flight, always.

    Attributes:
        activity: what the node is doing now.
        queue_capacity: effective q; None where it is unlimited.
        workers: effective k.
        reorder_capacity: effective ρ.
        bound: most events this node may hold; None where it is unlimited.
        depth: events waiting in its queue now; `max_depth` the most so far.
        queue_bytes: about how many bytes wait there, of `max_bytes` that may; None where they
            are not counted.
        running: events being processed now; `held` those finished and waiting for order.
        received: events offered to the node, `emitted` outputs that left it.
        dropped: events discarded, by reason.
        retries: tries of events after their first.
        wait: time in the queue, at a model source until its request left; `service` in the
            operator; `blocked` until an output left.
        busy_s: seconds of worker time spent in the operator, with `backpressured_s`,
            `window_blocked_s` and `idle_s` summing to elapsed time x workers.
        oldest_age_s: age of the oldest queued event, 0 when the queue is empty.
        blocked_by: ids of edges whose far queue is full and holds this node back.
        notices: what a person should hear of, such as `malformed-frame`, with its count.
        is_paused: a breakpoint holds it; it begins nothing.
        effects: of a speculative node, how many effects were `deferred`, which is `committed` +
            `rolled_back` + `discarded` (its barrier was full) + `waiting`; `failed` counts the
            effects, and what undoes them, that raised.
    """

    id: str
    activity: Activity = "idle"
    queue_capacity: int | None = None
    workers: int = 1
    reorder_capacity: int = 0
    bound: int | None = None
    depth: int = 0
    max_depth: int = 0
    queue_bytes: int | None = None
    max_bytes: int | None = None
    running: int = 0
    held: int = 0
    received: int = 0
    processed: int = 0
    emitted: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0
    cancelled: int = 0
    retries: int = 0
    in_flight: int = 0
    wait: LatencyStats = LatencyStats()
    service: LatencyStats = LatencyStats()
    blocked: LatencyStats = LatencyStats()
    busy_s: float = 0.0
    backpressured_s: float = 0.0
    window_blocked_s: float = 0.0
    idle_s: float = 0.0
    oldest_age_s: float = 0.0
    blocked_by: tuple[str, ...] = ()
    ttfpt_ms: float | None = None
    notices: Mapping[str, int] = field(default_factory=dict)
    is_paused: bool = False
    effects: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EdgeStats:
    """One edge at one instant: appended = taken + purged + dropped + depth, always.

    Attributes:
        is_full: whether a sender waits because of this edge now.
        has_breakpoint: whether it pauses the node behind it.
    """

    id: str
    appended: int = 0
    taken: int = 0
    purged: int = 0
    dropped: int = 0
    depth: int = 0
    is_full: bool = False
    has_breakpoint: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """All numbers of one session at one instant.

    Attributes:
        at: seconds on the session's clock; `started_at` on the same clock.
        bound: most events the runtime may hold; None where a queue is unlimited.
        in_flight: events held now; `max_in_flight` the most so far.
        conversations: outcome by conversation id; the last 1,000 opened.
        turns: how many turns are `active`, and how many ended in each way.
        model_ttft_ms: request sent to first provider delta, None before that.
        ttfpt_ms: request sent to first descendant processed at a measured sink.
        waiting_requests: requests that wait for the limits of their provider.
        stalls: a sentence for each time that the event loop was blocked, the last 20.
        error: one sentence, None while all is well.
    """

    at: float
    started_at: float
    phase: Phase
    strategy: str
    bound: int | None
    in_flight: int
    max_in_flight: int
    nodes: Mapping[str, NodeStats]
    edges: Mapping[str, EdgeStats]
    conversations: Mapping[str, Outcome]
    turns: Mapping[str, int] = field(default_factory=dict)
    waiting_conversations: int = 0
    model_ttft_ms: float | None = None
    ttfpt_ms: float | None = None
    undecoded_bytes: int = 0
    stalls: tuple[str, ...] = ()
    waiting_requests: int = 0
    error: str | None = None

    def __repr__(self) -> str:
        """Return one line: asyncio asks for it at the end of a run, and all numbers are many."""
        took_s, nodes = self.at - self.started_at, len(self.nodes)
        most = f"{self.max_in_flight} of {self.bound}"
        error = "" if self.error is None else f": {self.error}"
        return (
            f"<Snapshot {self.phase} after {took_s:.3f} s, {nodes} nodes,"
            f" {self.in_flight} in flight, at most {most}{error}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the snapshot as plain JSON-ready values."""
        return asdict(self)
