"""What becomes of an event that ran inline and whose operator did not simply return.

It raised, took too long, or returned into a turn that had ended meanwhile.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.calls import open_call
from aiflow.engine.cells import Event, Lane, Settled
from aiflow.engine.closing import close_now
from aiflow.engine.retrying import call_failed
from aiflow.engine.settling import count
from aiflow.engine.timing import timeout_of


def raised(lane: Lane, event: Event, error: BaseException, spent_s: float, at: float) -> None:
    """Settle an event whose operator raised, or keep a call for its next try."""
    lane.extra = None
    if lane.is_dead:
        count(lane, event, Settled.CANCELLED, at)
        return
    call = open_call(lane, event, at)
    call.spent_s = spent_s
    call_failed(call, error, at)


def came_late(lane: Lane, event: Event, spent_s: float, at: float) -> None:
    """Settle an event whose operator has taken longer than one try may; see `limits`."""
    lane.service.take_back(spent_s)
    raised(lane, event, timeout_of(lane.guardian, spent_s), spent_s, at)


def discard(
    lane: Lane,
    event: Event,
    out: Any,  # noqa: ANN401 - whatever an operator returned
    at: float,
) -> None:
    """Settle an event whose turn ended while its operator was at work."""
    lane.extra = None
    if hasattr(type(out), "__next__"):
        close_now(lane, out)
    count(lane, event, Settled.CANCELLED, at)
