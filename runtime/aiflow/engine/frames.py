"""Lists of outputs on their way inline: each is carried to its end before the next begins.

Plain outputs into one operator are run as a row, in one loop. Where something comes of one, the
rest of its list is laid down as a frame, with a place for each output as a call's list has;
frames lie on one another as operators fan out after operators, in a list that `inline` owns,
so that Python's stack does not grow. The event whose turn it is, is held by nobody else. When
one cannot go on inline, all frames become calls and the run list takes over.

What a row has done is put into the books when it ends, and a frame's node counts its event as
begun only when that becomes a call: nobody can look before but an operator that is just being
called, and what ends lanes waits for the run list. How many events are held is exact for that
operator too, because `Kernel.row` are the outputs of a row that have yet to run.

`unfold` is long because every output pays for each call; it is written for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from aiflow.engine.calls import advance, check_payload, keep_call, make_event
from aiflow.engine.cells import (
    INLINE,
    NO_ROW,
    NOTHING,
    Event,
    Guardian,
    Lane,
    Nothing,
    Route,
    Settled,
)
from aiflow.engine.outcomes import raised
from aiflow.engine.settling import count, go_on
from aiflow.engine.timing import timeout_of
from aiflow.metrics.instruments import FINE_S
from aiflow.operators.base import Emit

#: A lane, its event, the outputs that have not left, and how many these are, one at least. A bare
#: tuple, because it is made so often; counted, because to ask an iterator is slow.
Frame = tuple[Lane, Event, Iterator[Any], int]

#: What comes next: the lane whose operator has run, for which event, what that returned, how
#: long it took, and the time. It returned NOTHING where it has yet to run. Without a lane all
#: outputs have left, or have been kept as calls that are on the run list.
Step = tuple[Lane | None, Any, Any, float, float]

#: What stands for the outcome of a row that has run to its end, and of one that met an output
#: which no row takes.
_ALL = Nothing()
_ODD = Nothing()


class _Raised:
    """What stands for the outcome of an output where the operator raised."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


def unfold(  # noqa: C901, PLR0912, PLR0915
    frames: list[Frame], lane: Lane, event: Event, listed: list[Any] | None, at: float
) -> Step:
    """Run what outputs lead to, until something comes of one that is no list.

    Args:
        frames: what is left of lists on which those at hand depend; changed.
        lane: whose operator has returned a list for an `event`.
        event: the one at hand.
        listed: the list, which may not be longer than is declared; None where there is none,
            to go on with the uppermost frame.
        at: the time now.
    """
    kernel = lane.guardian.kernel
    kernel.frames = frames
    now, deadline = kernel.now, kernel.runlist.deadline
    outputs: Iterator[Any]
    out: Any
    target: Any  # a lane, wherever more than None is asked of it
    receiver, service, own, began = lane.guardian, lane.service, event, at
    while True:
        if listed is not None:
            outputs = iter(listed.copy())
            size = len(listed)
            held = kernel.in_flight + size
            if held > kernel.max_in_flight:  # noqa: PLR1730 - no call for every list
                kernel.max_in_flight = held
        elif frames:
            lane, event, outputs, size = frames.pop()
            kernel.in_flight -= size
        else:
            return None, None, NOTHING, 0.0, at
        kernel.row = outputs

        route = lane.route
        target = None if route is None else route.lane
        if target is None or not target.quick or lane.sequence is None:
            output, out, left = next(outputs), _ODD, size
        else:
            # What `make_event` and `pass_on` do, for one output after the other.
            receiver, scope, process = target.guardian, target.scope, target.process
            edge = route.edge  # type: ignore[union-attr] # it has one now, and may lose it
            sequence = event.sequence
            if sequence != lane.sequence:
                lane.sequence, lane.part = sequence, -1
            first = part = lane.part
            began = row_began = at
            out = None
            for output in outputs:
                if (
                    type(output) is not lane.plain
                    or receiver.free != INLINE
                    or route.lane is not target  # type: ignore[union-attr] # it has a lane
                    or at >= deadline
                ):
                    out = _ODD
                    break
                part += 1
                scope.event = own = replace(event, payload=output, part=part)
                began = at
                try:
                    out = process(output, scope)
                except BaseException as error:  # noqa: BLE001 - the border: told below
                    out = _Raised(error)
                at = now()
                if at - began >= FINE_S:
                    out = _took_long(receiver, out, at - began)
                if out is not None or target.extra is not None or target.is_dead:  # type: ignore[union-attr]
                    receiver.processed -= 1  # it is settled later: see `EdgeState.fanned`
                    break
            else:
                out = _ALL
            lane.part = part
            taken = part - first
            left = size - taken
            edge.fanned += taken  # type: ignore[union-attr] # set together with route.lane
            service = target.service
            service.sum_s += at - row_began
            service.fine += taken

        if out is _ODD:
            kernel.row = NO_ROW
            following = _let_out(frames, (lane, event, outputs, left - 1), output, at)
            if following is not None:
                return *following, NOTHING, 0.0, at
            listed = None
            continue
        if left:
            # The most in flight was counted when the list was begun.
            kernel.in_flight += left
            lane.guardian.free = 0
            frames.append((lane, event, outputs, left))
        else:
            guardian = lane.guardian
            if lane.quick:
                guardian.processed += 1
            else:
                count(lane, event, Settled.PROCESSED, at)
            if listed is None:
                _set_free(guardian)
        listed = None
        if out is _ALL:
            continue
        if (
            type(out) is list
            and 0 < len(out) <= receiver.max_outputs
            and target.extra is None
            and not target.is_dead
        ):
            lane, event, listed = target, own, out
            continue
        kernel.row = NO_ROW
        if type(out) is not _Raised:
            return target, own, out, at - began, at
        service.take_back(at - began)
        _raised(frames, target, own, out.error, at - began, at)
        out = None  # the error knows this frame of Python's, which must not know it


def fits(lane: Lane, outputs: list[Any]) -> bool:
    """Say whether `unfold` may take a list that an operator has returned inline."""
    is_plain = lane.extra is None and not lane.is_dead
    return is_plain and 0 < len(outputs) <= lane.guardian.max_outputs


def _set_free(guardian: Guardian) -> None:
    """Let a node go on of which a frame has left."""
    if guardian.dispatched or guardian.depth or guardian.waiters or guardian.finishing:
        go_on(guardian)
    else:
        guardian.free = guardian.way


def _took_long(guardian: Guardian, out: Any, spent_s: float) -> Any:  # noqa: ANN401 - whatever it returned
    """Count a call of an operator that took `FINE_S` or more; return what came of it."""
    service = guardian.service
    service.fine -= 1  # the row counts all it has run as short
    if service.record_coarse(spent_s) and type(out) is not _Raised:
        return _Raised(timeout_of(guardian, spent_s))
    return out


def _raised(
    frames: list[Frame], lane: Lane, event: Event, error: BaseException, spent_s: float, at: float
) -> None:
    """Settle an output's event whose operator raised; what must end the run ends it."""
    raised(lane, event, error, spent_s, at)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        keep(frames)
        raise error


def _let_out(frames: list[Frame], rest: Frame, output: Any, at: float) -> tuple[Lane, Event] | None:  # noqa: ANN401 - outputs are any type
    """Let an output leave, whatever it is.

    Args:
        frames: what the list depends on; changed.
        rest: what comes after the output; none may be left.
        output: in no count.
        at: the time now.

    Returns:
        The lane in which its event is to run inline; None where it does not.
    """
    lane, event, outputs, left = rest
    if lane.is_dead:
        _end(lane, event, Settled.CANCELLED, at)
        return None
    route = _route(lane, output)
    if route is None or (route.leads_on and not _may_run(route, lane, at)):
        _lay_down(frames, (lane, event, iter([output, *outputs]), left + 1))
        keep(frames)
        return None
    payload = output.payload if type(output) is Emit else output
    following = make_event(lane, event, payload) if route.leads_on else None
    if left:
        _lay_down(frames, rest)
    else:
        _end(lane, event, Settled.PROCESSED, at)
    if following is None:
        return None
    target, edge = route.lane, route.edge
    assert target is not None  # it may run inline
    assert edge is not None
    edge.fanned += 1
    target.guardian.processed -= 1
    return target, following


def _lay_down(frames: list[Frame], frame: Frame) -> None:
    """Keep what is left of a list; the most in flight was counted when the list was begun."""
    guardian = frame[0].guardian
    guardian.free = 0
    guardian.kernel.in_flight += frame[3]
    frames.append(frame)


def _end(lane: Lane, event: Event, outcome: Settled, at: float) -> None:
    """Settle an event of whose outputs none is left, or wanted."""
    count(lane, event, outcome, at)
    _set_free(lane.guardian)


def _route(lane: Lane, output: Any) -> Route | None:  # noqa: ANN401 - what an operator returns
    """Return the way of an output; None where it needs a closer look."""
    if type(output) is lane.plain:
        return lane.route
    if (
        type(output) is Emit
        and output.payload is not None
        and type(output.port) is str
        and (type(output.payload) is lane.checked or check_payload(lane, output.payload))
    ):
        return lane.routes.get(output.port)
    return None


def _may_run(route: Route, lane: Lane, at: float) -> bool:
    target = route.lane
    if target is None or at >= lane.guardian.kernel.runlist.deadline:
        return False
    return target.guardian.free == INLINE


def keep(frames: list[Frame]) -> None:
    """Make calls of all frames; the uppermost goes on first."""
    for lane, event, outputs, left in frames:
        guardian = lane.guardian
        guardian.dispatched += 1
        guardian.opened += 1
        guardian.free = 0
        lane.dispatched += 1
        lane.turn.in_flight += left
        call = keep_call(lane, event)
        call.is_open = call.is_measured = True
        call.more = outputs
        call.extra = left - 1
        guardian.remeter()
        guardian.kernel.runlist.push(advance, call, None)
    frames.clear()
