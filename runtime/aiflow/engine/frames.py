"""Lists of outputs on their way inline: each is carried to its end before the next begins.

A frame stands for an operator that has returned a list, while its outputs leave one by one;
frames lie on one another as operators fan out after operators, in a list that `inline` owns,
so that Python's stack does not grow. The event whose turn it is, is held by `pass_on`. When
one cannot go on inline, all frames become calls and the run list takes over.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.calls import advance, check_payload, keep_call, make_event, next_part
from aiflow.engine.cells import INLINE, Event, Lane, Route, Settled
from aiflow.engine.ending import try_close
from aiflow.engine.settling import count, go_on, leave
from aiflow.events import Context
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
    kernel = guardian.kernel
    guardian.dispatched += 1
    guardian.opened += 1
    guardian.free = 0
    lane.dispatched += 1
    places = len(outputs)
    kernel.in_flight = held = kernel.in_flight + places
    if held > kernel.max_in_flight:  # noqa: PLR1730 - no call for every event
        kernel.max_in_flight = held
    lane.turn.in_flight += places
    return Frame(lane, event, outputs[::-1])


def next_of(frames: list[Frame], at: float) -> tuple[Lane, Event] | None:
    """Return the next output, and the lane it runs inline in; None where none does.

    None means that all outputs have left, or that calls have been kept for those that have
    not, and the run list will see to them. Then `frames` is empty.
    """
    while frames:
        frame = frames[-1]
        lane, outputs = frame.lane, frame.outputs
        output = outputs[-1]
        if type(output) is lane.plain:
            route = lane.route
            target = route.lane  # type: ignore[union-attr] # a plain class was seen
            if target is not None and target.guardian.free == INLINE:
                kernel = lane.guardian.kernel
                if at < kernel.runlist.deadline:
                    event = _take_plain(frame, output)
                    if not outputs:
                        _close_plain(frames, at)
                    route.edge.fanned += 1  # type: ignore[union-attr] # set with route.lane
                    return target, event
        following = _next_odd(frames, frame, at)
        if following is not None or not frames:
            return following
    return None


def _take_plain(frame: Frame, payload: Any) -> Event:  # noqa: ANN401 - payloads are any type
    """Take a frame's next output, as `leave` and `make_event` do, in line."""
    frame.outputs.pop()
    lane, event = frame.lane, frame.event
    turn = lane.turn
    lane.guardian.kernel.in_flight -= 1
    turn.in_flight -= 1
    if turn.waiting_sources:
        leave(lane, 0)
    sequence = event.sequence
    if sequence == lane.sequence:
        part = lane.part = lane.part + 1
    else:
        part = next_part(lane, event)
    if payload is event.payload and part == event.part:
        return event
    return Context(
        payload,
        event.conversation,
        event.turn,
        event.source,
        sequence,
        part,
        event.hops,
        event.created_at,
        event.epoch,
        event.trace,
    )


def _close_plain(frames: list[Frame], at: float) -> None:
    """Settle the uppermost frame's event, which was processed, as `_close` does, in line."""
    frame = frames.pop()
    lane = frame.lane
    guardian = lane.guardian
    guardian.opened -= 1
    lane.dispatched -= 1
    guardian.dispatched = dispatched = guardian.dispatched - 1
    if lane.quick:
        guardian.processed += 1
    else:
        count(lane, frame.event, Settled.PROCESSED, at)
    if dispatched or guardian.depth or guardian.waiters or guardian.finishing:
        go_on(guardian)
    else:
        guardian.free = guardian.way
    if lane.open_edges <= 0 or lane.is_dead:
        try_close(lane)


def _next_odd(frames: list[Frame], frame: Frame, at: float) -> tuple[Lane, Event] | None:
    """Do for the uppermost frame what `next_of` says, where its next output is no plain one."""
    lane, outputs = frame.lane, frame.outputs
    if lane.is_dead:
        leave(lane, len(outputs))
        outputs.clear()
        _close(frames, Settled.CANCELLED, at)
        return None
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
    if event is None:
        return None
    route.edge.fanned += 1  # type: ignore[union-attr] # set together with route.lane
    return route.lane, event  # type: ignore[return-value]


def _route(lane: Lane, output: Any) -> Route | None:  # noqa: ANN401 - what an operator returns
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
