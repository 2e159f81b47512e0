"""Snapshots: a session's numbers put together, without waiting and in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aiflow.compiler.bound import node_bound
from aiflow.compiler.plan import NodePlan, Plan
from aiflow.engine.cells import EdgeState, Guardian, Kernel
from aiflow.engine.tuning import (
    capacity_now,
    left_over,
    reorder_now,
    worker_seconds,
    workers_now,
)
from aiflow.metrics.snapshot import Activity, EdgeStats, NodeStats


def edge_stats(edge: EdgeState, *, has_breakpoint: bool) -> EdgeStats:
    """Return one edge's numbers."""
    return EdgeStats(
        edge.id,
        appended=edge.offered,
        taken=edge.taken + edge.inline + edge.fanned,
        purged=edge.purged,
        dropped=edge.dropped,
        depth=edge.appended - edge.taken - edge.purged - edge.dropped,
        is_full=edge.waiting > 0,
        has_breakpoint=has_breakpoint,
    )


def node_stats(
    guardian: Guardian,
    incoming: Sequence[EdgeState],
    outgoing: Sequence[EdgeState],
    kernel: Kernel,
    plan: Plan,
    started_at: float,
) -> NodeStats:
    """Return one node's numbers."""
    at = kernel.now()
    if guardian.is_metered:
        guardian.meter(at)
    passed = sum(edge.inline for edge in outgoing)
    fanned = sum(edge.fanned for edge in outgoing)
    arrived = sum(edge.inline + edge.fanned for edge in incoming)
    processed = guardian.processed + passed + sum(edge.fanned for edge in incoming)
    dropped = sum(guardian.dropped.values())
    settled = processed + dropped + guardian.failed + guardian.cancelled
    hands = sum(call.lane.is_closed is False for call in guardian.parked)
    received = settled + hands if guardian.is_source else sum(edge.offered for edge in incoming)
    reorder = reorder_now(guardian)
    held = min(reorder, max(0, guardian.dispatched - guardian.opened))
    listing = sum(lane.guardian is guardian for lane, *_ in kernel.frames)
    workers = plan.max_conversations if guardian.is_source else workers_now(guardian)
    if guardian.is_source:
        total_s = max(0.0, at - started_at) * workers
    else:
        total_s = worker_seconds(guardian, at, started_at)
    busy_s, backpressured_s, window_s, idle_s = _shares(guardian, at, total_s)
    bound = node_bound(guardian.node, plan.max_conversations)
    return NodeStats(
        guardian.id,
        activity=_activity(guardian),
        is_paused=guardian.is_paused,
        queue_capacity=None if guardian.is_source else capacity_now(guardian),
        workers=workers,
        reorder_capacity=reorder,
        bound=bound if bound is None else bound + left_over(guardian),
        depth=guardian.depth,
        max_depth=guardian.max_depth,
        queue_bytes=_bytes_of(guardian),
        max_bytes=None if guardian.is_source else guardian.node.policy.max_bytes,
        running=hands if guardian.is_source else guardian.dispatched + listing - held,
        held=held,
        received=received,
        processed=processed,
        emitted=guardian.emitted + passed + fanned,
        dropped=dict(guardian.dropped),
        failed=guardian.failed,
        cancelled=guardian.cancelled,
        retries=guardian.retries,
        in_flight=received - settled,
        wait=guardian.wait.stats(arrived),
        service=guardian.service.stats(),
        blocked=guardian.blocked.stats(passed + fanned),
        busy_s=busy_s,
        backpressured_s=backpressured_s,
        window_blocked_s=window_s,
        idle_s=idle_s,
        oldest_age_s=_oldest_age_s(guardian, at),
        blocked_by=_blocked_by(guardian),
        ttfpt_ms=None if guardian.first_at_s is None else guardian.first_at_s * 1e3,
        notices=dict(guardian.notices),
        effects={} if kernel.speculation is None else kernel.speculation.counts(guardian.id),
    )


def by_target(edges: Iterable[EdgeState]) -> dict[str, list[EdgeState]]:
    """Return the edges by the node they lead to."""
    found: dict[str, list[EdgeState]] = {}
    for edge in edges:
        found.setdefault(edge.plan.target, []).append(edge)
    return found


def by_source(edges: Iterable[EdgeState]) -> dict[str, list[EdgeState]]:
    """Return the edges by the node they come from."""
    found: dict[str, list[EdgeState]] = {}
    for edge in edges:
        found.setdefault(edge.plan.source, []).append(edge)
    return found


def idle_node(node: NodePlan, conversations: int) -> NodeStats:
    """Return the numbers of a node before its session starts."""
    return NodeStats(
        node.id,
        queue_capacity=None if node.is_source else node.queue_capacity,
        workers=conversations if node.is_source else node.policy.workers,
        reorder_capacity=node.policy.reorder_capacity,
        bound=node_bound(node, conversations),
    )


def first_at_sinks(guardians: Mapping[str, Guardian]) -> float | None:
    """Return the shortest time to a first processed payload, seconds, at the measured sinks."""
    sinks = [guardian for guardian in guardians.values() if guardian.is_sink]
    measured = [guardian for guardian in sinks if guardian.node.is_measured]
    times = [guardian.first_at_s for guardian in measured or sinks]
    return min((time for time in times if time is not None), default=None)


def _bytes_of(guardian: Guardian) -> int | None:
    gate = guardian.gate
    return None if gate is None or gate.max_bytes is None else sum(gate.bytes)


def _activity(guardian: Guardian) -> Activity:
    if guardian.working:
        return "busy"
    if guardian.parked:
        return "backpressured"
    if guardian.depth and guardian.dispatched >= guardian.window and not guardian.is_paused:
        return "window_blocked"
    return "idle"


def _shares(guardian: Guardian, at: float, total: float) -> tuple[float, float, float, float]:
    """Return busy, backpressured, window-blocked and idle seconds; their sum is wall × k."""
    busy = min(total, guardian.service.sum_s + _running_s(guardian, at))
    blocked = min(total - busy, guardian.backpressured_s)
    window = min(total - busy - blocked, guardian.window_blocked_s)
    return busy, blocked, window, total - busy - blocked - window


def _running_s(guardian: Guardian, at: float) -> float:
    """Return the time that calls still at work have taken."""
    return max(0.0, guardian.working * at - guardian.started_s)


def _oldest_age_s(guardian: Guardian, at: float) -> float:
    since = [lane.first_entry()[1] for lane in guardian.ready]
    return at - min(since) if since else 0.0


def _blocked_by(guardian: Guardian) -> tuple[str, ...]:
    edges = {call.waits_at[0].id: None for call in guardian.parked if call.waits_at is not None}
    return tuple(edges)
