"""Transactional state: what an event changes and what it sends go together, or not at all.

An operator is handed a copy of its state and works on that. Its outputs are kept, however it
returns them, until it has come to its end; a try that fails, runs out of time or is cancelled
leaves the state as it was, and nothing of it has left. The event is committed at the head of
the order, when there is a place for every output in every strict branch: in one step all
outputs are on their edges and the copy is the state. What the operator says to keep back counts
from then on, too. Until then no other event of the turn begins at the node, because it would
begin with a state that may never be.

A copy costs as much as the state is large; `Operator.copy_state` says how it is made. Handing in
the state itself and taking the changes back would need an operator that can undo them.

What `finish` tells at the end of a turn leaves one by one: no state comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiflow.engine.cells import Call, EdgeState, Event, Lane, Route
from aiflow.engine.delivery import accept, append, has_room, send_back, tell
from aiflow.engine.gates import kept_for
from aiflow.engine.retrying import call_failed
from aiflow.engine.settling import leave
from aiflow.engine.waiting import is_awaited
from aiflow.errors import EngineError, words_of
from aiflow.events import is_droppable
from aiflow.policies import Overflow


def begin_transaction(call: Call, at: float) -> bool:
    """Hand a call a copy of the state; return False where it has failed at that."""
    lane, trial = call.lane, call.trial
    assert trial is not None
    operator = lane.guardian.node.operator
    try:
        call.scope.state = operator.copy_state(lane.scope.state)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the border: whatever a state's copying raises
        reason = EngineError(
            f"node {lane.guardian.id} is transactional and its state cannot be copied"
            f" ({words_of(error)}); give its operator a copy_state that can"
        )
        reason.__cause__ = error
        call_failed(call, reason, at)
        return False
    trial.outputs = []
    trial.keeps = None
    call.scope.keep_to(trial.keep)
    return True


def keep_output(call: Call, route: Route, payload: Any) -> None:  # noqa: ANN401 - payloads are any type
    """Keep an output until the transaction is committed, in a place of its own.

    Raises:
        EngineError: there are more of them than the operator declares.
    """
    lane, trial = call.lane, call.trial
    assert trial is not None
    assert trial.outputs is not None
    most = lane.guardian.max_outputs
    if len(trial.outputs) >= most:
        raise EngineError(
            f"node {lane.guardian.id} is transactional and has more than {most} outputs of one"
            " event; raise what its operator's most_outputs says"
        )
    trial.outputs.append((route, payload))
    missing = len(trial.outputs) - 1 - call.extra
    if missing > 0:
        call.extra += missing
        lane.guardian.kernel.enter(missing)
        lane.turn.in_flight += missing


def end_transaction(call: Call) -> None:
    """Put all outputs of an event into its hand; where there are none, its state goes now."""
    trial = call.trial
    assert trial is not None
    outputs, trial.outputs = trial.outputs, None
    if not outputs:
        _commit_state(call)
        return
    call.route = Route(call.lane.guardian.id, "", ())
    call.route.bundle = Transaction(call, outputs)
    call.output = outputs


def _commit_state(call: Call) -> None:
    lane, trial = call.lane, call.trial
    lane.scope.state = call.scope.state
    if trial is not None and trial.keeps is not None:
        lane.keep(*trial.keeps)


class Transaction:
    """The outputs of one event and the state that goes with them.

    Args:
        call: whose event it is.
        outputs: the way and the payload of each.
    """

    __slots__ = ("_call", "_events", "_rows", "_ways", "payloads")

    def __init__(self, call: Call, outputs: list[tuple[Route, Any]]) -> None:
        self._call = call
        self._ways = [route for route, _ in outputs]
        self.payloads = [payload for _, payload in outputs]
        self._events: list[Event] = []
        #: What goes to each row of a queue over strict edges, with the first of those edges.
        self._rows: dict[tuple[Lane, int], tuple[EdgeState, list[Event]]] = {}

    def name(self, events: list[Event]) -> Event:
        """Take the events that carry the outputs; return the first.

        Raises:
            EngineError: a queue behind the node is too small for all of them, ever.
        """
        self._events = events
        taken: dict[Route, int] = {}
        for place, event in enumerate(events):
            route = self._ways[place] = _one_way(self._ways[place], taken)
            taken[route] = taken.get(route, 0) + 1
            for edge, lane in route.strict:
                self._rows.setdefault((lane, edge.port), (edge, []))[1].append(event)
        for (lane, row), (_edge, together) in self._rows.items():
            _check_size(self._call, lane, row, len(together))
        return events[0]

    def has_places(self, lane: Lane, edge: EdgeState) -> bool:
        """Say whether there are places for all that goes to this lane."""
        return _fits(lane, edge, self._rows[lane, edge.port][1])

    def deliver(self, at: float, edge: EdgeState | None = None) -> tuple[EdgeState, Lane] | None:
        """Commit, if every strict branch has a place for each output; see `Bundle`."""
        for (lane, _row), (first, events) in self._rows.items():
            if not _has_room(lane, first, events, is_next=first is edge):
                return first, lane
        self._commit(at)
        return None

    def _commit(self, at: float) -> None:
        call = self._call
        has_place = {
            place for place, (edge, events) in self._rows.items() if _fits(place[0], edge, events)
        }
        for route, event in zip(self._ways, self._events, strict=True):
            tell(route, event, at)
            for edge, lane in route.backwards:
                if not edge.is_detached and (lane, edge.port) in has_place:
                    _put(lane, edge, event, at)
                else:
                    accept(lane, edge, event, at, is_next=not edge.is_detached)
            for edge, lane in route.returns:
                send_back(lane, edge, event, at)
        _commit_state(call)
        guardian = call.lane.guardian
        for _ in self._events[1:]:  # the first is counted as any output is
            guardian.emitted += 1
            guardian.blocked.record(at - call.ready_at)
        further, call.extra = call.extra, 0
        leave(call.lane, further)


def _one_way(route: Route, taken: dict[Route, int]) -> Route:
    """Return the way of an output that may take any: the one that is least busy now."""
    if not route.choices:
        return route

    def load(way: Route) -> int:
        guardians = [lane.guardian for _, lane in way.hops]
        busy = max((each.depth + each.dispatched for each in guardians), default=0)
        return taken.get(way, 0) + busy

    ways = route.choices[route.turn :] + route.choices[: route.turn]
    way = min(ways, key=load)
    route.turn = (route.choices.index(way) + 1) % len(route.choices)
    return way


def _check_size(call: Call, lane: Lane, row: int, wanted: int) -> None:
    guardian = lane.guardian
    most = guardian.queue_capacity
    if guardian.gate is not None:
        most = None if guardian.gate.places is None else guardian.gate.places[row]
    if most is not None and wanted > max(1, most) and guardian.overflow is Overflow.BLOCK:
        raise EngineError(
            f"node {guardian.id} has a place for {most} events from {call.lane.guardian.id}, which"
            f" is transactional and has {wanted} at once; raise its queue_capacity"
        )


def _has_room(lane: Lane, edge: EdgeState, events: list[Event], *, is_next: bool) -> bool:
    """Say whether a strict edge can be rid of all events now, be it by an overflow."""
    guardian = lane.guardian
    if len(events) == 1 and not is_next:
        return has_room(lane, edge, events[0])
    if lane.is_shut or ((is_next or not is_awaited(lane, edge)) and _fits(lane, edge, events)):
        return True
    if guardian.overflow is Overflow.BLOCK:
        return False
    return guardian.overflow is Overflow.ERROR or all(
        is_droppable(event.payload) for event in events
    )


def _fits(lane: Lane, edge: EdgeState, events: Sequence[Event]) -> bool:
    """Say whether the queue has places for all events together.

    One whose turn has nothing waiting takes what it needs, also of what is kept for others; else
    each other open conversation keeps as many as it takes, where there are enough for all.
    """
    guardian, wanted = lane.guardian, len(events)
    if wanted == 1:
        return guardian.may_queue(lane, edge, events[0])
    if guardian.gate is not None:
        return guardian.gate.has_places(lane, edge, events)
    capacity = guardian.queue_capacity
    if capacity is None:
        return True
    depth = guardian.depth + wanted
    if depth > capacity or not (guardian.is_limited and lane.depth):
        return depth <= capacity
    others = [each.depth for each in guardian.ready if each is not lane]
    return depth + kept_for(others, guardian.kernel.active, wanted, capacity) <= capacity


def _put(lane: Lane, edge: EdgeState, event: Event, at: float) -> None:
    """Put an event into the place that was found for it, or on into an operator at rest."""
    if lane.is_shut or lane.guardian.free:
        accept(lane, edge, event, at, is_next=True)
        return
    if edge.tap is not None:
        edge.tap.see(event, at)
    edge.appended += 1
    append(lane, edge, event, at)
