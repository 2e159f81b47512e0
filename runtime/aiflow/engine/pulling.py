"""Pulling: a freed place's short way upstream.

Where a node is slow, what is before it stands still: an output waits in each hand, back to the
source. When a place becomes free, what waited for it is let in, and what made it makes the next,
which waits in the same hand. The long way for that is an entry of the run list for each, and a
turn of the loop for the source. Here it is one loop upstream, for plain functions and plain
iterators in a row. Whatever is out of the ordinary goes the long way.
"""

from __future__ import annotations

from aiflow.engine.cells import INLINE, Call, EdgeState, Guardian, Lane
from aiflow.engine.delivery import admit, append, let_in
from aiflow.engine.inline import InlineRunner
from aiflow.engine.pulledstream import PulledStream
from aiflow.engine.settling import go_on, leave


def pull(guardian: Guardian, at: float) -> None:
    """Let those in who wait for a node's places, and have the next made where that is simple.

    Args:
        guardian: which has just begun something; nothing is half done there.
        at: the time now.
    """
    is_alone = guardian.window == 1
    nodes = [guardian]  # with a place that became free, each upstream of the one before
    while nodes:
        guardian = nodes.pop()
        if guardian.gate is not None:
            admit(guardian, at)
            continue
        capacity = guardian.queue_capacity
        while guardian.waiters and (capacity is None or guardian.depth < capacity):
            call = next(iter(guardian.waiters))
            route, lane = call.route, call.lane
            target = None if route is None else route.lane
            # A way with a lane is of one edge, at which nobody looks.
            if (
                target is None
                or target.guardian is not guardian
                or target.is_shut
                or len(guardian.waiters) > 1
                or not _makes_next(lane, call)
            ):
                admit(guardian, at)
                break
            edge: EdgeState = route.edge  # type: ignore[union-attr, assignment] # set with lane
            if not guardian.may_queue(target, edge, call.pending):  # type: ignore[arg-type]
                break
            _let_in(call, target, edge, at)
            source = lane.source
            if source is None:
                _make_next(call, lane, at)
                if lane.guardian.waiters:
                    if lane.is_dead:
                        _let_in_before(lane, at)
                    nodes += (guardian, lane.guardian)
                    break
            elif is_alone:
                source.read_one(at)
            else:
                # Others will begin something in this turn too: it reads for all of them at once.
                source.go_on()
            at = guardian.kernel.now()


def _makes_next(lane: Lane, call: Call) -> bool:
    """Say whether who waits makes the next simply: nothing else is at work at its node."""
    guardian = lane.guardian
    if lane.is_dead or guardian.kernel.runlist.stack:
        return False
    if lane.source is not None:
        return type(lane.source) is PulledStream and lane.source.may_read_on(call)
    return (
        type(guardian.runner) is InlineRunner
        and guardian.dispatched == guardian.window == 1
        and 0 < guardian.depth == lane.depth
        and guardian.way == INLINE
        and lane.quick
        and not (guardian.is_choosy or guardian.keeps_calls)
        and not (guardian.is_pumping or guardian.finishing)
        and call.more is None
        and call.wake is None
        and call.trial is None
        and not (call.extra or call.listed or call.is_cancelled)
        and lane.process is guardian.process  # nobody looks inside
    )


def _let_in(call: Call, target: Lane, edge: EdgeState, at: float) -> None:
    """Put what a call has in hand into the queue, where it alone waits, and end its stay there."""
    lane, event = call.lane, call.pending
    sender = lane.guardian
    sender.meter(at)
    del sender.parked[call], target.guardian.waiters[call]
    sender.remeter()
    edge.waiting -= 1
    target.waiting -= 1
    call.waits_at = call.pending = None
    sender.processed += 1
    sender.emitted += 1
    sender.blocked.record(at - call.ready_at)
    edge.appended += 1
    append(target, edge, event, at, is_counted=True)  # type: ignore[arg-type] # it had it in hand


def _let_in_before(lane: Lane, at: float) -> None:
    """Let in who waited for the place of an event whose operator has ended its own turn.

    The long way does so before the operator is called, when the turn is not given up.
    """
    first = next(iter(lane.guardian.waiters))
    if first.lane.turn is lane.turn:
        let_in(lane.guardian, first, at)


def _make_next(call: Call, lane: Lane, at: float) -> None:
    """Be done with a call, and have its plain function run with what the queue holds first."""
    guardian = lane.guardian
    lane.calls.clear()
    lane.dispatched = guardian.dispatched = 0
    guardian.is_metered = False
    call.is_settled = True
    call.renew()
    lane.spare = call
    event, since, edge, _stamp = lane.queues[0].popleft()
    lane.depth = guardian.depth = depth = guardian.depth - 1
    if not depth:
        guardian.ready.clear()
    edge.taken += 1
    guardian.wait.record(at - since)
    leave(lane)
    guardian.runner.carry(lane, event, edge, at)  # type: ignore[attr-defined] # an InlineRunner
    if not guardian.dispatched:
        go_on(guardian)
