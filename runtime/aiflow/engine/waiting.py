"""Waiting: how an output stands at a full queue, and how it ceases to.

Nothing but the lists and counts; who is served next is told in `delivery`.
"""

from __future__ import annotations

from aiflow.engine.cells import Call, EdgeState, Entry, Guardian, Lane


def park(call: Call, hop: tuple[EdgeState, Lane], at: float) -> None:
    """Let an output wait for room, behind those who wait there already."""
    sender = call.lane.guardian
    sender.meter(at)
    call.blocked_at = at
    wait_at(call, *hop)
    sender.parked[call] = None
    sender.is_metered = True
    if sender.kernel.on_blocked is not None:
        sender.kernel.on_blocked()


def unpark(call: Call, at: float) -> None:
    """Take a waiting output away from where it waits; no place was used."""
    if call.waits_at is not None:
        sender = call.lane.guardian
        sender.meter(at)
        del sender.parked[call]
        sender.remeter()
        cease_to_wait(call)


def forget(lane: Lane, entry: Entry) -> None:
    """Take one event that has left the queue out of all counts of the queue."""
    guardian = lane.guardian
    lane.depth -= 1
    guardian.depth -= 1
    if guardian.gate is not None:
        guardian.gate.left(lane, entry)


def place_of(call: Call, guardian: Guardian) -> tuple[EdgeState, Lane]:
    """Return where a waiting call stands at a guardian."""
    assert call.waits_at is not None
    if not call.or_at:
        return call.waits_at
    return next(hop for hop in _places(call) if hop[1].guardian is guardian)


def wait_at(call: Call, edge: EdgeState, lane: Lane) -> None:
    """Let a call stand at a lane behind those who stand there."""
    call.waits_at = (edge, lane)
    _stand_at(call, edge, lane)
    if call.route is not None and call.route.full:
        call.or_at = call.route.full
        for also_at in call.or_at:
            _stand_at(call, *also_at)


def cease_to_wait(call: Call) -> None:
    """Take a call out of the lists it stands in."""
    assert call.waits_at is not None
    _stand_away(call, *call.waits_at)
    call.waits_at = None
    if call.or_at:
        for also_at in call.or_at:
            _stand_away(call, *also_at)
        call.or_at = ()


def _stand_at(call: Call, edge: EdgeState, lane: Lane) -> None:
    edge.waiting += 1
    lane.waiting += 1
    guardian = lane.guardian
    guardian.waiters[call] = None
    guardian.free = 0


def _stand_away(call: Call, edge: EdgeState, lane: Lane) -> None:
    edge.waiting -= 1
    lane.waiting -= 1
    guardian = lane.guardian
    guardian.waiters.pop(call, None)
    guardian.refresh()


def is_awaited(lane: Lane, edge: EdgeState) -> bool:
    """Say whether somebody waits for the places that an arrival on this edge would take.

    Each in-port has places of its own, so who waits at one never holds up another.
    """
    gate = lane.guardian.gate
    if not lane.waiting or gate is None:
        return lane.waiting > 0
    if not gate.in_turn:
        return False
    return any(
        place is lane and at.port == edge.port
        for call in lane.guardian.waiters
        for at, place in _places(call)
    )


def _places(call: Call) -> tuple[tuple[EdgeState, Lane], ...]:
    return () if call.waits_at is None else (call.waits_at, *call.or_at)
