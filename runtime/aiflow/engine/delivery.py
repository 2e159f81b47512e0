"""The way over an edge: from an output in hand into the target's queue or its operator.

An output waits in the sender's hand, never half delivered: when every strict edge of its
port has room, it is put on all of them in one step. Who waits at a full queue is served in
the order of arrival by whoever makes room, so a later sender never overtakes.
"""

from __future__ import annotations

from msgspec.structs import replace

from aiflow.engine.cells import INLINE, Call, EdgeState, Event, Guardian, Lane, Route
from aiflow.engine.overflow import has_droppable, overflow, refuse
from aiflow.engine.settling import leave
from aiflow.engine.sharing import may_begin
from aiflow.engine.waiting import cease_to_wait, forget, is_awaited, place_of, wait_at
from aiflow.errors import HopsSpentError
from aiflow.events import is_droppable
from aiflow.policies import Cancel, Overflow


def deliver(route: Route, event: Event, at: float) -> tuple[EdgeState, Lane] | None:
    """Put an output on every edge of its port, or on none.

    Returns:
        None when it has left, else the strict edge that has no room and the lane behind it.
    """
    target = route.lane
    if target is not None:
        # In short, for the only edge, unwatched, into a queue with room.
        guardian = target.guardian
        if not (guardian.free or target.waiting or target.is_shut):
            edge = route.edge
            assert edge is not None  # set together with route.lane
            if guardian.may_queue(target, edge, event):
                edge.appended += 1
                append(target, edge, event, at)
                return None
            if guardian.overflow is Overflow.BLOCK and not edge.is_detached:
                return edge, target
    if route.choices:
        return _deliver_by_one(route, event, at)
    for hop in route.strict:
        if not has_room(hop[1], hop[0], event):
            return hop
    tell(route, event, at)
    for edge, lane in route.backwards:
        accept(lane, edge, event, at)
    for edge, lane in route.returns:
        send_back(lane, edge, event, at)
    return None


def _deliver_by_one(route: Route, event: Event, at: float) -> tuple[EdgeState, Lane] | None:
    """Deliver by the way that is least busy of those that have room; wait at all where none has.

    Where several are alike they take turns.
    """
    ways = route.choices[route.turn :] + route.choices[: route.turn]
    full: list[tuple[EdgeState, Lane]] = []
    best: Route | None = None
    for way in ways:
        hop = next((hop for hop in way.strict if not has_room(hop[1], hop[0], event)), None)
        if hop is not None:
            full.append(hop)
        elif best is None or _load(way) < _load(best):
            best = way
    if best is None:
        route.full = tuple(full[1:])
        return full[0]
    route.full = ()
    route.turn = (route.choices.index(best) + 1) % len(route.choices)
    return deliver(best, event, at)


def _load(route: Route) -> int:
    guardians = [lane.guardian for _, lane in route.hops]
    return max((each.depth + each.dispatched for each in guardians), default=0)


def has_room(lane: Lane, edge: EdgeState, event: Event) -> bool:
    """Say whether a strict edge can be rid of an event now, be it by an overflow."""
    guardian = lane.guardian
    if guardian.free or lane.is_shut:
        return True
    if not is_awaited(lane, edge) and guardian.may_queue(lane, edge, event):
        return True
    if guardian.overflow is Overflow.BLOCK:
        return False
    if guardian.overflow is Overflow.ERROR or is_droppable(event.payload):
        return True
    # Nothing else is ever dropped: it makes a droppable one give way, or waits.
    return (
        guardian.overflow is Overflow.DROP_OLDEST
        and not is_awaited(lane, edge)
        and has_droppable(lane, edge, event)
    )


def accept(lane: Lane, edge: EdgeState, event: Event, at: float, *, is_next: bool = False) -> None:
    """Take an event in at the target: to its operator, into its queue, or to its end.

    With `is_next` it has waited for this place itself, so nobody stands before it.
    """
    guardian = lane.guardian
    kernel = guardian.kernel
    if edge.tap is not None:
        edge.tap.see(event, at)
    edge.appended += 1
    if lane.is_shut:
        edge.purged += 1
        guardian.cancelled += 1
        if kernel.log is not None:
            kernel.log.settled(guardian.id, event, "cancelled", at)
        return
    if guardian.free == INLINE:
        # Invariant: nothing is dispatched here, so what follows is the head.
        edge.taken += 1
        guardian.free = 0
        guardian.claimed = event
        guardian.dispatched += 1
        lane.dispatched += 1
        kernel.enter()
        lane.turn.in_flight += 1
        guardian.wait.fine += 1
        kernel.runlist.push(guardian.runner.start, lane, (event, edge))
        return
    must_wait = is_awaited(lane, edge) and not is_next
    has_place = not must_wait and guardian.may_queue(lane, edge, event)
    if has_place or overflow(lane, edge, event, at):
        append(lane, edge, event, at)


def send_back(lane: Lane, edge: EdgeState, event: Event, at: float) -> None:
    """Bring an event back to where its loop begins, once more; its place there is kept."""
    assert edge.feedback is not None
    back = replace(event, hops=event.hops + 1)
    if back.hops > edge.feedback.hops and not lane.is_shut:
        edge.appended += 1
        refuse(lane, edge, back, HopsSpentError(edge.id, edge.feedback.hops), at)
    else:
        accept(lane, edge, back, at, is_next=True)


def append(
    lane: Lane, edge: EdgeState, event: Event, at: float, *, is_counted: bool = False
) -> None:
    """Put an event into the queue, which has room, and have it served.

    With `is_counted` it is among what is in flight already: it stands for one that has just left.
    """
    guardian = lane.guardian
    if guardian.is_metered:
        guardian.meter(at)
    if not lane.depth:
        guardian.ready.append(lane)
    lane.depth += 1
    entry = (event, at, edge, guardian.stamp)
    lane.queues[edge.port].append(entry)
    guardian.stamp += 1
    if guardian.gate is not None:
        guardian.gate.entered(lane, entry)
    guardian.depth = depth = guardian.depth + 1
    if depth > guardian.max_depth:  # noqa: PLR1730 - no call for every event
        guardian.max_depth = depth
    guardian.free = 0
    if not is_counted:
        kernel = guardian.kernel
        kernel.in_flight = held = kernel.in_flight + 1
        if held > kernel.max_in_flight:  # noqa: PLR1730
            kernel.max_in_flight = held
        lane.turn.in_flight += 1
    if guardian.opened < guardian.workers or guardian.waiters or guardian.finishing:
        guardian.runner.wake(guardian)


#: A lane, what is to be begun there, and the edge over which it came. Without an edge it is a
#: call that is to be tried again, or the lane's `finish`.
Taken = tuple[Lane, Event | Call | None, EdgeState | None]


def take(guardian: Guardian, at: float) -> Taken | None:
    """Take what is to be begun next; None where nothing may be.

    Lanes take turns, and who waits for the place that became free gets it at once. A lane
    whose `finish` is due comes without an event.
    """
    if guardian.opened >= guardian.workers:
        return _take_head(guardian) if guardian.finishing else None
    if guardian.is_metered:
        guardian.meter(at)
    if guardian.finishing:
        return _take_due(guardian)
    if guardian.dispatched >= guardian.window or not guardian.ready:
        return None
    if guardian.is_choosy:
        return _take_chosen(guardian, at)
    lane = guardian.ready.popleft()
    event, edge = _take_first(lane, at)
    if lane.depth:
        guardian.ready.append(lane)
    guardian.dispatched += 1
    lane.dispatched += 1
    if guardian.waiters:
        admit(guardian, at)
    return lane, event, edge


def _take_due(guardian: Guardian) -> Taken | None:
    """Take a call that is to be tried again, which has its place, or the `finish` of a lane."""
    line = guardian.finishing
    due = line[0]
    if isinstance(due, Call):
        line.popleft()
        return due.lane, due, None
    if guardian.dispatched >= guardian.window:
        return None
    line.popleft()
    guardian.dispatched += 1
    return due, None, None


def _take_first(lane: Lane, at: float, index: int = 0) -> tuple[Event, EdgeState]:
    """Take what has waited longest in a lane of one row, or what stands at another place."""
    queue = lane.queues[0]
    if index:
        entry = queue[index]
        del queue[index]
    else:
        entry = queue.popleft()
    forget(lane, entry)
    event, since, edge, _stamp = entry
    edge.taken += 1
    lane.guardian.wait.record(at - since)
    return event, edge


def _take_free(lane: Lane, at: float) -> tuple[Event, EdgeState] | None:
    """Take the first whose key is free in a lane of one row; None where there is none."""
    keys = lane.guardian.keys
    index = 0 if keys is None or not keys.passes_by else keys.first_free(lane)
    return None if index is None else _take_first(lane, at, index)


def _take_chosen(guardian: Guardian, at: float) -> tuple[Lane, Event, EdgeState] | None:
    """Take the next that may be begun; lanes of which nothing may are passed by."""
    ready, gate = guardian.ready, guardian.gate
    for lane in tuple(ready):
        taken = None
        if may_begin(guardian, lane):
            taken = gate.take(lane, at) if gate is not None else _take_free(lane, at)
        if ready and ready[0] is lane:  # else its turn has failed meanwhile
            ready.popleft()
            if lane.depth:
                ready.append(lane)
        if taken is not None:
            guardian.dispatched += 1
            lane.dispatched += 1
        if guardian.waiters:
            admit(guardian, at)
        if taken is not None:
            return lane, *taken
    return None


def _take_head(guardian: Guardian) -> Taken | None:
    """Take the head of a lane that is to be tried again where all workers wait for it.

    They stand at outputs that may leave only behind it: one of them lends it its place.
    """
    if not guardian.keeps_order or guardian.working >= guardian.workers:
        return None
    for due in guardian.finishing:
        if isinstance(due, Call) and due.lane.head() is due and _lends(due):
            guardian.finishing.remove(due)
            guardian.borrowers[due] = None
            due.is_open = True
            return due.lane, due, None
    return None


def _lends(head: Call) -> bool:
    """Say whether a call behind this one has a worker that it does not use."""
    return any(each.is_open and not each.is_running for each in head.lane.calls)


def admit(guardian: Guardian, at: float) -> None:
    """Give free places to those who wait for them, longest waiting first."""
    while (call := _next_waiter(guardian)) is not None:
        let_in(guardian, call, at)


def let_in(guardian: Guardian, call: Call, at: float) -> None:
    """Let an output in that has waited here, unless it has to wait at another branch now."""
    event, route = call.pending, call.route
    assert event is not None
    assert route is not None
    edge, _ = place_of(call, guardian)
    cease_to_wait(call)
    if route.choices:
        way = next(way for way in route.choices if any(hop[0] is edge for hop in way.hops))
        route.turn = (route.choices.index(way) + 1) % len(route.choices)
        route = way
    full = _let_in_by(route, edge, event, at)
    if full is not None:
        wait_at(call, *full)
        return
    sender = call.lane.guardian
    sender.meter(at)
    del sender.parked[call]
    sender.remeter()
    call.pending = None
    call.has_left = True
    if sender.is_source:
        leave(call.lane)  # its place was the event's; an operator's is its call's
    guardian.kernel.runlist.push(sender.runner.left, call, at)


def _let_in_by(
    route: Route, edge: EdgeState, event: Event, at: float
) -> tuple[EdgeState, Lane] | None:
    """Deliver what has waited at one edge; return another where it has to wait now."""
    if route.bundle is not None:
        return route.bundle.deliver(at, edge)
    # A broadcast holds no place while it waits: the other branches are asked again.
    for hop in route.strict:
        if hop[0] is not edge and not has_room(hop[1], hop[0], event):
            return hop
    tell(route, event, at)
    for other, target in route.backwards:
        accept(target, other, event, at, is_next=other is edge)
    for other, target in route.returns:
        send_back(target, other, event, at)
    return None


def _next_waiter(guardian: Guardian) -> Call | None:
    refused: set[tuple[Lane, int]] = set()
    for call in guardian.waiters:
        if call.lane.is_dead and not _still_lets_go(call.lane):
            continue  # its turn is given up, and is emptied when what is at work has returned
        edge, lane = place_of(call, guardian)
        if (lane, edge.port) in refused:
            continue
        if lane.is_shut or _may_come_in(call, lane, edge):
            return call
        if guardian.gate is None or guardian.gate.in_turn:
            # Invariant: who came later for the same places comes later.
            refused.add((lane, edge.port))
    return None


def _still_lets_go(lane: Lane) -> bool:
    """Say whether what a cancelled turn has in hand at a node leaves: only a draining source's."""
    return lane.guardian.is_source and lane.guardian.node.policy.cancel is Cancel.DRAIN


def _may_come_in(call: Call, lane: Lane, edge: EdgeState) -> bool:
    bundle = None if call.route is None else call.route.bundle
    if bundle is not None:
        return bundle.has_places(lane, edge)
    assert call.pending is not None
    return lane.guardian.may_queue(lane, edge, call.pending)


def tell(route: Route, event: Event, at: float) -> None:
    """Have an output written down, once however many edges it takes."""
    _edge, lane = (route.hops or route.returns)[0]
    log = lane.guardian.kernel.log
    if log is not None:
        log.emitted(route.owner, route.port, event, at)
