"""Failure of one turn at one node, and the emptying of a lane that it and a cancel need.

An operator's error ends its conversation, not the session: what waits for this node is
purged, ERROR passes on behind the data that has left, the turn's sources stop, and what the
other branches hold is still worked on.
"""

from __future__ import annotations

from aiflow.engine.cells import Call, Lane, Settled, Terminal
from aiflow.engine.ending import try_close
from aiflow.engine.settling import count, go_on, leave, settle
from aiflow.engine.waiting import forget
from aiflow.errors import EngineError, NotStarted, OperatorError, TryTimeoutError


def fail_call(call: Call, error: BaseException, at: float) -> None:
    """Settle a call as failed and fail its turn."""
    kill(call.lane, Terminal.ERROR)
    settle(call, Settled.FAILED, at)
    fail_lane(call.lane, error, at)


def fail_lane(lane: Lane, error: BaseException, at: float) -> None:
    """End a turn at a node because of an error there."""
    kill(lane, Terminal.ERROR)
    empty(lane, at)
    lane.guardian.kernel.fail_turn(lane.turn, error)
    try_close(lane)


def wrap(lane: Lane, error: BaseException, attempts: int = 1, note: str = "") -> BaseException:
    """Return the error that says where an operator raised; it keeps the operator's own.

    Args:
        lane: where it raised.
        error: the engine's own errors are returned as they are.
        attempts: how often the event was tried.
        note: a clause that says more.
    """
    if isinstance(error, EngineError) and not isinstance(error, TryTimeoutError | NotStarted):
        return error
    wrapped = OperatorError(lane.guardian.id, lane.turn.conversation, error, attempts, note)
    wrapped.__cause__ = error
    return wrapped


def kill(lane: Lane, terminal: Terminal) -> None:
    """Discard from now on what arrives at a lane or comes back from its operator."""
    lane.is_dead = True
    lane.plain = None  # so that the short way looks closer at what comes back
    shut(lane, terminal)


def shut(lane: Lane, terminal: Terminal) -> None:
    """Discard from now on what arrives at a lane; what it has is worked on unless it is dead."""
    lane.is_shut = True
    for route in lane.before:
        route.refresh()  # nothing comes inline into it
    lane.terminal = max(lane.terminal, terminal)


def empty(lane: Lane, at: float) -> None:
    """Purge a dead lane's queue and cancel its calls."""
    guardian = lane.guardian
    if lane.depth:
        _purge(lane, at)
    if lane in guardian.finishing:
        guardian.finishing.remove(lane)
        lane.dispatched -= 1
    for call in list(lane.calls):
        guardian.runner.cancel(call, at)
    go_on(guardian)


def _purge(lane: Lane, at: float) -> None:
    guardian = lane.guardian
    if guardian.is_metered:
        guardian.meter(at)
    guardian.ready.remove(lane)
    purged = lane.depth
    for queue in lane.queues:
        while queue:
            entry = queue.popleft()
            entry[2].purged += 1
            forget(lane, entry)
            count(lane, entry[0], Settled.CANCELLED, at)
    for entry in lane.store:
        lane.depth -= 1
        count(lane, entry[0], Settled.CANCELLED, at)
    lane.store = []
    leave(lane, purged)
