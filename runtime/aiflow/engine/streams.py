"""Streams: what a source sends into one turn of a conversation, whichever way it is read.

A source is asked for its next payload only when the last has left, so fullness downstream
reaches whatever it reads from. Between two turns a stream has no lane of its own, and is held
until the next turn has opened. How it is asked is told in `pulledstream` and `taskstream`.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.calls import way_of
from aiflow.engine.cells import Call, Event, Lane, Route, Terminal
from aiflow.engine.delivery import deliver
from aiflow.engine.ending import try_close
from aiflow.engine.failing import wrap
from aiflow.engine.settling import leave
from aiflow.engine.waiting import park, unpark
from aiflow.errors import EngineError
from aiflow.events import Context
from aiflow.operators.base import Emit, NextTurn, Source


class Stream:
    """One source's stream into one turn: what both kinds have in common.

    Args:
        lane: of the source's node.
        outputs: what the operator's `stream` returned.

    Attributes:
        lane: where it streams into; while the stream `is_held`, the one that it has left.
        stop_with: how the stream ends before its time; NONE while it may go on.
        sequence: of the last event of the turn; -1 before the first.
    """

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.guardian = lane.guardian
        self.kernel = lane.guardian.kernel
        self.hand = Call(lane, None)
        self.stop_with = Terminal.NONE
        self.sequence = -1
        self.is_held = False
        self._most = lane.guardian.node.max_in_flight
        lane.source = self

    @property
    def takes_turns(self) -> bool:
        """Whether a cancelled turn leaves the stream open."""
        return takes_turns(self.lane)

    @property
    def is_full(self) -> bool:
        """Whether the turn has as many events in the graph as the plan allows."""
        return self._most is not None and self.lane.turn.in_flight >= self._most

    def wait_for_leave(self) -> None:
        """Read no more until something of the turn has left the graph."""
        self._most = self.guardian.node.max_in_flight
        self.lane.turn.waiting_sources.append(self.go_on)

    def read_on(self) -> None:
        """Read once more, though there is as much in the graph as may be."""
        self._most = self.lane.turn.in_flight + 1

    def make(self, output: Any, at: float) -> tuple[Route, Event] | None:  # noqa: ANN401 - what an operator returns
        """Return the event for an output and its way; None for a mark, or with nowhere to go."""
        created_at = at
        if type(output) is Emit and output.created_at is not None:
            created_at = output.created_at
        try:
            route, payload = way_of(self.lane, output)
        except EngineError:
            # Found as what is no payload, so that no event is asked whether it is a mark.
            if not isinstance(output, NextTurn):
                raise
            self.leave_turn(output)
            return None
        if payload is None or not route.hops:
            self.guardian.processed += 1
            return None
        turn = self.lane.turn
        self.sequence = sequence = self.sequence + 1
        event = Context(
            payload,
            turn.conversation,
            turn.number,
            self.guardian.id,
            sequence,
            0,
            0,
            created_at,
            turn.epoch,
        )
        return route, event

    def offer(self, route: Route, event: Event, at: float) -> bool:
        """Bring an event on its way; return False where it has to wait in hand."""
        hop = deliver(route, event, at)
        if hop is None:
            self.guardian.processed += 1
            self.guardian.emitted += 1
            self.guardian.blocked.fine += 1
            return True
        self.kernel.enter()
        self.lane.turn.in_flight += 1
        self.hand.pending, self.hand.route, self.hand.ready_at = event, route, at
        park(self.hand, hop, at)
        return False

    def left(self, at: float) -> None:
        """Count the event that had to wait and has left."""
        guardian = self.guardian
        self.hand.pending = None
        guardian.processed += 1
        guardian.emitted += 1
        guardian.blocked.record(at - self.hand.ready_at)
        self.go_on()

    def go_on(self) -> None:
        """Read on after a wait; a stream that could not be opened never does."""

    def stop(self, terminal: Terminal, at: float) -> None:
        """End the stream as soon as nothing is in its hand."""

    def abandon(self) -> None:
        """Read no more, and tell nobody: the session is broken. A task is ended by itself."""

    def leave_turn(self, mark: NextTurn) -> None:
        """Be done with the turn, and wait for the next: it may open before this returns."""
        if not self.stop_with:
            self.is_held = True
            self.kernel.leave_turn(self, mark.barge_in)

    def detach(self, terminal: Terminal) -> None:
        """End the turn that the stream has left at the source."""
        lane = self.lane
        lane.source = None
        lane.terminal = max(lane.terminal, terminal)
        lane.open_edges = 0
        try_close(lane)

    def enter_turn(self, lane: Lane) -> None:
        """Go on, in another turn of the conversation."""
        self.lane = lane
        self.hand = Call(lane, None)
        self.sequence = -1
        self.is_held = False
        lane.source = self
        self.go_on()

    def drop_hand(self, at: float) -> None:
        """Settle the event in hand as cancelled."""
        if self.hand.pending is not None:
            event, self.hand.pending = self.hand.pending, None
            unpark(self.hand, at)
            self.guardian.cancelled += 1
            leave(self.lane)
            if self.kernel.log is not None:
                self.kernel.log.settled(self.guardian.id, event, "cancelled", at)

    def end(self, terminal: Terminal) -> None:
        """End the turn at the source; between two turns, say that there will be no next."""
        if self.is_held:
            self.is_held = False
            self.kernel.stream_closed(self)
            return
        lane = self.lane
        lane.terminal = max(lane.terminal, terminal)
        lane.open_edges = 0
        try_close(lane)

    def fail(self, error: BaseException) -> None:
        """End the turn because the source raised."""
        self.lane.terminal = Terminal.ERROR
        self.kernel.fail_turn(self.lane.turn, wrap(self.lane, error))
        self.end(Terminal.ERROR)


def takes_turns(lane: Lane) -> bool:
    """Say whether a source's stream goes on after a turn of it has been cancelled."""
    operator = lane.guardian.node.operator
    return isinstance(operator, Source) and operator.takes_turns
