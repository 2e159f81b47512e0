"""Lists of outputs on their way inline: each is carried to its end before the next begins.

A frame stands for an operator that has returned a list, while its outputs leave one by one;
frames lie on one another as operators fan out after operators, in a list that `inline` owns,
so that Python's stack does not grow. The event whose turn it is, is held by `pass_on`. When
one cannot go on inline, all frames become calls and the run list takes over.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.calls import advance, check_payload, keep_call, make_event
from aiflow.engine.cells import INLINE, Event, Lane, Route, Settled
from aiflow.engine.ending import try_close
from aiflow.engine.settling import count, go_on, leave
from aiflow.operators.base import Emit


class Frame:
    """One event at an operator, and its outputs that have not left, the next one last.

    Each of them has a place of its own, as a call's list has.
    """

    __slots__ = ("event", "lane", "outputs")

    def __init__(self, lane: Lane, event: Event, outputs: list[Any]) -> None:
        self.lane = lane
        self.event = event
        self.outputs = outputs


def open_frame(lane: Lane, event: Event, outputs: list[Any]) -> Frame:
    """Keep a list of one output or more that an operator has just returned inline."""
    guardian = lane.guardian
    guardian.dispatched += 1
    guardian.opened += 1
    guardian.free = 0
    lane.dispatched += 1
    guardian.kernel.enter(len(outputs))
    lane.turn.in_flight += len(outputs)
    return Frame(lane, event, outputs[::-1])


def next_of(frames: list[Frame], at: float) -> tuple[Lane, Event] | None:
    """Return the next output, and the lane it runs inline in; None where none does.

    None means that all outputs have left, or that calls have been kept for those that have
    not, and the run list will see to them. Then `frames` is empty.
    """
    while frames:
        frame = frames[-1]
        lane, outputs = frame.lane, frame.outputs
        if lane.is_dead:
            leave(lane, len(outputs))
            outputs.clear()
            _close(frames, Settled.CANCELLED, at)
            continue
        output = outputs[-1]
        route = _route(lane, output)
        if route is None or (route.leads_on and not _may_run(route, lane, at)):
            keep(frames)
            return None
        outputs.pop()
        leave(lane)
        payload = output.payload if type(output) is Emit else output
        event = make_event(lane, frame.event, payload) if route.leads_on else None
        if not outputs:
            _close(frames, Settled.PROCESSED, at)
        if event is not None:
            route.edge.fanned += 1  # type: ignore[union-attr] # set together with route.lane
            return route.lane, event  # type: ignore[return-value]
    return None


def _route(lane: Lane, output: Any) -> Route | None:  # noqa: ANN401
    """Return the way of an output; None where it needs a closer look."""
    if type(output) is lane.plain:
        return lane.route
    if (
        type(output) is Emit
        and output.payload is not None
        and (type(output.payload) is lane.checked or check_payload(lane, output.payload))
    ):
        return lane.routes.get(output.port)
    return None


def _may_run(route: Route, lane: Lane, at: float) -> bool:
    target = route.lane
    if target is None or at >= lane.guardian.kernel.runlist.deadline:
        return False
    return target.guardian.free == INLINE


def _close(frames: list[Frame], outcome: Settled, at: float) -> None:
    """Settle the uppermost frame's event."""
    frame = frames.pop()
    lane = frame.lane
    guardian = lane.guardian
    guardian.dispatched -= 1
    guardian.opened -= 1
    lane.dispatched -= 1
    count(lane, frame.event, outcome, at)
    go_on(guardian)
    if lane.open_edges <= 0 or lane.is_dead:
        try_close(lane)


def keep(frames: list[Frame]) -> None:
    """Make calls of all frames; the uppermost goes on first."""
    for frame in frames:
        call = keep_call(frame.lane, frame.event)
        call.is_open = call.is_measured = True
        call.more = iter(frame.outputs[::-1])
        call.extra = len(frame.outputs) - 1
        frame.lane.guardian.remeter()
        frame.lane.guardian.kernel.runlist.push(advance, call, None)
    frames.clear()
