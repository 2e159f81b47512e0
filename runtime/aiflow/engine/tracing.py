"""Tracing: one event's way through every node, and where its time went.

While a trace is open all edges are watched and every operator is called through a wrapper that
looks whether the event is the one; closed, nothing of that is left. Descendants have their
ancestor's place (conversation, turn, source, sequence), so they are found by it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from aiflow.engine.cells import EdgeState, Event, Log, Terminal, Turn
from aiflow.operators.names import kind_of

#: Most stays at nodes that one trace keeps; a loop may make any number.
MOST_STAYS = 1_000

Place = tuple[str, int, str, int]
Key = tuple[str, int, int]


@dataclass(slots=True)
class Stay:
    """One event at one node.

    Attributes:
        edge: over which it came, "" at its source.
        arrived_at: when it came; None where that was before the trace began.
        begun_at: when the operator was first called with it.
        service_s: time in the operator.
        left: port and time of each output that has left.
        outcome: `processed`, `failed`, `cancelled` or `dropped: reason`; "" while it is here.
    """

    node: str
    event: Event
    edge: str = ""
    arrived_at: float | None = None
    begun_at: float | None = None
    service_s: float = 0.0
    left: list[tuple[str, float]] = field(default_factory=list)
    outcome: str = ""
    settled_at: float | None = None

    def row(self) -> dict[str, Any]:
        """Return the stay as plain values, times in seconds."""
        end = self.settled_at
        wait_s = blocked_s = None
        if self.arrived_at is not None:
            began = end if self.begun_at is None else self.begun_at
            wait_s = None if began is None else began - self.arrived_at
        if self.begun_at is not None and end is not None:
            blocked_s = max(0.0, end - self.begun_at - self.service_s)
        return {
            "node": self.node,
            "edge": self.edge,
            "conversation": self.event.conversation,
            "turn": self.event.turn,
            "source": self.event.source,
            "sequence": self.event.sequence,
            "part": self.event.part,
            "hops": self.event.hops,
            "type": kind_of(self.event.payload),
            "arrived_at": self.arrived_at,
            "begun_at": self.begun_at,
            "wait_s": wait_s,
            "service_s": self.service_s,
            "blocked_s": blocked_s,
            "left": [{"port": port, "at": at} for port, at in self.left],
            "outcome": self.outcome,
            "settled_at": self.settled_at,
        }


class TraceView:
    """The way of one event, as far as it has come since somebody asked.

    Args:
        source: id of the node where it begins.
        sequence: its number there; None takes the next one that leaves the source.
        conversation: whose; None takes the first that comes.
        now: tells the session's time.
        on_close: takes the trace out of the session.
    """

    def __init__(
        self,
        source: str,
        sequence: int | None,
        conversation: str | None,
        now: Callable[[], float],
        on_close: Callable[[TraceView], None],
    ) -> None:
        self.source = source
        self._sequence = sequence
        self._conversation = conversation
        self._now = now
        self._log: Log | None = None
        self._on_close = on_close
        self._place: Place | None = None
        self._stays: dict[tuple[str, Key], Stay] = {}
        self._order: list[Stay] = []

    @property
    def place(self) -> Place | None:
        """Conversation, turn, source and sequence of the event; None before it was seen."""
        return self._place

    def rows(self) -> list[dict[str, Any]]:
        """Return each stay at a node as plain values, in the order of arrival."""
        return [stay.row() for stay in self._order]

    def close(self) -> None:
        """Cease to look; what was seen stays. Safe to repeat."""
        self._on_close(self)

    # What it is told -------------------------------------------------------------------

    def pass_on_to(self, log: Log | None) -> None:
        """Say who else is told what happens, None for nobody."""
        self._log = log

    def arrived(self, edge: EdgeState, event: Event, at: float) -> None:
        """Note that an event has come over an edge."""
        if self._is_wanted(event):
            stay = self._stay(edge.plan.target, event)
            if stay is not None and stay.arrived_at is None:
                stay.edge, stay.arrived_at = edge.id, at

    def emitted(self, node: str, port: str, event: Event, at: float) -> None:
        """Note that an output has left a node."""
        if self._log is not None:
            self._log.emitted(node, port, event, at)
        self._take_next(node, event)
        if not self._is_wanted(event):
            return
        if node == event.source:
            stay = self._stay(node, event)
            if stay is not None and not stay.left:
                stay.begun_at, stay.settled_at, stay.outcome = event.created_at, at, "processed"
        else:
            stay = self._open_stay(node)
        if stay is not None:
            stay.left.append((port, at))

    def settled(self, node: str, event: Event | None, outcome: str, at: float) -> None:
        """Note what has become of an event at a node."""
        if self._log is not None:
            self._log.settled(node, event, outcome, at)
        if event is not None and self._is_wanted(event):
            stay = self._stay(node, event)
            if stay is not None:
                stay.outcome, stay.settled_at = outcome, at

    def ended(self, node: str, turn: Turn, terminal: Terminal, at: float) -> None:
        """Pass on that a turn has ended at a node."""
        if self._log is not None:
            self._log.ended(node, turn, terminal, at)

    def tuned(self, node: str, changes: Mapping[str, tuple[object, object]], at: float) -> None:
        """Pass on that a policy was changed."""
        if self._log is not None:
            self._log.tuned(node, changes, at)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the log has
        """Pass on whatever else a log is told; a trace has no use for it."""
        return _nobody_listens if self._log is None else getattr(self._log, name)

    # How operators are called ----------------------------------------------------------

    def around(self, node: str, process: Callable[..., Any]) -> Callable[..., Any]:
        """Return an operator's function, of the same kind, that notes its time with the event."""
        if inspect.isasyncgenfunction(process):
            return self._around_stream(node, process)
        if inspect.isgeneratorfunction(process):
            return self._around_generator(node, process)
        if inspect.iscoroutinefunction(process):

            async def awaits(payload: Any, scope: Any) -> Any:  # noqa: ANN401 - payloads are any type
                stay = self._begun(node, scope.event)
                began = self._now()
                try:
                    return await process(payload, scope)
                finally:
                    self._took(stay, began)

            return awaits

        def calls(payload: Any, scope: Any) -> Any:  # noqa: ANN401 - payloads are any type
            stay = self._begun(node, scope.event)
            began = self._now()
            try:
                return process(payload, scope)
            finally:
                self._took(stay, began)

        return calls

    def _around_generator(self, node: str, process: Callable[..., Any]) -> Callable[..., Any]:
        def yields(payload: Any, scope: Any) -> Iterator[Any]:  # noqa: ANN401 - payloads are any type
            stay = self._begun(node, scope.event)
            outputs = process(payload, scope)
            try:
                while True:
                    began = self._now()
                    try:
                        output = next(outputs)
                    except StopIteration:
                        return
                    finally:
                        self._took(stay, began)
                    yield output
            finally:
                outputs.close()

        return yields

    def _around_stream(self, node: str, process: Callable[..., Any]) -> Callable[..., Any]:
        async def streams(payload: Any, scope: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - payloads are any type
            stay = self._begun(node, scope.event)
            async with aclosing(process(payload, scope)) as outputs:
                while True:
                    began = self._now()
                    try:
                        output = await anext(outputs)
                    except StopAsyncIteration:
                        return
                    finally:
                        self._took(stay, began)
                    yield output

        return streams

    def _begun(self, node: str, event: Event) -> Stay | None:
        if not self._is_wanted(event):
            return None
        stay = self._stay(node, event)
        if stay is not None and stay.begun_at is None:
            stay.begun_at = self._now()
        return stay

    def _took(self, stay: Stay | None, began: float) -> None:
        if stay is not None:
            stay.service_s += self._now() - began

    # Which event it is -----------------------------------------------------------------

    def _is_wanted(self, event: Event) -> bool:
        place = (event.conversation, event.turn, event.source, event.sequence)
        if self._place is not None:
            return place == self._place
        if event.source != self.source or self._conversation not in (None, event.conversation):
            return False
        if self._sequence is None:
            # The next one that leaves its source, not one that is on its way already.
            return False
        if event.sequence != self._sequence:
            return False
        self._place = place
        return True

    def _take_next(self, node: str, event: Event) -> None:
        """Take the event that leaves the source now, where any will do."""
        if (
            self._place is None
            and self._sequence is None
            and node == self.source == event.source
            and self._conversation in (None, event.conversation)
        ):
            self._place = (event.conversation, event.turn, event.source, event.sequence)

    def _stay(self, node: str, event: Event) -> Stay | None:
        key = (node, (event.source, event.part, event.hops))
        found = self._stays.get(key)
        if found is None and len(self._order) < MOST_STAYS:
            found = self._stays[key] = Stay(node, event)
            self._order.append(found)
        return found

    def _open_stay(self, node: str) -> Stay | None:
        """Return the stay whose outputs leave now: the oldest that is begun and not settled."""
        for stay in self._order:
            if stay.node == node and stay.begun_at is not None and not stay.outcome:
                return stay
        return next((stay for stay in reversed(self._order) if stay.node == node), None)


class Arrivals:
    """Shows a trace what comes over one edge."""

    def __init__(self, trace: TraceView, edge: EdgeState) -> None:
        self._trace = trace
        self._edge = edge

    def see(self, event: Event, at: float) -> None:
        """Tell the trace."""
        self._trace.arrived(self._edge, event, at)


def _nobody_listens(*_: object) -> None:
    """Take what a log would have been told."""
