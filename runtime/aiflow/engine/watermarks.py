"""Watermarks: on an edge, "nothing of this source up to n will be appended any more".

They are worked out when somebody asks, from what waits, is at work or is kept upstream, in
one pass over the turn's nodes in the plan's order. So events that are settled without an
output move them at no cost, and no number has to travel. END is a watermark of infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from aiflow.engine.cells import Call, Lane, Turn


def edge_watermark(turn: Turn, node: str, source: str) -> float:
    """Return the watermark on the out-edges of a node, for events of one source.

    Returns:
        The highest sequence that is settled for good, -1 where none is yet, infinity where
        nothing of the source can come this way (any more).
    """
    return _marks(turn, source, until=node).get(node, inf)


def input_watermark(lane: Lane, source: str) -> float:
    """Return the lowest watermark on a lane's in-edges: what cannot arrive there any more."""
    marks = _marks(lane.turn, source, until=lane.guardian.id)
    before = [marks[route.owner] for route in lane.before if route.owner in marks]
    return min(before, default=inf)


def row_marks(lane: Lane, source: str) -> list[float]:
    """Return the watermark of each row of a lane's queue: what cannot arrive there any more."""
    marks = _marks(lane.turn, source, until=lane.guardian.id)
    rows = [inf] * len(lane.queues)
    for route in lane.before:
        for edge, target in route.hops:
            if target is lane:
                rows[edge.port] = min(rows[edge.port], marks.get(route.owner, inf))
    return rows


@dataclass(frozen=True, slots=True)
class Keeper:
    """A lane whose operator keeps something back, until more comes or nothing can."""

    lane: Lane


def pending_upstream(lane: Lane, source: str, sequence: float) -> list[Lane | Call | Keeper]:
    """Return where the parts of one source event stand that may still come to a lane.

    Of what waits it is the lane that it waits in, of what has been begun the call.
    """
    found: list[Lane | Call | Keeper] = []
    for before in upstream(lane):
        if before.is_closed:
            continue
        if before.source is not None:
            pending = before.source.hand.pending
            if pending is not None and (pending.source, pending.sequence) == (source, sequence):
                found.append(before.source.hand)
            continue
        queued = (entry[0] for queue in (*before.queues, before.store) for entry in queue)
        if any((event.source, event.sequence) == (source, sequence) for event in queued):
            found.append(before)
        for call in before.calls:
            event = call.scope.event if call.event is None else call.event
            if (event.source, event.sequence) == (source, sequence):
                found.append(call)
        if before.keep_from is not None and before.keep_from <= sequence:
            found.append(Keeper(before))
    return found


def upstream(lane: Lane) -> dict[Lane, None]:
    """Return the lanes before one, a loop with all that is in it."""
    lanes = lane.turn.lanes
    found: dict[Lane, None] = {}
    left = [lane]
    while left:
        each = left.pop()
        members = (each,) if each.circle is None else each.circle.lanes
        for route in [route for member in members for route in member.before]:
            before = lanes[route.owner]
            if before not in found:
                found[before] = None
                left.append(before)
    return found


def _marks(turn: Turn, source: str, until: str) -> dict[str, float]:
    marks: dict[str, float] = {}
    arriving: dict[str, float] = {}
    for node, lane in turn.lanes.items():
        mark = _own_mark(lane, source, arriving.get(node, inf))
        marks[node] = mark
        for route in lane.routes.values():
            for _edge, target in route.hops:
                name = target.guardian.id
                arriving[name] = min(arriving.get(name, inf), mark)
        if node == until:
            break
    return marks


def _own_mark(lane: Lane, source: str, arriving: float) -> float:
    if lane.is_closed:
        return inf
    if lane.source is not None:
        if lane.guardian.id != source:
            return inf
        hand = lane.source.hand.pending
        return float(lane.source.sequence if hand is None else hand.sequence - 1)
    pending = min(_pending(lane, source), default=inf)
    if lane.circle is not None and lane is lane.circle.entry:
        # Whatever is anywhere in the loop may come back here.
        for each in lane.circle.lanes:
            pending = min(pending, *_pending(each, source), inf)
    if lane.keep_from is not None:
        pending = min(pending, lane.keep_from)
    return min(arriving, pending - 1)


def _pending(lane: Lane, source: str) -> Iterator[int]:
    """Yield the sequences of a source's events that wait or are at work here."""
    for queue in (*lane.queues, lane.store):
        for entry in queue:
            if entry[0].source == source:
                yield entry[0].sequence
    for call in lane.calls:
        # What `finish` tells belongs to the event that came last.
        event = call.scope.event if call.event is None else call.event
        if event.source == source:
            yield event.sequence
    if lane.scope.event.source == source and lane in lane.guardian.finishing:
        yield lane.scope.event.sequence
    claimed = lane.guardian.claimed
    if claimed is not None and claimed.source == source:
        yield claimed.sequence
