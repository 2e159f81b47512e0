"""Calls: what an operator returned is carried out of the node, one output after the other.

The next output is asked for only when the last has left, and where order is kept a call
waits at its first output until it is the head of its lane. A call that has nothing more to
ask of its operator gives its worker back and is held in the reorder buffer's places.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from aiflow.engine.cells import NOTHING, Call, Event, Lane, Later, Route, Settled
from aiflow.engine.closing import close_now
from aiflow.engine.delivery import deliver
from aiflow.engine.retrying import call_failed, outcome_of
from aiflow.engine.settling import close_worker, go_on, rest, settle, work
from aiflow.engine.timeouts import fail_late, watch, watch_deadline
from aiflow.engine.transactions import end_transaction, keep_output
from aiflow.engine.waiting import park
from aiflow.engine.waking import wake
from aiflow.engine.watermarks import input_watermark
from aiflow.errors import EngineError
from aiflow.events import Context
from aiflow.operators.base import Emit, NextTurn


def open_call(lane: Lane, event: Event | None, at: float) -> Call:
    """Keep a call for an event that has just run inline and cannot leave at once."""
    guardian = lane.guardian
    guardian.meter(at)
    guardian.is_metered = True
    guardian.dispatched += 1
    lane.dispatched += 1
    guardian.free = 0
    guardian.kernel.enter()
    lane.turn.in_flight += 1
    call = lane.spare
    if call is None:
        return keep_call(lane, event)
    lane.spare = None
    call.event = event
    call.scope = lane.scope
    call.is_settled = False
    lane.calls[call] = None
    return call


def keep_call(lane: Lane, event: Event | None) -> Call:
    """Keep a call for an event that was taken from the queue, in the order of its lane."""
    call = Call(lane, event)
    lane.calls[call] = None
    return call


def complete(call: Call, result: Any, at: float) -> None:  # noqa: ANN401 - whatever it returned
    """Take what an operator returned (or, for an iterator, will return) and carry it out."""
    lane = call.lane
    if isinstance(result, Later):
        result.take_over(call, at)
        if call.trial is not None:
            watch(call, at)
        return
    if call.trial is not None and fail_late(call, at):
        _close(lane, result)
        return
    extra, lane.extra = call.listed or lane.extra, None
    call.listed = None
    if call.scope is not lane.scope and not lane.guardian.commits:
        lane.scope.state = call.scope.state
    if call.is_settled:
        _close(lane, result)
        return
    try:
        outputs = gather(lane, result, extra)
        call.more = _more_of(outputs)
        if call.more is None and outputs is not None:
            set_output(call, outputs, at)
    except EngineError as error:
        call_failed(call, error, at)
        return
    if call.more is None:
        rest(call, at)
    else:
        # Of an iterator only one output is ever there; a list is there as a whole.
        _reserve(call, len(outputs) - 1 if type(outputs) is list else 0, at)
        watch_deadline(call, at)
    advance(call, None)


def gather(lane: Lane, result: Any, extra: list[Any] | None) -> Any:  # noqa: ANN401 - what an operator returns
    """Return one output, None, a list of several, or an iterator over outputs.

    Raises:
        EngineError: a list is longer than the operator declares.
    """
    if extra:
        listed = [] if result is None else result if isinstance(result, list) else [result]
        if not is_iterator(result):
            result = [*listed, *extra]
    if not isinstance(result, list):
        if hasattr(type(result), "__await__"):
            _drop(result)
            raise EngineError(
                f"the operator of node {lane.guardian.id} returned an awaitable from a plain"
                " function; declare it with async def"
            )
        return result
    most = lane.guardian.max_outputs
    # What `finish` tells was kept before, in places that are counted apart.
    if len(result) > most and not lane.has_finished:
        raise EngineError(
            f"node {lane.guardian.id} returned a list of {len(result)} outputs and declares"
            f" max_outputs = {most}; raise it, or write a generator"
        )
    return list(result) if result else None


def _more_of(outputs: Any) -> Iterator[Any] | None:  # noqa: ANN401 - what `gather` returns
    if type(outputs) is list:
        return iter(outputs)
    return outputs if is_iterator(outputs) else None


def set_output(call: Call, output: Any, at: float) -> bool:  # noqa: ANN401 - what an operator returns
    """Put an output into the call's hand; return False where it does not leave, or not yet."""
    lane = call.lane
    route, payload = way_of(lane, output)
    if type(output) is not lane.plain and not lane.is_dead:
        # Of a transactional node no class is ever known as plain, so that each comes here.
        if lane.guardian.commits:
            if call.event is not None and payload is not None and route.leads_on:
                keep_output(call, route, payload)
                call.ready_at = at
                return False
        elif is_plain(output):
            lane.plain = type(output)
    call.ready_at = at
    if payload is None or not route.leads_on:
        _shrink(call)
        return False
    call.route = route
    call.output = payload
    return True


def is_plain(output: object) -> bool:
    """Say whether what an operator returned says no more than: this is the payload."""
    return output is not None and not (
        isinstance(output, list | Emit) or is_iterator(output) or is_unfinished(output)
    )


def is_iterator(output: object) -> bool:
    """Say whether outputs are to be asked for one by one.

    As Python does, this looks at the class: a payload may answer whatever it is asked, or raise.
    """
    return hasattr(type(output), "__next__")


def is_unfinished(payload: object) -> bool:
    """Say whether this has yet to be awaited or iterated, or marks a turn: is no payload itself."""
    return hasattr(type(payload), "__await__") or isinstance(
        payload, GeneratorType | AsyncGeneratorType | NextTurn
    )


def check_payload(lane: Lane, payload: object) -> bool:
    """Say whether this can be a payload; its class is then known to the lane."""
    if is_unfinished(payload):
        return False
    lane.checked = type(payload)
    return True


def _no_payload(lane: Lane, payload: object) -> EngineError:
    if isinstance(payload, NextTurn):
        return EngineError(
            f"node {lane.guardian.id} has NextTurn as an output, which only the stream of a source"
            " may yield, by itself"
        )
    kind = type(payload).__name__.replace("_", " ")
    how = "await it" if hasattr(type(payload), "__await__") else "yield what it yields"
    _drop(payload)
    return EngineError(
        f"node {lane.guardian.id} has an output of type {kind}, which nobody would run; {how} first"
    )


def _drop(payload: object) -> None:
    """Close a coroutine that nobody will await, of which Python would complain."""
    if isinstance(payload, CoroutineType):
        payload.close()


def way_of(lane: Lane, output: Any) -> tuple[Route, Any]:  # noqa: ANN401 - what an operator returns
    """Return the route of an output and its payload.

    Raises:
        EngineError: the operator has no such out-port, or it is no payload.
    """
    payload = output.payload if type(output) is Emit else output
    if type(payload) is not lane.checked and not check_payload(lane, payload):
        raise _no_payload(lane, payload)
    if type(output) is Emit:
        port: object = output.port
        route = lane.routes.get(port) if isinstance(port, str) else None
        if route is None:
            raise EngineError(
                f"node {lane.guardian.id} sent to {output.port!r}, which is none of its"
                f" out-ports ({', '.join(sorted(lane.guardian.outputs)) or 'it has none'})"
            )
        return route, payload
    if lane.route is None:
        raise EngineError(f"node {lane.guardian.id} returned an output and has no out-port")
    return lane.route, output


def make_event(lane: Lane, event: Event, payload: Any) -> Event:  # noqa: ANN401 - payloads are any type
    """Return the event that carries an output: its ancestor's place, a part of its own."""
    if lane.parts is None and event.sequence != lane.sequence:
        # In short, for the first output of an event, which most are.
        lane.sequence = event.sequence
        part = lane.part = 0
    else:
        part = next_part(lane, event)
    if payload is event.payload and part == event.part:
        return event
    return Context(
        payload,
        event.conversation,
        event.turn,
        event.source,
        event.sequence,
        part,
        event.hops,
        event.created_at,
        event.epoch,
        event.trace,
    )


def next_part(lane: Lane, event: Event) -> int:
    """Return the number of a node's next output among those of the same sequence."""
    sequence = event.sequence
    parts = lane.parts
    if parts is not None:
        key = (event.source, sequence)
        part = parts[key] = parts.get(key, -1) + 1
        if len(parts) > lane.parts_kept:
            _prune(lane, parts, key)
        return part
    if sequence == lane.sequence:
        lane.part += 1
    else:
        lane.sequence = sequence
        lane.part = 0
    return lane.part


def _prune(lane: Lane, parts: dict[tuple[str, int], int], last: tuple[str, int]) -> None:
    """Forget sequences that cannot come again; the one at hand may have more outputs."""
    marks = {source: input_watermark(lane, source) for source, _ in parts}
    at_work = {(event.source, event.sequence) for event in _inputs(lane)} | {last}
    for key in tuple(parts):
        if key[1] <= marks[key[0]] and key not in at_work:
            del parts[key]
    lane.parts_kept = max(lane.parts_kept, 2 * len(parts))


def _inputs(lane: Lane) -> Iterator[Event]:
    """Yield the events that wait or are at work in a lane."""
    for queue in lane.queues:
        for entry in queue:
            yield entry[0]
    for call in lane.calls:
        if call.event is not None:
            yield call.event


def advance(call: Call, _: object) -> None:
    """Carry outputs out until one has to wait, none is left, or others must have their turn."""
    lane = call.lane
    runlist = lane.guardian.kernel.runlist
    stack, now = runlist.stack, runlist.now
    asked = 0
    while not call.is_settled:
        at = now()
        if lane.is_dead:
            _discard(call, at)
        elif call.output is not NOTHING:
            height = len(stack)
            if call.waits_at is not None or not _may_leave(call, at) or not _send(call, at):
                return
            if call.more is not None and len(stack) > height:
                # First downstream, then the next output: what is in flight stays little.
                stack.insert(height, (advance, call, None))
                return
        elif call.more is None:
            trial = call.trial
            if call.worker is not None or (trial is not None and trial.is_waiting):
                return  # its worker, or its next try, settles the call when there is nothing more
            if trial is not None and trial.outputs is not None:
                end_transaction(call)
            else:
                settle(call, outcome_of(call), at)
        elif at >= runlist.deadline or asked > runlist.limit:
            runlist.push(advance, call, None)
            runlist.give_way()
            return
        else:
            asked += 1
            _ask(call, at)


def output_left(call: Call, at: float) -> None:
    """Count an output that has left, after the time it had to wait."""
    guardian = call.lane.guardian
    guardian.emitted += 1
    guardian.blocked.record(at - call.ready_at)
    call.has_left = True
    call.pending = None
    call.output = NOTHING
    _shrink(call)
    if call.wake is not None:
        wake(guardian.kernel, call.wake)


def _send(call: Call, at: float) -> bool:
    route = call.route
    assert route is not None
    # Numbered only now, so that parts are in the order in which outputs leave.
    ancestor = call.scope.event if call.event is None else call.event
    if route.bundle is None:
        event = call.pending = make_event(call.lane, ancestor, call.output)
        hop = deliver(route, event, at)
    else:
        payloads = route.bundle.payloads
        events = [make_event(call.lane, ancestor, payload) for payload in payloads]
        try:
            call.pending = route.bundle.name(events)
        except EngineError as error:
            call_failed(call, error, at)
            return False
        hop = route.bundle.deliver(at)
    if hop is not None:
        park(call, hop, at)
        _hold(call, at)
        return False
    output_left(call, at)
    return True


def _may_leave(call: Call, at: float) -> bool:
    if not call.lane.guardian.keeps_order or call.lane.head() is call:
        return True
    _hold(call, at)
    guardian = call.lane.guardian
    if guardian.finishing:
        guardian.runner.wake(guardian)  # the head may be tried again at this one's place
    return False


def _hold(call: Call, at: float) -> None:
    """Free the worker of a call that only waits to leave: its place is in the window."""
    if call.more is None and call.is_open and call.worker is None:
        close_worker(call, at)
        keys = call.lane.guardian.keys
        if keys is not None and call.lane.guardian.keeps_order and not call.lane.guardian.commits:
            keys.release(call, is_done=True)  # its outputs leave in order whoever goes on
        go_on(call.lane.guardian)


def _ask(call: Call, at: float) -> None:
    """Ask an iterator for its next output."""
    more = call.more
    assert more is not None
    if not call.is_running:
        work(call, at)
    now = call.lane.guardian.kernel.now
    try:
        output = next(more, NOTHING)
        at = now()
        rest(call, at)
        if call.is_settled:
            _close(call.lane, more)
        elif call.trial is not None and fail_late(call, at):
            return
        elif output is NOTHING:
            call.more = _with_emitted(call, None)
        else:
            set_output(call, output, at)
            call.more = _with_emitted(call, more)
    except BaseException as error:
        at = now()
        rest(call, at)
        call.more = None
        if call.is_settled:
            return
        call_failed(call, error, at)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise


def _with_emitted(call: Call, more: Iterator[Any] | None) -> Iterator[Any] | None:
    """Return an iterator with what its operator emitted beside its last output before it."""
    emitted = call.listed or call.lane.extra
    if not emitted:
        return more
    call.listed = call.lane.extra = None
    return chain(emitted, more or ())


def _reserve(call: Call, extra: int, at: float) -> None:
    """Hold the worker while there are outputs to ask for, and count the places of a list's rest."""
    guardian = call.lane.guardian
    rest(call, at)
    if not call.is_open:
        call.is_open = True
        guardian.opened += 1
    if call.event is not None:
        call.extra = extra
        guardian.kernel.enter(call.extra)
        call.lane.turn.in_flight += call.extra


def _shrink(call: Call) -> None:
    """Give back one of the places that a list takes: an output has left it."""
    if call.extra:
        call.extra -= 1
        call.lane.guardian.kernel.in_flight -= 1
        call.lane.turn.in_flight -= 1


def _close(lane: Lane, outputs: object) -> None:
    """Close an iterator that nobody will ask any more."""
    if is_iterator(outputs):
        close_now(lane, outputs)


def _discard(call: Call, at: float) -> None:
    more, call.more = call.more, None
    _close(call.lane, more)
    settle(call, Settled.CANCELLED, at)
