"""Operators that are plain functions: run where the event is, without task or queue.

`pass_on` carries one event from operator to operator until it is at its end, has to wait, or
becomes several. While it does, the event is in no queue and has no call: it is settled by a
plain count. What waits becomes a `Call`; what arrives at a node that is at work goes through
its queue, which `pump` serves. Nothing here calls itself through an operator, so the depth
of Python's stack does not grow with hops, outputs or loops.

Here every line is paid for by every event at every hop; it is written for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from aiflow.engine.calls import (
    advance,
    check_payload,
    complete,
    is_plain,
    keep_call,
    make_event,
    next_part,
    open_call,
    output_left,
)
from aiflow.engine.cells import (
    INLINE,
    NOTHING,
    Call,
    EdgeState,
    Event,
    Guardian,
    Keys,
    Lane,
    Later,
    Nothing,
    Route,
    Settled,
)
from aiflow.engine.closing import close_now
from aiflow.engine.delivery import admit, deliver, take
from aiflow.engine.ending import try_close
from aiflow.engine.frames import Frame, fits, keep, unfold
from aiflow.engine.outcomes import came_late, discard, raised
from aiflow.engine.retrying import begin_try, call_failed, may_try_again, open_trial
from aiflow.engine.settling import count, leave, rest, settle, work
from aiflow.engine.timeouts import work_for
from aiflow.engine.transactions import begin_transaction
from aiflow.engine.waiting import park
from aiflow.errors import EngineError
from aiflow.metrics.instruments import FINE_S
from aiflow.operators.base import Emit

#: What stands for an output where the event has come to an end here.
_OVER = Nothing()


def pass_on(lane: Lane, event: Event, at: float) -> float:  # noqa: C901, PLR0912, PLR0915
    """Carry an event through operators from `lane` on; return the time afterwards.

    Args:
        lane: where it is now; nothing else of the node is at work that must leave before.
        event: held by nobody else, and in no count of what is in flight.
        at: the time now.
    """
    kernel = lane.guardian.kernel
    now = kernel.now
    deadline = kernel.runlist.deadline
    frames: list[Frame] = []
    spent = 0.0
    while True:
        scope = lane.scope
        scope.event = event
        try:
            out = lane.process(event.payload, scope)
        except BaseException as error:
            started, at = at, now()
            raised(lane, event, error, at - started, at)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                keep(frames)
                raise
            out = _OVER
        else:
            started, at = at, now()
            spent = at - started
            service = lane.service
            service.sum_s += spent
            if spent < FINE_S:
                service.fine += 1
            elif service.record_coarse(spent):
                came_late(lane, event, spent, at)
                out = _OVER
        while True:
            route = lane.route
            if type(out) is not lane.plain:
                # Anything but a bare payload, or the first of its class here, or a dead lane.
                listed = None
                if out is None and lane.extra is None and not lane.is_dead:
                    if lane.quick:
                        lane.guardian.processed += 1
                    else:
                        count(lane, event, Settled.PROCESSED, at)
                    route = None
                elif type(out) is list and fits(lane, out):
                    listed, route = out, None
                elif out is _OVER:
                    route = None
                else:
                    route, out = _look_closer(lane, event, out, spent, at)
                if route is None:
                    if listed is None and not frames:
                        return at
                    following, event, out, spent, at = unfold(frames, lane, event, listed, at)
                    if following is None:
                        return at
                    lane = following
                    if out is NOTHING:
                        break
                    continue
            target = route.lane  # type: ignore[union-attr] # a plain class was seen: there is one
            free = 0 if target is None or at >= deadline else target.guardian.free
            if not free:
                _hand_over(lane, event, route, out, at)  # type: ignore[arg-type]
                out = _OVER
                continue
            # In short what `make_event` does.
            sequence = event.sequence
            last = lane.sequence
            if sequence == last:
                part = lane.part = lane.part + 1
            elif last is not None:
                lane.sequence = sequence
                part = lane.part = 0
            else:
                part = next_part(lane, event)
            if out is not event.payload or part != event.part:
                event = replace(event, payload=out, part=part)
            if free == INLINE:
                route.edge.inline += 1  # type: ignore[union-attr] # set together with route.lane
            else:
                at = pass_queue(lane.guardian, route, target.guardian, at)  # type: ignore
            lane = target  # type: ignore[assignment]
            break


def _look_closer(
    lane: Lane,
    event: Event,
    out: Any,  # noqa: ANN401 - whatever it returned
    spent_s: float,
    at: float,
) -> tuple[Route | None, Any]:
    """Deal with what an operator returned that is no bare payload of a known class.

    Returns:
        The one output and its way; or `_OVER` where the event is settled, or kept as a call.
    """
    extra = lane.extra
    if isinstance(out, Later):
        out.suspended(lane, event, spent_s, at)
    elif lane.is_dead:
        discard(lane, event, out, at)
    elif (
        type(out) is Emit
        and extra is None
        and out.payload is not None
        and type(out.port) is str
        and out.port in lane.routes
        and (type(out.payload) is lane.checked or check_payload(lane, out.payload))
    ):
        return lane.routes[out.port], out.payload
    elif extra is not None or not is_plain(out):
        _several(lane, event, out, spent_s, at)
    elif lane.route is None:
        lane.service.take_back(spent_s)
        raised(lane, event, _no_port(lane), spent_s, at)
    else:
        lane.plain = type(out)
        return lane.route, out
    return None, _OVER


def pass_queue(sender: Guardian, route: Route, guardian: Guardian, at: float) -> float:
    """Take an event through the empty queue of a node at rest; return the time afterwards.

    What `append`, `pump` and `take` do for it, in one step, for nodes that never run inline.
    """
    edge = route.edge
    assert edge is not None
    edge.appended += 1
    edge.taken += 1
    sender.processed += 1
    sender.emitted += 1
    sender.blocked.fine += 1
    if not guardian.max_depth:
        guardian.max_depth = 1
    began = guardian.kernel.now()
    waited, wait = began - at, guardian.wait
    wait.sum_s += waited
    if waited < FINE_S:
        wait.fine += 1
    else:
        wait.record_coarse(waited)
    return began


def _hand_over(lane: Lane, event: Event, route: Route, payload: Any, at: float) -> None:  # noqa: ANN401 - payloads are any type
    """Bring one output to where it does not run at once; keep a call where it must wait."""
    if route.leads_on:
        output = make_event(lane, event, payload)
        hop = deliver(route, output, at)
        if hop is not None:
            call = open_call(lane, event, at)
            call.pending, call.output, call.route, call.ready_at = output, payload, route, at
            call.is_measured = True
            park(call, hop, at)
            return
        lane.guardian.emitted += 1
        lane.guardian.blocked.fine += 1
    count(lane, event, Settled.PROCESSED, at)


def suspend(lane: Lane, event: Event, later: Later, spent_s: float, at: float) -> None:
    """Keep a call for an event whose operator has begun and goes on later."""
    call = open_call(lane, event, at)
    call.spent_s = spent_s
    if lane.guardian.window > 1:
        # It goes on reading its scope while others are at work.
        call.listed, lane.extra = lane.extra, None
        call.scope.emit_to(call.collect)
        lane.scope = lane.scope.fork(lane.collect)
    later.take_over(call, at)


def _several(lane: Lane, event: Event, out: Any, spent_s: float, at: float) -> None:  # noqa: ANN401 - what an operator returns
    """Begin to carry out several outputs, or one that has to be looked at closer."""
    call = open_call(lane, event, at)
    if hasattr(type(out), "__next__"):
        # The operator's time is what all its outputs take together.
        lane.service.take_back(spent_s)
        call.spent_s = spent_s
        if lane.guardian.window > 1:
            # It goes on reading its scope while others are at work.
            call.scope.emit_to(call.collect)
            lane.scope = lane.scope.fork(lane.collect)
    else:
        call.is_measured = True
    complete(call, out, at)


class InlineRunner:
    """Runs operators that are plain functions or generator functions.

    With a declared service time on the virtual clock a call takes that time first; then it
    never runs inline, and a timer stands for the worker.
    """

    def wake(self, guardian: Guardian) -> None:
        """Have the queue served soon, once however often it is asked."""
        if not guardian.is_pumping:
            guardian.is_pumping = True
            guardian.kernel.runlist.push(self.pump, guardian, None)

    def start(self, lane: Lane, arrival: tuple[Event, EdgeState]) -> None:
        """Run the event for which the guardian was claimed."""
        guardian = lane.guardian
        event, edge = arrival
        guardian.claimed = None
        self._let_go(lane)
        guardian.refresh()
        stack = guardian.kernel.runlist.stack
        height = len(stack)
        self.carry(lane, event, edge, guardian.kernel.now())
        guardian.refresh()
        if (guardian.depth or guardian.waiters or guardian.finishing) and not guardian.is_pumping:
            # What arrived meanwhile comes after what this one made.
            guardian.is_pumping = True
            stack.insert(height, (self.pump, guardian, None))

    def pump(self, guardian: Guardian, _: object) -> None:
        """Begin what may begin of the queue."""
        guardian.is_pumping = False
        if guardian.claimed is not None:
            return  # what was claimed came first, and starts this anew
        runlist = guardian.kernel.runlist
        stack, now = runlist.stack, runlist.now
        if guardian.waiters:
            admit(guardian, now())
        while True:
            at = now()
            if at >= runlist.deadline:
                self.wake(guardian)
                return
            height = len(stack)
            taken = take(guardian, at)
            if taken is None:
                break
            self._begin(*taken, at)
            if len(stack) > height and (guardian.depth or guardian.finishing):
                # First what this one made, then the next.
                guardian.is_pumping = True
                stack.insert(height, (self.pump, guardian, None))
                return
        guardian.refresh()

    def resume(self, call: Call, _: object) -> None:
        """Go on with a call that has become the head of its lane."""
        if not call.is_running:
            advance(call, None)

    def left(self, call: Call, at: float) -> None:
        """Count the output that has left and ask for the next."""
        output_left(call, at)
        advance(call, None)

    def cancel(self, call: Call, at: float) -> None:
        """End a call at once; an iterator that is at work ends when it has returned."""
        call.is_cancelled = True
        more, call.more = call.more, None
        if more is not None and not call.is_running:
            close_now(call.lane, more)
        settle(call, Settled.CANCELLED, at)

    def _begin(
        self, lane: Lane, event: Event | Call | None, edge: EdgeState | None, at: float
    ) -> None:
        guardian = lane.guardian
        if edge is None or event is None or isinstance(event, Call):
            self._begin_due(lane, event, at)
        elif lane.is_dead:
            settle(keep_call(lane, event), Settled.CANCELLED, at)
        elif guardian.keeps_calls:
            call = keep_call(lane, event)
            open_trial(call, edge.plan.target_port, at)
            if guardian.keys is None or _has_key(call, guardian.keys, at):
                _try(call, at)
        elif lane.calls and guardian.keeps_order:
            call = keep_call(lane, event)
            _run(call, edge, lane.guardian.process, event.payload)
        else:
            self._let_go(lane)
            self.carry(lane, event, edge, at)

    def _begin_due(self, lane: Lane, due: Event | Call | None, at: float) -> None:
        """Try an event again, or begin a lane's `finish`."""
        if isinstance(due, Call):
            assert due.trial is not None
            due.trial.is_due = False
            keys = lane.guardian.keys
            if lane.is_dead:
                settle(due, Settled.CANCELLED, at)
            elif (keys is None or _has_key(due, keys, at)) and may_try_again(due, at):
                _try(due, at)
        elif lane.is_dead:
            settle(keep_call(lane, None), Settled.CANCELLED, at)
        else:
            self._finish(lane, at)

    def carry(self, lane: Lane, event: Event, edge: EdgeState, at: float) -> None:
        """Carry an event on from a node of which it is in no count any more."""
        if lane.is_dead:
            count(lane, event, Settled.CANCELLED, at)  # claimed, and cancelled meanwhile
        else:
            lane.scope.port = edge.plan.target_port
            pass_on(lane, event, at)
        if lane.open_edges <= 0 or lane.is_dead:
            try_close(lane)

    def _finish(self, lane: Lane, at: float) -> None:
        call = keep_call(lane, None)
        call.scope.port = ""
        work(call, at)
        _call(call, lane.guardian.finish, call.scope)

    def _let_go(self, lane: Lane) -> None:
        """Take an event out of all counts: `pass_on` holds it, and counts what becomes of it."""
        lane.guardian.dispatched -= 1
        lane.dispatched -= 1
        leave(lane)


def _has_key(call: Call, keys: Keys, at: float) -> bool:
    """Say whether a call has its key now, so that it may begin; else it waits, or has failed."""
    try:
        return keys.claim(call)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the border: an operator makes its state
        call_failed(call, error, at)
        return False


def _try(call: Call, at: float) -> None:
    """Begin a try; with a declared service time that time passes first."""
    begin_try(call, at)
    if call.lane.guardian.commits and not begin_transaction(call, at):
        return
    work(call, at)
    service_s = call.lane.guardian.service_s
    if service_s is None:
        _call_for(call, None)
    else:
        work_for(call, service_s, _call_for, at)


def _call_for(call: Call, _: object) -> None:
    """Call the operator for a try that has begun."""
    if not call.is_settled:
        assert call.event is not None
        _call(call, call.lane.guardian.process, call.event.payload, call.scope)


def _run(call: Call, edge: EdgeState, process: Callable[..., Any], payload: Any) -> None:  # noqa: ANN401 - payloads are any type
    """Call the operator for an event that has a call."""
    lane = call.lane
    if lane.guardian.window > 1:
        call.scope = lane.scope.fork(call.collect)
    scope = call.scope
    assert call.event is not None
    scope.event = call.event
    scope.port = edge.plan.target_port
    if not call.is_running:
        work(call, lane.guardian.kernel.now())
    _call(call, process, payload, scope)


def _call(call: Call, function: Callable[..., Any], *args: object) -> None:
    now = call.lane.guardian.kernel.now
    try:
        result = function(*args)
    except BaseException as error:
        at = now()
        rest(call, at)
        call.lane.extra = None
        call_failed(call, error, at)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return
    complete(call, result, now())


def _no_port(lane: Lane) -> EngineError:
    return EngineError(f"node {lane.guardian.id} returned an output and has no out-port")
