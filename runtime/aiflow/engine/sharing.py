"""Sharing a node's workers and its places behind the queue among the open conversations.

Where k + ρ >= C, a place is kept for each open conversation that has none, so that one which
cannot leave never stops another; where k >= C, a worker too, because an operator with several
outputs keeps its worker until the last of them has left. Elsewhere there is not one for each,
and conversations take turns. A turn that still ends at a node comes before the one that follows
it, so that what it does for both is done one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from aiflow.engine.cells import Guardian, Lane


def refresh(guardian: Guardian) -> None:
    """Find anew whether lanes have to be asked one by one before something of them is begun."""
    kernel = guardian.kernel
    is_shared = kernel.fading or (kernel.shares and guardian.window >= kernel.most)
    picks = guardian.keys is not None and guardian.keys.passes_by
    guardian.is_choosy = guardian.gate is not None or picks or bool(is_shared)


def may_begin(guardian: Guardian, lane: Lane) -> bool:
    """Say whether something of a lane may be begun; there is a place and a worker."""
    kernel = guardian.kernel
    if kernel.fading:
        if guardian.keeps_order and _has_elder(lane):
            return False
    elif not lane.dispatched:
        return True
    if not kernel.shares:
        return True
    most, places, workers = kernel.most, guardian.window, guardian.workers
    return (places < most or _is_left(places - guardian.dispatched, lane, _has_begun)) and (
        workers < most or _is_left(workers - guardian.opened, lane, _has_opened)
    )


def _is_left(free: int, lane: Lane, holds: Callable[[Lane], bool]) -> bool:
    """Say whether one of the free places is not kept for another conversation."""
    kernel, node = lane.guardian.kernel, lane.guardian.id
    if free >= kernel.active:
        return True
    holders = {
        turn.conversation
        for turn in kernel.open_turns()
        if (own := turn.lanes.get(node)) is not None and holds(own)
    }
    if lane.turn.conversation not in holders:
        return True
    return free > kernel.active - len(holders)


def _has_begun(lane: Lane) -> bool:
    return lane.dispatched > 0


def _has_opened(lane: Lane) -> bool:
    return any(call.is_open for call in lane.calls)


def _has_elder(lane: Lane) -> bool:
    """Say whether the turn before is still worked on at the same node."""
    elder = lane.turn.elder
    own = None if elder is None else elder.lanes.get(lane.guardian.id)
    return own is not None and not own.is_dead and bool(own.depth or own.dispatched)
