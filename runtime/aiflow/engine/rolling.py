"""A busy node's short way: one event out and the next one in, in the same worker's place.

For an operator that awaits and has one simple output, whose queue holds more of the same lane.
Between the two events nothing changes at the node: as many are at work as before, and the
worker keeps its call. So most of what settling the one and taking the other would count cancels
out, and is left out here. Whatever is out of the ordinary goes the long way through `calls`.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.calls import make_event
from aiflow.engine.cells import INLINE, NOTHING, Call, Event, Guardian, Lane
from aiflow.engine.delivery import append
from aiflow.engine.ending import try_close
from aiflow.engine.inline import pass_on
from aiflow.metrics.instruments import FINE_S


def begin_alone(lane: Lane, event: Event, spent_s: float, at: float) -> Call | None:
    """Keep a call for an event whose operator has begun, at a node that has one place.

    Args:
        lane: where it is; the event is in no count.
        event: what its operator was called with.
        spent_s: how long its first step took.
        at: the time now.

    Returns:
        None where something is out of the ordinary; then nothing has been done.
    """
    guardian = lane.guardian
    if guardian.window != 1 or guardian.dispatched or guardian.opened or guardian.is_metered:
        return None
    call = lane.spare
    if call is None:
        call = Call(lane, event)
    else:
        lane.spare = None
        call.event = event
        call.is_settled = False
    call.is_open = call.is_running = True
    call.started_at = guardian.started_s = at - spent_s
    lane.calls[call] = None
    guardian.dispatched = guardian.opened = guardian.working = lane.dispatched = 1
    guardian.free = 0
    kernel = guardian.kernel
    kernel.in_flight = held = kernel.in_flight + 1
    if held > kernel.max_in_flight:  # noqa: PLR1730 - no call for every event
        kernel.max_in_flight = held
    lane.turn.in_flight += 1
    return call


def end_alone(  # noqa: C901, PLR0912, PLR0915 - every event pays for each call
    guardian: Guardian,
    call: Call,
    result: Any,  # noqa: ANN401 - whatever an operator returns
    at: float,
    idle: list[Any],
) -> bool | None:
    """Carry on what an operator returned at a node that has one place; begin what waits there.

    Args:
        guardian: that runs inline, without a gate or retries.
        call: whose operator has returned.
        result: what it returned.
        at: the time now.
        idle: where its worker is put if nothing waits.

    Returns:
        Whether the call has a further event, of which the worker begins the operator; or None
        where something is out of the ordinary, and nothing has been done.
    """
    lane = call.lane
    # A class stops being plain where a lane dies, or its operator emits beside its result.
    if (
        type(result) is not lane.plain
        or not lane.quick
        or guardian.opened != 1
        or guardian.dispatched != 1
        or guardian.finishing
        or guardian.is_metered
        or call.trial is not None
        or call.is_cancelled
        or lane.process is not guardian.process  # somebody looks inside
    ):
        return None
    depth = guardian.depth
    if depth != lane.depth or (guardian.waiters and not depth):
        return None
    route = lane.route
    target = route.lane  # type: ignore[union-attr] # a plain class was seen: there is one
    if target is None:
        return None
    edge = route.edge  # type: ignore[union-attr] # set together with route.lane
    receiver = target.guardian
    event: Event = call.event  # type: ignore[assignment] # a `finish` has no plain class
    free = receiver.free
    if free != INLINE and (
        free
        or target.waiting
        or target.is_shut
        or receiver.gate is not None
        or not receiver.may_queue(target, edge, event)  # type: ignore[arg-type] # as above
    ):
        return None

    output = make_event(lane, event, result)
    spent = call.spent_s + at - call.started_at
    call.spent_s = 0.0
    service = lane.service
    service.sum_s += spent
    if spent < FINE_S:
        service.fine += 1
    else:
        service.record_coarse(spent)
    turn = lane.turn
    if depth:
        call.event, since, came_by, _stamp = lane.queues[0].popleft()
        lane.depth = guardian.depth = depth - 1
        if depth == 1:
            guardian.ready.clear()
        came_by.taken += 1
        waited = at - since
        wait = guardian.wait
        wait.sum_s += waited
        if waited < FINE_S:
            wait.fine += 1
        else:
            wait.record_coarse(waited)
        call.started_at = guardian.started_s = at
        call.scope.event = call.event
    else:
        lane.calls.clear()
        call.is_open = call.is_running = False
        call.is_settled = True
        lane.spare = call
        worker, call.worker = call.worker, None
        worker.call = worker.steps = None
        idle.append(worker)
        guardian.dispatched = guardian.opened = guardian.working = lane.dispatched = 0
        guardian.started_s = 0.0
        guardian.free = INLINE
    if free:
        guardian.kernel.in_flight -= 1
        turn.in_flight -= 1
        if turn.waiting_sources:
            waiting, turn.waiting_sources = turn.waiting_sources, []
            for go_on_reading in waiting:
                go_on_reading()
        edge.inline += 1  # type: ignore[union-attr] # it counts at both ends
        pass_on(target, output, at)
    else:
        guardian.processed += 1
        guardian.emitted += 1
        guardian.blocked.fine += 1
        edge.appended += 1  # type: ignore[union-attr] # as above
        append(target, edge, output, at, is_counted=True)  # type: ignore[arg-type] # as above
    if depth:
        return True
    if lane.open_edges <= 0:
        try_close(lane)
    return False


def roll(guardian: Guardian, call: Call, result: Any, at: float) -> bool:  # noqa: ANN401, C901, PLR0911, PLR0912, PLR0915 - every event pays for each call
    """Carry on what an operator returned where others are at work too; begin what waits there.

    Args:
        guardian: that runs inline, without a gate or retries.
        call: whose operator has returned; it is given the next event of its lane.
        result: what it returned.
        at: the time now.

    Returns:
        False where something is out of the ordinary; then nothing has been done.
    """
    lane = call.lane
    ready = guardian.ready
    # A class stops being plain where a lane dies, or its operator emits beside its result.
    if type(result) is not lane.plain or len(ready) != 1 or ready[0] is not lane:
        return False
    if not lane.quick or guardian.finishing or guardian.opened > guardian.workers:
        return False
    if lane.process is not guardian.process:
        return False  # somebody looks inside
    if (
        call.listed
        or call.scope is lane.scope
        or guardian.dispatched > guardian.window
        or (guardian.keeps_order and next(iter(lane.calls)) is not call)
    ):
        return False
    route = lane.route
    target = route.lane  # type: ignore[union-attr] # a plain class was seen: there is one
    if target is None:
        return False
    edge = route.edge  # type: ignore[union-attr]
    receiver = target.guardian
    event = call.event
    free = receiver.free
    if free != INLINE and (
        free
        or target.waiting
        or target.is_shut
        or receiver.gate is not None
        or not receiver.may_queue(target, edge, event)  # type: ignore[arg-type]
    ):
        return False

    output = make_event(lane, event, result)  # type: ignore[arg-type]
    if guardian.is_metered:
        guardian.meter(at)
    began = call.started_at
    spent = call.spent_s + at - began
    call.spent_s = 0.0
    service = lane.service
    service.sum_s += spent
    if spent < FINE_S:
        service.fine += 1
    else:
        service.record_coarse(spent)
    call.event, since, came_by, _stamp = lane.queues[0].popleft()
    lane.depth = depth = lane.depth - 1
    guardian.depth -= 1
    if not depth:
        ready.clear()
    came_by.taken += 1
    waited = at - since
    wait = guardian.wait
    wait.sum_s += waited
    if waited < FINE_S:
        wait.fine += 1
    else:
        wait.record_coarse(waited)
    call.started_at = at
    guardian.started_s += at - began
    call.scope.event = call.event
    if not free:
        guardian.processed += 1
        guardian.emitted += 1
        guardian.blocked.fine += 1
        edge.appended += 1  # type: ignore[union-attr]
        append(target, edge, output, at, is_counted=True)  # type: ignore[arg-type]
        _next_place(guardian, lane, call)
        return True
    turn = lane.turn
    guardian.kernel.in_flight -= 1
    turn.in_flight -= 1
    edge.inline += 1  # type: ignore[union-attr] # it counts at both ends
    _next_place(guardian, lane, call)
    if turn.waiting_sources:
        waiting, turn.waiting_sources = turn.waiting_sources, []
        for go_on_reading in waiting:
            go_on_reading()
    pass_on(target, output, at)
    return True


def _next_place(guardian: Guardian, lane: Lane, call: Call) -> None:
    """Put a call behind those that were there before its new event, and let the first go on."""
    calls = lane.calls
    lane.scope.state = call.scope.state
    call.scope.use_again(call.scope.event)
    del calls[call]
    calls[call] = None
    if guardian.keeps_order:
        head = next(iter(calls))
        if head.output is not NOTHING:
            guardian.kernel.runlist.push(guardian.runner.resume, head, None)
