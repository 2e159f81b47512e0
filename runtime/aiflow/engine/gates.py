"""Gates: how a queue is shared out that is more than one row.

Most queues are one row and have no gate. A node with several in-ports has a row for each, with
places of its own: one shared queue before a join fills up with what waits for the other branch.
A loop's entry has one more, for what has come back. A limit of bytes is kept here too.
"""

from __future__ import annotations

from aiflow.engine.cells import EdgeState, Entry, Event, Guardian, Lane
from aiflow.engine.waiting import forget


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
        if not guardian.is_limited or not lane.queues[row] or row == self._ports:
            return True
        # As in a queue of one row, a place is kept for each open turn that has nothing here.
        active = guardian.kernel.active
        return places < active or depth + active - self.turns[row] < places

    def entered(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry stands in a lane's row now."""
        row = entry[2].port
        self.depths[row] += 1
        if len(lane.queues[row]) == 1:
            self.turns[row] += 1

    def left(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry has left its row."""
        row = entry[2].port
        self.depths[row] -= 1
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
