"""Loops: what comes back over a feedback edge, and how a loop comes to its end.

All feedback edges of a loop lead to one node, its entry, and so does all that comes from
outside. Three rules keep it alive within its bound:

- An event that comes back has a place of its own at the entry and is served before what comes
  from outside. It never waits, so the loop never waits for itself.
- The entry begins something new only while fewer than `credit` items are in the loop. An item is
  one (source, sequence) of a turn; it is in the loop while anything of it waits or is at work
  there. That is looked up in the lanes themselves, so no place can be lost by a miscount.
- No end crosses a feedback edge. When the edges from outside have ended and nothing of the turn
  is in the loop, what operators there have kept back is asked for, entry first; if that goes
  round again, the loop goes on. Only when nothing more comes does END pass through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aiflow.compiler.order import circles
from aiflow.compiler.plan import Plan
from aiflow.engine.cells import EdgeState, Event, Guardian, Lane, Terminal, Turn
from aiflow.engine.ending import try_close
from aiflow.engine.gates import Rows
from aiflow.engine.settling import go_on

Item = tuple[str, int]

#: Kept off the count of a lane's open edges while its loop goes on, so that whatever settles
#: there asks whether the lane can close, and so tells the loop.
_OPEN = 1 << 40


class Loop:
    """One loop of a session: its nodes, and how many items are in it.

    Attributes:
        nodes: ids in the plan's order. `entry`: the guardian at which events come back.
        credit: most items in the loop; None where no feedback edge asks for a limit.
        held: items in the loop now, of all turns. `holders`: turns that have one there.
        patient: rounds that wait for credit to ask operators for what they kept back.
    """

    def __init__(self, nodes: tuple[str, ...], entry: Guardian, credit: int | None) -> None:
        self.nodes = nodes
        self.entry = entry
        self.credit = credit
        self.held = 0
        self.holders = 0
        self.patient: dict[Rounds, None] = {}

    def open(self, turn: Turn) -> None:
        """Let a turn's lanes be told apart from those that end by themselves."""
        if self.entry.id in turn.lanes:
            Rounds(self, turn)

    def has_credit(self, rounds: Rounds) -> bool:
        """Say whether a turn may have one more item in the loop."""
        credit = self.credit
        if credit is None:
            return True
        if self.held >= credit:
            return False
        active = self.entry.kernel.active
        if not rounds.items or credit < active:
            return True
        # Each open turn that has nothing in the loop may still begin something there.
        return self.held + active - self.holders < credit


class Rounds:
    """One turn in a loop.

    Attributes:
        entry: its lane at the loop's entry. `lanes`: all its lanes in the loop, in order.
        items: what of the turn is in the loop.
        is_over: nothing can come back any more.
    """

    def __init__(self, loop: Loop, turn: Turn) -> None:
        self.loop = loop
        self.items: dict[Item, None] = {}
        self.is_over = False
        self.entry = turn.lanes[loop.entry.id]
        self.lanes = tuple(turn.lanes[node] for node in loop.nodes)
        self._told: dict[Lane, Event | None] = {}
        self._telling: Lane | None = None
        self._is_due = False
        for lane in self.lanes:
            lane.circle = self
            lane.open_edges -= _OPEN

    def changed(self) -> None:
        """Have it looked at soon whether something has left the loop, or all has."""
        if not self._is_due:
            self._is_due = True
            self.loop.entry.kernel.runlist.push(self._look, None, None)

    def admits(self, event: Event) -> bool:
        """Say whether an event from outside may enter now; what is in the loop already may."""
        return _item_of(event) in self.items or self.loop.has_credit(self)

    def admit(self, event: Event) -> None:
        """Note that an event from outside has entered."""
        item = _item_of(event)
        if item not in self.items:
            self.loop.held += 1
            self.loop.holders += not self.items
            self.items[item] = None

    def pending(self) -> Iterator[Event]:
        """Yield the events that wait or are at work in the loop, those not admitted aside."""
        for lane in self.lanes:
            for queue in lane.queues[-1:] if lane is self.entry else lane.queues:
                for entry in queue:
                    yield entry[0]
            for call in lane.calls:
                yield call.scope.event if call.event is None else call.event
            claimed = lane.guardian.claimed
            if claimed is not None and lane.dispatched > len(lane.calls):
                yield claimed

    def _look(self, _first: None, _second: None) -> None:
        self._is_due = False
        is_quiet = not any(lane.depth or lane.dispatched or lane.waiting for lane in self.lanes)
        if is_quiet or all(_is_seen(lane) for lane in self.lanes):
            self._release({_item_of(event) for event in self.pending()})
        if is_quiet and not self.is_over and self.entry.open_edges + _OPEN <= 0:
            self._end()

    def _release(self, pending: set[Item]) -> None:
        """Give back the credit of items of which nothing is left in the loop."""
        gone = [item for item in self.items if item not in pending]
        if not gone:
            return
        for item in gone:
            del self.items[item]
        loop = self.loop
        loop.held -= len(gone)
        loop.holders -= not self.items
        if loop.patient:
            first = next(iter(loop.patient))
            del loop.patient[first]
            first.changed()
        go_on(loop.entry)

    def _end(self) -> None:
        """Ask for what was kept back, or let END pass where nothing is."""
        if self._telling is not None:
            self._telling.has_finished = False
            self._telling = None
        lane = self._untold()
        if lane is None:
            self.is_over = True
            for each in self.lanes:
                each.open_edges += _OPEN
                each.has_finished = True
            for each in self.lanes:
                try_close(each)
        elif self.loop.has_credit(self):
            self._tell(lane)
        else:
            self.loop.patient[self] = None

    def _untold(self) -> Lane | None:
        """Return the first lane whose operator may have kept something since it was asked."""
        is_sound = self.entry.terminal is Terminal.END
        if not is_sound or any(lane.is_dead or lane.is_closed for lane in self.lanes):
            return None
        for lane in self.lanes:
            if lane.guardian.has_finish and self._told.get(lane) is not lane.scope.event:
                return lane
        return None

    def _tell(self, lane: Lane) -> None:
        event = self._told[lane] = lane.scope.event
        guardian = lane.guardian
        self.admit(event)  # what it tells belongs to the item that came last
        self._telling = lane
        lane.has_finished = True
        lane.dispatched += 1
        guardian.finishing.append(lane)
        guardian.free = 0
        guardian.runner.wake(guardian)


class EntryRows(Rows):
    """The queue of a loop's entry: what has come back goes first, what is new needs credit."""

    picks = True

    def take(self, lane: Lane, at: float) -> tuple[Event, EdgeState] | None:
        """Take what is to be begun next of a lane; None where the loop has no credit for it."""
        rounds = lane.circle
        assert isinstance(rounds, Rounds)
        if lane.queues[-1]:
            return self.remove(lane, len(lane.queues) - 1, 0, at)
        heads = sorted((queue[0] for queue in lane.queues if queue), key=lambda entry: entry[3])
        for event, _since, edge, _stamp in heads:
            if rounds.admits(event):
                rounds.admit(event)
                return self.remove(lane, edge.port, 0, at)
        return None


def build_loops(plan: Plan, guardians: Mapping[str, Guardian]) -> tuple[Loop, ...]:
    """Return the loops of a plan; the queue of each one's entry is shared out for it."""
    back = [edge for edge in plan.edges.values() if edge.feedback is not None]
    if not back:
        return ()
    behind: dict[str, list[str]] = {node: [] for node in plan.nodes}
    for edge in plan.edges.values():
        behind[edge.source].append(edge.target)
    group = circles(behind)
    loops = []
    for target in dict.fromkeys(edge.target for edge in back):
        entry = guardians[target]
        inner = [edge for edge in back if edge.target == target]
        limits = [edge.feedback for edge in inner if edge.feedback and not edge.is_detached]
        credit = min((each.credit for each in limits), default=None)
        entry.gate = EntryRows(entry, sum(each.credit * each.max_returns for each in limits))
        entry.way = entry.free = 0
        nodes = tuple(node for node in plan.nodes if group[node] == group[target])
        loops.append(Loop(nodes, entry, credit))
    return tuple(loops)


def _item_of(event: Event) -> Item:
    return event.source, event.sequence


def _is_seen(lane: Lane) -> bool:
    """Say whether all that has begun in a lane can be seen: what was taken has its call."""
    begun = len(lane.calls) + lane.guardian.finishing.count(lane)
    return lane.dispatched <= begun + (lane.guardian.claimed is not None)
