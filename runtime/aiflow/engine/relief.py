"""Relief: what stands in the way of what a join waits for steps aside, into the join's store.

A join's row lets the next of its source in however full it is, but that may not get there. Where
branches of one source meet before the join, or workers overtake one another, a younger event can
come first to a node that keeps order: it waits for a place at the join, and behind it waits what
the join needs. Or a broadcast waits for a row of the join, and what another row needs stands
behind it. Only the join can end that, so it keeps the younger one beside its queue, in the store
that it declares; when that is full the turn fails, and the error says what to raise.

Or an operator keeps back what the join waits for until the end of the turn, and that cannot come
while the join is full.

Nothing is moved on a guess. Looked for is a ring: events each of which can go on only after the
next, and none of which is at work. It is asked for when nothing else is left to do at this moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from aiflow.engine.cells import NOTHING, Call, EdgeState, Guardian, Lane, Turn
from aiflow.engine.delivery import let_in
from aiflow.engine.joins import JoinRows
from aiflow.engine.watermarks import Keeper, pending_upstream, row_marks, upstream

#: What can be held: an output in hand, a node with all that it has begun, a turn at a join, what
#: an operator keeps back.
Held = Call | Guardian | Lane | Keeper


class Relief:
    """Finds rings that a join can end, and ends them.

    Args:
        guardians: of the whole plan.
    """

    def __init__(self, guardians: Mapping[str, Guardian]) -> None:
        self._guardians = tuple(guardians.values())
        self._joins = tuple(
            each
            for each in self._guardians
            if isinstance(each.gate, JoinRows) and each.gate.has_store
        )

    def relieve(self, turns: Iterable[Turn], at: float) -> bool:
        """Let those in that stand in the way; return whether there were any."""
        if not self._joins:
            return False
        turns = tuple(turns)
        found = False
        # One that goes to several may have to wait at the next of them, and be let in there too.
        while self._relieve_one(turns, at):
            found = True
        return found

    def _relieve_one(self, turns: tuple[Turn, ...], at: float) -> bool:
        if any(join.kernel.runlist.stack for join in self._joins[:1]):
            return False  # somebody goes on already
        waiting = [call for join in self._joins for call in join.waiters]
        if not waiting:
            return False
        lanes = [lane for turn in turns for lane in turn.lanes.values()]
        held = self._held(lanes)
        found = {call: None for call in waiting if call in held}
        for call in self._in_rings(found, held):
            if call.waits_at is None:
                continue  # its turn has failed with another's
            lane = call.waits_at[1]
            gate = lane.guardian.gate
            assert isinstance(gate, JoinRows)
            if gate.step_aside(lane, call, at):
                let_in(lane.guardian, call, at)
            return True
        return False

    def _held(self, lanes: list[Lane]) -> set[Held]:
        """Return all that can go on only after others of the same."""
        held: set[Held] = {lane for lane in lanes if _is_waiting_join(lane)}
        held.update(Keeper(lane) for lane in lanes if lane.keep_from is not None)
        held.update(guardian for guardian in self._guardians if _may_be_full(guardian))
        calls: list[Call] = [call for guardian in self._guardians for call in guardian.parked]
        calls += [call for lane in lanes for call in lane.calls if _waits_for_others(call)]
        held.update(calls)
        while True:
            free = {each for each in held if not _is_held(each, held)}
            if not free:
                return held
            held -= free

    def _in_rings(self, calls: Iterable[Call], held: set[Held]) -> Iterator[Call]:
        """Yield those of the waiting calls that are part of a ring, each once."""
        for call in calls:
            way: dict[Held, None] = {}
            each: Held | None = call
            while each is not None and each not in way:
                way[each] = None
                each = next((other for other in _waits_for(each) if other in held), None)
            if each is None:
                continue
            line = list(way)
            for one in line[line.index(each) :]:
                if isinstance(one, Call) and one in calls:
                    yield one


def let_sources_read(turns: Iterable[Turn]) -> bool:
    """Let sources read on that wait until their turn has left the graph, as far as it could go.

    What is left of it waits for its other half, or is kept until more comes, and so for them.

    Returns:
        Whether there were any.
    """
    found = False
    for turn in turns:
        if not turn.waiting_sources:
            continue
        for lane in turn.lanes.values():
            if lane.source is not None and lane.source.is_full:
                lane.source.read_on()
        waiting, turn.waiting_sources = turn.waiting_sources, []
        for go_on_reading in waiting:
            go_on_reading()
        found = True
    return found


def _is_waiting_join(lane: Lane) -> bool:
    gate = lane.guardian.gate
    return isinstance(gate, JoinRows) and not lane.is_dead


def _may_be_full(guardian: Guardian) -> bool:
    """Say whether a node may begin no more, now that nothing is left to do at this moment."""
    if guardian.is_source or guardian.is_paused or guardian.is_pumping:
        return False
    is_due = any(isinstance(each, Call) for each in guardian.finishing)
    return not is_due and guardian.claimed is None


def _waits_for_others(call: Call) -> bool:
    """Say whether a call goes on only after another one of its lane."""
    guardian = call.lane.guardian
    if call.is_running or call.waits_at is not None:
        return False
    if _waits_for_its_key(call):
        return True
    return guardian.keeps_order and call.output is not NOTHING and call.lane.head() is not call


def _waits_for_its_key(call: Call) -> bool:
    """Say whether a call may begin only when another with the same key has ended."""
    trial = call.trial
    return (
        trial is not None
        and trial.is_waiting
        and not trial.is_due
        and call.timer is None
        and call.lane.guardian.keys is not None
    )


def _is_held(each: Held, held: set[Held]) -> bool:
    """Say whether something waits for nothing but what is held, as far as is known."""
    if isinstance(each, Guardian):
        found = _waits_for(each)
        begun = sum(isinstance(one, Call) and one.lane.guardian is each for one in found)
        return bool(found) and begun >= each.dispatched and all(one in held for one in found)
    if isinstance(each, Lane):
        # It waits for all of them, so one that is held is enough; for each source alone.
        return _waits_in_vain(each, held)
    others = _waits_for(each)
    return bool(others) and all(other in held for other in others)


def _may_have_all(join: Lane) -> bool:
    """Say whether a join has only to be able to begin something to look at what it has."""
    gate = join.guardian.gate
    return isinstance(gate, JoinRows) and gate.is_stirred(join)


def _waits_in_vain(lane: Lane, held: set[Held]) -> bool:
    if _may_have_all(lane):
        return lane.guardian in held
    found = _awaited(lane)
    gate = lane.guardian.gate
    assert isinstance(gate, JoinRows)
    # A pair may be made, or be known to be none, although more of its parts would come.
    is_held = any if gate.takes_all else all
    return bool(found) and all(
        bool(pieces) and is_held(one in held for one in pieces) for pieces in found.values()
    )


def _waits_for(each: Held) -> list[Held]:
    """Return what must go on before this may: of a call and a node whatever is first of it."""
    if isinstance(each, Lane):
        if _may_have_all(each):
            return [each.guardian]
        return [piece for pieces in _awaited(each).values() for piece in pieces]
    if isinstance(each, Guardian | Keeper):
        return list(_begun(each) if isinstance(each, Guardian) else _before(each.lane))
    if each.waits_at is None:
        if _waits_for_its_key(each):
            return [call for call in each.lane.calls if not _waits_for_its_key(call)]
        head = each.lane.head()
        return [] if head is None else [head]
    return [_place(lane) for _edge, lane in _places(each)]


def _places(call: Call) -> tuple[tuple[EdgeState, Lane], ...]:
    return () if call.waits_at is None else (call.waits_at, *call.or_at)


def _begun(guardian: Guardian) -> Iterator[Held]:
    """Yield what a node has begun; of the entry of a loop, whatever is in the loop."""
    for turn in guardian.kernel.open_turns():
        lane = turn.lanes.get(guardian.id)
        if lane is None:
            continue
        is_entry = lane.circle is not None and lane.circle.entry is lane
        for each in lane.circle.lanes if lane.circle is not None and is_entry else (lane,):
            yield from each.calls
            if each.depth and each is not lane:
                yield _place(each)


def _before(keeper: Lane) -> Iterator[Held]:
    """Yield all that may still come to a lane; without it there, the end of the turn comes."""
    for lane in (keeper, *upstream(keeper)):
        if lane.is_closed:
            continue
        if lane in lane.guardian.finishing:
            yield lane.guardian  # it is asked for what it keeps when a worker is free
        if lane.source is not None:
            yield lane.source.hand
        yield from lane.calls
        if lane.depth:
            yield _place(lane)
        if lane is not keeper and lane.keep_from is not None:
            yield Keeper(lane)


def _place(lane: Lane) -> Held:
    """Return what must go on for a lane's queue to have a place."""
    return lane if isinstance(lane.guardian.gate, JoinRows) else lane.guardian


def _awaited(join: Lane) -> dict[str, list[Held]]:
    """Return where that stands which a join waits for, by source."""
    found: dict[str, list[Held]] = {}
    events = [entry[0] for queue in (*join.queues, join.store) for entry in queue]
    events += [
        call.pending
        for call in join.guardian.waiters
        if call.pending is not None and any(lane is join for _edge, lane in _places(call))
    ]
    for source in dict.fromkeys(event.source for event in events):
        sequence = min(row_marks(join, source)) + 1
        found[source] = [
            _place(where) if isinstance(where, Lane) else where
            for where in pending_upstream(join, source, sequence)
        ]
    return found
