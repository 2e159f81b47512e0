"""Ends: END, ERROR and CANCEL of a turn travel beside the queues and need no place in them.

A lane closes when the turn has ended on all its in-edges, nothing of it waits or is at work
there, and what the operator kept back has left. So each node is told of each turn's end
exactly once, after its data, and passes it on once.
"""

from __future__ import annotations

from aiflow.engine.cells import Lane, Terminal
from aiflow.engine.waking import tell_joins
from aiflow.policies import Cancel


def edge_ended(lane: Lane, terminal: Terminal) -> None:
    """Note that the turn has ended on one of a lane's in-edges."""
    lane.terminal = max(lane.terminal, terminal)
    lane.open_edges -= 1
    if lane.open_edges <= 0:
        try_close(lane)


def try_close(lane: Lane) -> None:
    """Close a lane if nothing keeps it open; called after every change that could allow it."""
    if lane.circle is not None and not lane.circle.is_over:
        lane.circle.changed()
        if not lane.is_dead:
            return  # something may come back; the loop ends its lanes together
    if lane.is_closed or lane.dispatched or lane.depth:
        return
    guardian = lane.guardian
    if guardian.is_source and lane.open_edges > 0:
        return  # its stream is not closed yet
    if not lane.is_dead:
        if lane.open_edges > 0 or lane.waiting:
            return
        if guardian.has_finish and not lane.has_finished and _tells(lane):
            lane.has_finished = True
            lane.dispatched += 1
            guardian.finishing.append(lane)
            guardian.free = 0
            guardian.runner.wake(guardian)
            return
    _close(lane)


def _tells(lane: Lane) -> bool:
    """Say whether an operator that keeps things back tells them before the end passes on.

    After an error it does not, because half of something is worse than nothing of it; after a
    cancel where the node finishes what it has taken in, which is what it keeps too.
    """
    if lane.terminal is Terminal.CANCEL:
        return lane.guardian.node.policy.cancel is not Cancel.PROPAGATE
    return lane.terminal is Terminal.END


def _close(lane: Lane) -> None:
    lane.is_closed = True
    kernel = lane.guardian.kernel
    if lane.guardian.keys is not None:
        lane.guardian.keys.end_turn(lane)
    if kernel.log is not None:
        kernel.log.ended(lane.guardian.id, lane.turn, lane.terminal, kernel.now())
    for route in lane.routes.values():
        for _edge, target in route.hops:
            kernel.runlist.push(edge_ended, target, lane.terminal)
    if lane.joins:
        tell_joins(lane)
    turn = lane.turn
    turn.open_lanes -= 1
    if lane.guardian.has_store:
        turn.open_stores -= 1
        if not turn.open_stores:
            kernel.stores_closed(turn)
    if not turn.open_lanes:
        kernel.turn_ended(turn)
