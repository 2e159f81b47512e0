"""What a full queue does with an arrival that cannot wait: drop it, drop another, or fail.

Only what is droppable is ever dropped, each with a reason, a count and so a gap. A detached
edge may push out only what came by a detached edge: what waits under `block` stays.
"""

from __future__ import annotations

from aiflow.engine.cells import EdgeState, Event, Lane
from aiflow.engine.ending import try_close
from aiflow.engine.failing import fail_lane
from aiflow.engine.settling import leave
from aiflow.engine.waiting import forget, is_awaited
from aiflow.engine.waking import tell_joins
from aiflow.errors import EngineError, LoopOverflowError, QueueOverflowError
from aiflow.events import is_droppable
from aiflow.policies import Overflow

#: The arrival itself was dropped.
NEWEST = "drop_newest"
#: An older event was dropped to make room.
OLDEST = "drop_oldest"
#: The arrival was dropped because nothing older could be.
NOTHING_OLDER = "nothing_older"


def overflow(lane: Lane, edge: EdgeState, event: Event, at: float) -> bool:
    """Deal with an arrival that has no place; return True where it has one now."""
    how = edge.overflow or lane.guardian.overflow
    is_oldest = how is Overflow.DROP_OLDEST
    if is_oldest and not is_awaited(lane, edge) and has_droppable(lane, edge, event):
        _make_room(lane, edge, event, at)
        return True
    if edge.feedback is not None and not edge.is_detached:
        places = edge.feedback.credit * edge.feedback.max_returns
        refuse(lane, edge, event, LoopOverflowError(edge.id, places), at)
    elif how is Overflow.ERROR or not is_droppable(event.payload):
        capacity = lane.guardian.queue_capacity or 0
        refuse(lane, edge, event, QueueOverflowError(lane.guardian.id, capacity), at)
    else:
        edge.dropped += 1
        _count(lane, event, NOTHING_OLDER if is_oldest else NEWEST, at)
    return False


def refuse(lane: Lane, edge: EdgeState, event: Event, error: EngineError, at: float) -> None:
    """Count an arrival as failed and end its turn."""
    guardian = lane.guardian
    edge.purged += 1
    guardian.failed += 1
    if guardian.kernel.log is not None:
        guardian.kernel.log.settled(guardian.id, event, "failed", at)
    fail_lane(lane, error, at)


def has_droppable(lane: Lane, edge: EdgeState, event: Event) -> bool:
    """Say whether enough waits here that may be dropped for an arrival on this edge."""
    gate = lane.guardian.gate
    has_bytes = gate is None or gate.has_droppable_bytes(edge, event)
    return has_bytes and _victim(lane, edge) is not None


def _make_room(lane: Lane, edge: EdgeState, event: Event, at: float) -> None:
    """Drop what is oldest: one event, or as many as it takes where bytes are counted."""
    guardian = lane.guardian
    while (victim := _victim(lane, edge)) is not None:
        _evict(*victim, at)
        is_counted = guardian.gate is not None and guardian.gate.max_bytes is not None
        if not is_counted or guardian.may_queue(lane, edge, event):
            return


def _victim(lane: Lane, edge: EdgeState) -> tuple[Lane, EdgeState, int] | None:
    """Find what is dropped for an arrival: its own turn's oldest, else the largest lane's."""
    found = _oldest_droppable(lane, edge)
    if found is not None:
        return lane, edge, found
    guardian = lane.guardian
    others = sorted(guardian.ready, key=lambda other: other.depth, reverse=True)
    for other in others:
        # A place that is kept for the other turn would be of no use to this one.
        has_more = len(other.queues[edge.port]) > 1
        is_of_use = not guardian.is_limited or not lane.queues[edge.port] or has_more
        if other is not lane and is_of_use:
            found = _oldest_droppable(other, edge)
            if found is not None:
                return other, edge, found
    return None


def _oldest_droppable(lane: Lane, edge: EdgeState) -> int | None:
    for index, (event, _since, came_by, _stamp) in enumerate(lane.queues[edge.port]):
        if edge.is_detached and not came_by.is_detached:
            continue
        if is_droppable(event.payload):
            return index
    return None


def _evict(lane: Lane, edge: EdgeState, index: int, at: float) -> None:
    guardian = lane.guardian
    if guardian.is_metered:
        guardian.meter(at)
    queue = lane.queues[edge.port]
    entry = queue[index]
    event, came_by = entry[0], entry[2]
    del queue[index]
    forget(lane, entry)
    if not lane.depth:
        guardian.ready.remove(lane)
    came_by.dropped += 1
    leave(lane)
    _count(lane, event, OLDEST, at)
    if lane.open_edges <= 0:
        try_close(lane)


def _count(lane: Lane, event: Event, reason: str, at: float) -> None:
    guardian = lane.guardian
    guardian.dropped[reason] = guardian.dropped.get(reason, 0) + 1
    if guardian.kernel.log is not None:
        guardian.kernel.log.settled(guardian.id, event, f"dropped: {reason}", at)
    if lane.joins:
        tell_joins(lane)
