"""Joins: which events of different in-ports belong together, and when all of them are there.

What waits for its other half stands in its own row of the queue, so a branch that is ahead is
held back by the places of its row and by nothing else. Watermarks say what cannot come any
more; they are read after what is queued, and whoever moves one without sending anything wakes
the join. So a filter in one branch delays nobody for good.

Each turn has a share of every row to itself, and the last place of it takes only what is next
of its source in that row. Younger events that overtook it upstream can never keep it out: where
they stand before it in the order of a node, they step aside into a store (`relief`).

- `all`: the parts of one (source, sequence) from every row, once every row's watermark says that
  no more of it can come. What one branch sends more of than its share holds is stored too.
- `zip`: one event of each row. Where all rows carry the same sources, those of one (source,
  sequence) belong together, and a gap leaves the others alone; else the n-th with the n-th. Those
  by arrival have no store: nobody can say what they wait for, or how much comes before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence

from msgspec.structs import replace

from aiflow.compiler.branches import carried
from aiflow.compiler.plan import Plan
from aiflow.engine.cells import Call, EdgeState, Entry, Event, Guardian, Lane, Settled, Turn
from aiflow.engine.ending import try_close
from aiflow.engine.failing import fail_lane
from aiflow.engine.gates import Rows
from aiflow.engine.settling import count, leave
from aiflow.engine.waiting import forget
from aiflow.engine.watermarks import row_marks, upstream
from aiflow.errors import JoinOverflowError, UnmatchedError
from aiflow.events import Joined
from aiflow.operators.base import Joining

#: Why a join drops what nothing can be paired with any more.
UNMATCHED = "unmatched"


class JoinRows(Rows):
    """The queue of a join.

    Args:
        guardian: of a node whose operator joins.
        turns: turns that may be open at once, each with its share of the rows.
        joining: how; `is_aligned`: all rows carry the same sources.
    """

    picks = True
    in_turn = False

    def __init__(
        self, guardian: Guardian, turns: int, joining: Joining, *, is_aligned: bool
    ) -> None:
        self._turns = turns
        self._joining = joining
        self._is_aligned = is_aligned or joining.mode == "all"
        #: It waits for each part of an item.
        self.takes_all = joining.mode == "all"
        #: It may keep some beside the queue, as it is known what they wait for.
        self.has_store = self._is_aligned
        self._stirred: set[Lane] = set()
        #: Those that may have the last place of a row although they are not the next.
        self._let_by: set[tuple[Lane, int, str, int, int]] = set()
        super().__init__(guardian)

    def share_out(self, capacity: int | None) -> None:
        """Share out another number of places, and each row's among the turns."""
        super().share_out(capacity)
        self._share = None if self.places is None else max(1, self.places[0] // self._turns)

    def has_place(self, lane: Lane, edge: EdgeState, event: Event) -> bool:
        """Say whether there is a place for an event that comes over this edge."""
        if self.places is None or self._share is None:
            return True
        row = edge.port
        left = self._share - len(lane.queues[row])
        if left <= 0 or self.depths[row] >= self.places[row]:
            return False
        if left > 1 or not self._is_aligned:
            return True
        if event.sequence <= row_marks(lane, event.source)[row] + 1:
            return True
        return bool(self._let_by) and _mark_of(lane, row, event) in self._let_by

    def entered(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry stands in a lane's row now."""
        super().entered(lane, entry)
        self._stirred.add(lane)
        if self._let_by:
            self._let_by.discard(_mark_of(lane, entry[2].port, entry[0]))

    def left(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry has left its row."""
        super().left(lane, entry)
        if not lane.depth:
            self._stirred.discard(lane)

    def stir(self, lane: Lane) -> None:
        """Note that a watermark of a lane may have moved."""
        self._stirred.add(lane)

    def is_stirred(self, lane: Lane) -> bool:
        """Say whether what waits of a lane is to be looked at as soon as the node can begin."""
        return lane.depth > 0 and lane in self._stirred

    def step_aside(self, lane: Lane, call: Call, at: float) -> bool:
        """Make room for an output that keeps out what the join waits for.

        Returns:
            Whether it may come in now; else the store was full, and the turn has failed.
        """
        assert call.waits_at is not None
        assert call.pending is not None
        edge = call.waits_at[0]
        row = edge.port
        if self._share is not None and len(lane.queues[row]) >= self._share:
            most = self._joining.max_parts
            if len(lane.store) >= most:
                error = JoinOverflowError(self.guardian.id, edge.plan.id, most, is_ahead=True)
                fail_lane(lane, error, at)
                return False
            self._set_aside(lane, lane.queues[row][-1], at)
        self._let_by = {each for each in self._let_by if not each[0].is_closed}
        self._let_by.add(_mark_of(lane, row, call.pending))
        return True

    def _set_aside(self, lane: Lane, entry: Entry, at: float) -> None:
        """Move an entry from its row to the store."""
        _pull(lane.queues[entry[2].port], entry)
        self._out(lane, entry, at)
        lane.depth += 1  # it still waits here, in another place
        lane.store.append(entry)

    def take(self, lane: Lane, at: float) -> tuple[Event, EdgeState] | None:
        """Take what belongs together of a lane, as one event; None where nothing does yet."""
        if lane not in self._stirred:
            return None
        is_all = self._joining.mode == "all"
        found = self._whole_item(lane) if is_all else self._pair(lane)
        if found is not None:
            return self._join(lane, found, at)
        self._stirred.discard(lane)
        if is_all:
            self._store(lane, at)
        else:
            self._drop_unmatched(lane, at)
        return None

    def _whole_item(self, lane: Lane) -> list[Entry] | None:
        """Return the parts of an item of which nothing more can come, the oldest first."""
        marks: dict[str, float] = {}
        whole = []
        for entry in _entries(lane):
            source, sequence = _item_of(entry)
            if source not in marks:
                marks[source] = min(row_marks(lane, source))
            if sequence <= marks[source]:
                whole.append(entry)
        if not whole:
            return None
        source = min(whole, key=lambda entry: entry[3])[0].source
        sequence = min(entry[0].sequence for entry in whole if entry[0].source == source)
        parts = [entry for entry in whole if _item_of(entry) == (source, sequence)]
        return sorted(parts, key=lambda entry: (entry[2].port, entry[3]))

    def _store(self, lane: Lane, at: float) -> None:
        """Make room in a full row whose branch has more to send of what the join waits for.

        Only of that: what comes after it may wait in its row, and the branch behind it.
        """
        if self._share is None:
            return
        for row, queue in enumerate(lane.queues):
            if len(queue) < self._share:
                continue
            for entry in tuple(queue):
                source, sequence = _item_of(entry)
                marks = row_marks(lane, source)
                if not marks[row] == min(marks) == sequence - 1:
                    continue
                if len(lane.store) >= self._joining.max_parts:
                    self._give_up(lane, row, entry, at)
                    return
                self._set_aside(lane, entry, at)

    def _give_up(self, lane: Lane, row: int, entry: Entry, at: float) -> None:
        """Fail the turn where somebody waits with more of an item than the store can hold."""
        for call in self.guardian.waiters:
            place, pending = call.waits_at, call.pending
            if place is None or pending is None or place[1] is not lane or place[0].port != row:
                continue
            if (pending.source, pending.sequence) == _item_of(entry):
                most = self._joining.max_parts
                fail_lane(lane, JoinOverflowError(self.guardian.id, entry[2].id, most), at)
                return

    def _pair(self, lane: Lane) -> list[Entry] | None:
        """Return the first entry of the first row that has its counterpart in every other."""
        if not self._is_aligned:
            return [queue[0] for queue in lane.queues] if all(lane.queues) else None
        first, *others = _rows(lane)
        for entry in first:
            pair = [_find(queue, _item_of(entry)) for queue in others]
            found = [each for each in pair if each is not None]
            if len(found) == len(others):
                return [entry, *found]
        return None

    def _drop_unmatched(self, lane: Lane, at: float) -> None:
        """Let go of what has no counterpart any more."""
        dropped = 0
        for row, queue in enumerate(_rows(lane)):
            for entry in tuple(queue):
                if lane.is_dead or self._can_be_paired(lane, row, entry):
                    continue
                if self._joining.is_strict:
                    fail_lane(lane, UnmatchedError(self.guardian.id, entry[2].id), at)
                    return
                self._drop(lane, entry, at)
                dropped += 1
        if dropped and lane.open_edges <= 0:
            try_close(lane)

    def _can_be_paired(self, lane: Lane, row: int, entry: Entry) -> bool:
        source, sequence = _item_of(entry)
        marks = row_marks(lane, source) if self._is_aligned else ()
        for other, queue in enumerate(_rows(lane)):
            if other == row:
                continue
            if self._is_aligned:
                is_there = _find(queue, (source, sequence)) is not None
                if not is_there and marks[other] >= sequence:
                    return False
            elif not queue and _has_ended(lane, other):
                return False
        return True

    def _drop(self, lane: Lane, entry: Entry, at: float) -> None:
        guardian = self.guardian
        if _pull(lane.store, entry):
            lane.depth -= 1  # it was taken from its row long ago
        else:
            _pull(lane.queues[entry[2].port], entry)
            forget(lane, entry)
            entry[2].dropped += 1
        leave(lane)
        guardian.dropped[UNMATCHED] = guardian.dropped.get(UNMATCHED, 0) + 1
        if guardian.kernel.log is not None:
            guardian.kernel.log.settled(guardian.id, entry[0], f"dropped: {UNMATCHED}", at)

    def _join(self, lane: Lane, found: list[Entry], at: float) -> tuple[Event, EdgeState]:
        """Take the entries and make the one event of them that the operator is called with."""
        parts: dict[str, list[object]] = {port: [] for port in self.guardian.ports}
        first = found[0][0]
        for entry in found:
            event, _since, edge, _stamp = entry
            parts[edge.plan.target_port].append(event.payload)
            if _pull(lane.store, entry):
                lane.depth -= 1
            else:
                _pull(lane.queues[edge.port], entry)
                self._out(lane, entry, at)
            if entry is not found[0]:
                # What has become part of another is settled here; the first stands for all.
                leave(lane)
                count(lane, event, Settled.PROCESSED, at)
        if not lane.depth:
            self._stirred.discard(lane)
        events = [entry[0] for entry in found]
        joined = replace(
            first,
            payload=Joined({port: tuple(each) for port, each in parts.items()}),
            hops=max(event.hops for event in events),
            created_at=min(event.created_at for event in events),
        )
        return joined, found[0][2]

    def _out(self, lane: Lane, entry: Entry, at: float) -> None:
        forget(lane, entry)
        entry[2].taken += 1
        self.guardian.wait.record(at - entry[1])


def build_joins(plan: Plan, guardians: Mapping[str, Guardian], turns: int) -> None:
    """Give every join its rows."""
    found = [(each, each.node.operator.joins()) for each in guardians.values() if each.ports]
    joins = [(guardian, joining) for guardian, joining in found if joining is not None]
    sources = _sources_of(plan) if joins else {}
    for guardian, joining in joins:
        rows = [set().union(*(sources[id] for id in r)) for r in _rows_of(plan, guardian)]
        is_aligned = all(each == rows[0] for each in rows)
        guardian.gate = JoinRows(guardian, turns, joining, is_aligned=is_aligned)
        guardian.way = guardian.free = 0


def watch_joins(turn: Turn) -> None:
    """Have each lane before a join tell it whenever a watermark may have moved."""
    joins = [lane for lane in turn.lanes.values() if isinstance(lane.guardian.gate, JoinRows)]
    for join in joins:
        join.store = []
        before = upstream(join)
        for lane in before:
            lane.joins = (*lane.joins, join)
            lane.quick = False
    if joins:
        for lane in turn.lanes.values():
            for route in lane.routes.values():
                # An event that goes on inline is counted only where it comes to rest. There
                # must be nobody before it who would have to be told.
                told = {join for _edge, target in route.hops for join in (*target.joins, target)}
                route.must_count = not told.issuperset(lane.joins)
                route.refresh()


def _rows_of(plan: Plan, guardian: Guardian) -> list[list[str]]:
    """Return the nodes before each in-port of a join."""
    return [
        [
            edge.source
            for edge in plan.edges.values()
            if (edge.target, edge.target_port) == (guardian.id, port)
        ]
        for port in guardian.ports
    ]


def _sources_of(plan: Plan) -> Mapping[str, set[str]]:
    """Return node -> the sources whose events it sends on."""
    edges = [(edge.source, edge.target, edge.target_port) for edge in plan.edges.values()]
    leading: dict[str, str] = {}
    for node in plan.nodes.values():
        joining = node.operator.joins()
        if joining is not None and joining.mode == "zip" and node.inputs:
            leading[node.id] = node.inputs[0]
    return carried(edges, [id for id, node in plan.nodes.items() if node.is_source], leading)


def _entries(lane: Lane) -> Iterator[Entry]:
    yield from lane.store
    for queue in lane.queues:
        yield from queue


def _rows(lane: Lane) -> Sequence[Iterable[Entry]]:
    """Return what waits by each in-port in the order of arrival, with what stepped aside."""
    if not lane.store:
        return lane.queues
    rows: list[list[Entry]] = [[] for _ in lane.queues]
    for entry in sorted(_entries(lane), key=lambda entry: entry[3]):
        rows[entry[2].port].append(entry)
    return rows


def _item_of(entry: Entry) -> tuple[str, int]:
    return entry[0].source, entry[0].sequence


def _mark_of(lane: Lane, row: int, event: Event) -> tuple[Lane, int, str, int, int]:
    return lane, row, event.source, event.sequence, event.part


def _find(queue: Iterable[Entry], item: tuple[str, int]) -> Entry | None:
    return next((entry for entry in queue if _item_of(entry) == item), None)


def _pull(queue: MutableSequence[Entry], entry: Entry) -> bool:
    """Take an entry, and no other that equals it, out of a row; return whether it was there."""
    for index, each in enumerate(queue):
        if each is entry:
            del queue[index]
            return True
    return False


def _has_ended(lane: Lane, row: int) -> bool:
    """Say whether nothing can come by a row any more, of whatever source."""
    lanes = lane.turn.lanes
    return all(
        lanes[route.owner].is_closed
        for route in lane.before
        for edge, target in route.hops
        if target is lane and edge.port == row
    )
