"""Gates: how a queue is shared out that is more than one row.

Most queues are one row and have no gate. A node with several in-ports has a row for each, with
places of its own: one shared queue before a join fills up with what waits for the other branch.
A loop's entry has one more, for what has come back. A limit of bytes is kept here too.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiflow.engine.cells import EdgeState, Entry, Event, Guardian, Lane
from aiflow.engine.waiting import forget
from aiflow.events import is_droppable, size_of


class Rows:
    """The rows of one guardian's queue.

    Invariant: together they hold no more than q, so that each keeps its places whatever the
    others hold.

    Args:
        guardian: with its in-ports.
        returns: places kept for what comes back over feedback edges that never drop; None where
            no feedback edge leads here. With 0 it takes whatever place there is.

    Attributes:
        places: of each row; None in an unlimited queue.
        depths: entries in each row. `turns`: turns that have one there.
        max_bytes: limit of a row, None without one; `bytes`: what is in each row.
    """

    picks = False
    in_turn = True

    def __init__(self, guardian: Guardian, returns: int | None = None) -> None:
        self.guardian = guardian
        self.returns = returns
        self._ports = len(guardian.ports)
        guardian.rows = self._ports + (returns is not None)
        self.depths = [0] * guardian.rows
        self.turns = [0] * guardian.rows
        most = guardian.node.policy.max_bytes
        self.max_bytes = None if most is None else most // max(1, self._ports)
        self.bytes = [0] * guardian.rows
        self._sizes: dict[int, int] = {}
        self.places: list[int] | None = None
        self.share_out(guardian.queue_capacity)

    def share_out(self, capacity: int | None) -> None:
        """Share out another number of places."""
        if capacity is None:
            self.places = None
            return
        kept = self.returns or 0
        each = max(1, (capacity - kept) // max(1, self._ports))
        self.places = [each] * self._ports
        if self.returns is not None:
            self.places.append(kept or capacity)

    @property
    def occupied(self) -> int:
        """Places that are taken or kept for a row, whichever is more, of all rows together."""
        if self.places is None or self.returns == 0:
            return self.guardian.depth
        return sum(map(max, self.places, self.depths))

    def has_place(self, lane: Lane, edge: EdgeState, event: Event) -> bool:
        """Say whether there is a place for an event that comes over this edge."""
        if self.places is None:
            return True
        row = edge.port
        guardian = self.guardian
        places, depth = self.places[row], self.depths[row]
        if depth >= places:
            return False
        if self.returns == 0 and guardian.depth >= (guardian.queue_capacity or 0):
            return False
        if self.max_bytes is not None and not self._has_bytes(lane, row, event):
            return False
        if not guardian.is_limited or not lane.queues[row] or row == self._ports:
            return True
        # As in a queue of one row, a place is kept for each open turn that has nothing here.
        active = guardian.kernel.active
        return places < active or depth + active - self.turns[row] < places

    def has_places(self, lane: Lane, edge: EdgeState, events: Sequence[Event]) -> bool:
        """Say whether there are places for several events that come together."""
        if self.places is None:
            return True
        row, wanted = edge.port, len(events)
        guardian = self.guardian
        places, depth = self.places[row], self.depths[row] + wanted
        if depth > places:
            return False
        if self.returns == 0 and guardian.depth + wanted > (guardian.queue_capacity or 0):
            return False
        used = self.bytes[row]
        if self.max_bytes is not None and used:
            used += sum(size_of(event.payload) for event in events)
            if used > self.max_bytes:
                return False
        if not guardian.is_limited or not lane.queues[row] or row == self._ports:
            return True
        others = [len(each.queues[row]) for each in guardian.ready if each is not lane]
        return depth + kept_for(others, guardian.kernel.active, wanted, places) <= places

    def _has_bytes(self, lane: Lane, row: int, event: Event) -> bool:
        """Say whether a row has so many bytes left; one that is empty takes anything."""
        used, most = self.bytes[row], self.max_bytes or 0
        if not used:
            return True
        guardian = self.guardian
        if guardian.is_limited and lane.queues[row]:
            # As of the places, a share is kept for each open turn that has nothing here.
            active = guardian.kernel.active
            most -= max(0, active - self.turns[row]) * (most // max(1, active))
        return used + size_of(event.payload) <= most

    def has_droppable_bytes(self, edge: EdgeState, event: Event) -> bool:
        """Say whether there is room for an event where all gives way that may."""
        if self.max_bytes is None:
            return True
        row = edge.port
        left = self.bytes[row] - sum(
            self._sizes[entry[3]]
            for lane in self.guardian.ready
            for entry in lane.queues[row]
            if is_droppable(entry[0].payload) and (entry[2].is_detached or not edge.is_detached)
        )
        return left <= 0 or left + size_of(event.payload) <= self.max_bytes

    def entered(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry stands in a lane's row now."""
        row = entry[2].port
        self.depths[row] += 1
        if self.max_bytes is not None:
            size = self._sizes[entry[3]] = size_of(entry[0].payload)
            self.bytes[row] += size
        if len(lane.queues[row]) == 1:
            self.turns[row] += 1

    def left(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry has left its row."""
        row = entry[2].port
        self.depths[row] -= 1
        if self.max_bytes is not None:
            self.bytes[row] -= self._sizes.pop(entry[3])
        if not lane.queues[row]:
            self.turns[row] -= 1

    def stir(self, lane: Lane) -> None:
        """Do nothing: a queue that takes each event alone waits for no watermark."""

    def take(self, lane: Lane, at: float) -> tuple[Event, EdgeState] | None:
        """Take what is to be begun next of a lane: what has waited longest."""
        entry = lane.first_entry()
        return self.remove(lane, entry[2].port, 0, at)

    def remove(self, lane: Lane, row: int, index: int, at: float) -> tuple[Event, EdgeState]:
        """Take one entry out of a lane's row."""
        queue = lane.queues[row]
        entry = queue[index]
        del queue[index]
        forget(lane, entry)
        event, since, edge, _stamp = entry
        edge.taken += 1
        self.guardian.wait.record(at - since)
        return event, edge


def kept_for(others: Sequence[int], active: int, wanted: int, places: int) -> int:
    """Return the places that are kept for the other open conversations.

    Args:
        others: what each other lane that waits here has waiting.
        active: open conversations, this one among them.
        wanted: places that one takes at once; where there are not so many for each, one is kept
            for each that has nothing.
        places: how many there are.
    """
    share = wanted if active * wanted <= places else 1
    without = max(0, active - 1 - len(others))
    return without * share + sum(max(0, share - depth) for depth in others)
