"""Waiting: how an output stands at a full queue, and how it ceases to.

Nothing but the lists and counts; who is served next is told in `delivery`.
"""

from __future__ import annotations

from aiflow.engine.cells import Call, EdgeState, Entry, Lane


def park(call: Call, hop: tuple[EdgeState, Lane], at: float) -> None:
    """Let an output wait for room, behind those who wait there already."""
    edge, lane = hop
    sender = call.lane.guardian
    sender.meter(at)
    call.blocked_at = at
    wait_at(call, edge, lane)
    sender.parked[call] = None
    sender.is_metered = True


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


def place_of(call: Call) -> tuple[EdgeState, Lane]:
    """Return where a waiting call stands."""
    assert call.waits_at is not None
    return call.waits_at


def wait_at(call: Call, edge: EdgeState, lane: Lane) -> None:
    """Let a call stand at a lane behind those who stand there."""
    call.waits_at = (edge, lane)
    edge.waiting += 1
    lane.waiting += 1
    lane.guardian.waiters[call] = None
    lane.guardian.free = 0


def cease_to_wait(call: Call) -> None:
    """Take a call out of the list it stands in."""
    edge, lane = place_of(call)
    call.waits_at = None
    edge.waiting -= 1
    lane.waiting -= 1
    del lane.guardian.waiters[call]
    lane.guardian.refresh()


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
        call.waits_at is not None
        and call.waits_at[1] is lane
        and call.waits_at[0].port == edge.port
        for call in lane.guardian.waiters
    )
