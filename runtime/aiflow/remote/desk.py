"""The desk: what may be asked of a served session, and what is answered, in plain values.

One desk for each client. What a client has opened, a tap or a breakpoint, is closed when it
goes: nobody would be left to do it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from aiflow.analysis.facts import Facts
from aiflow.compiler.findings import did_you_mean
from aiflow.engine.outputs import KEPT_LINES
from aiflow.engine.session import Session
from aiflow.engine.taps import TapView
from aiflow.engine.tracing import TraceView
from aiflow.errors import RemoteError

#: Most rows or lines in one answer; who wants more asks again.
MOST_ROWS = 1_000
#: Most letters of shown text in one answer.
_MOST_LETTERS = 1_000_000


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """Asks for nothing in particular."""


class After(msgspec.Struct, forbid_unknown_fields=True):
    """Asks for what sinks showed since line `after`."""

    after: int = 0


class OfEdge(msgspec.Struct, forbid_unknown_fields=True):
    """Asks for the last `keep` events of an edge."""

    edge: str
    keep: int = 100


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """Asks for other policy members of a node."""

    node: str
    changes: dict[str, Any]


class OfPlace(msgspec.Struct, forbid_unknown_fields=True):
    """Asks for what waits at a node, or what came to it over an edge."""

    place: str
    most: int = 100


class OfEvent(msgspec.Struct, forbid_unknown_fields=True):
    """Names an event to be followed; without a sequence the next one of its source."""

    source: str
    sequence: int | None = None
    conversation: str | None = None


class OfTrace(msgspec.Struct, forbid_unknown_fields=True):
    """Names a trace that the client has begun."""

    trace: int


class Breakpoint(msgspec.Struct, forbid_unknown_fields=True):
    """Sets a breakpoint on an edge, or takes it away."""

    edge: str
    is_set: bool = True


class OnEdge(msgspec.Struct, forbid_unknown_fields=True):
    """Names an edge with a breakpoint."""

    edge: str


class Injected(msgspec.Struct, forbid_unknown_fields=True):
    """An event that no source has made: a text, or a mapping with its `type`."""

    edge: str
    payload: str | dict[str, Any]
    conversation: str | None = None


class OfTurn(msgspec.Struct, forbid_unknown_fields=True):
    """Names a turn of a conversation."""

    conversation: str
    turn: int | None = None


class Desk:
    """Answers one client.

    Args:
        session: what is served.

    Attributes:
        seen: number of the last shown line that the client was told.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taps: list[TapView] = []
        self._traces: dict[int, TraceView] = {}
        self._traces_begun = 0
        self._breakpoints: set[str] = set()
        self.seen = 0
        self._calls: Mapping[str, tuple[type[msgspec.Struct], Callable[[Any], Any]]] = {
            "snapshot": (Nothing, self._snapshot),
            "facts": (Nothing, self._facts),
            "outputs": (After, self._outputs),
            "tap": (OfEdge, self._tap),
            "queue": (OfPlace, self._queue),
            "trace": (OfEvent, self._trace),
            "traced": (OfTrace, self._traced),
            "end_trace": (OfTrace, self._end_trace),
            "tune": (Change, self._tune),
            "set_breakpoint": (Breakpoint, self._set_breakpoint),
            "step": (OnEdge, self._step),
            "resume": (OnEdge, self._resume),
            "inject": (Injected, self._inject),
            "drain": (Nothing, self._drain),
            "stop": (Nothing, self._stop),
            "cancel": (OfTurn, self._cancel),
        }

    def answer(self, call: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - plain
        """Do what is asked and return plain values.

        Raises:
            AiFlowError: it cannot be done; one sentence.
        """
        if call not in self._calls:
            raise RemoteError(
                f"a run cannot {call}; {did_you_mean(call, self._calls, ', '.join(self._calls))}"
            )
        kind, function = self._calls[call]
        try:
            asked = msgspec.convert(arguments, kind)
        except msgspec.ValidationError as error:
            raise RemoteError(f"{call} cannot be asked so: {error}") from error
        return function(asked)

    def goodbye(self) -> dict[str, Any]:
        """Return the last numbers, and the lines that the client has not seen."""
        lines = self._lines(self.seen, KEPT_LINES)
        return {"snapshot": self._snapshot(Nothing()), "outputs": lines}

    def close(self) -> None:
        """Close what the client has opened."""
        for tap in self._taps:
            tap.close()
        for trace in self._traces.values():
            trace.close()
        self._taps.clear()
        self._traces.clear()
        for edge in self._breakpoints & self._session.breakpoints:
            self._session.resume(edge)
        self._breakpoints.clear()

    def _snapshot(self, _: Nothing) -> dict[str, Any]:
        return self._session.snapshot().to_dict()

    def _facts(self, _: Nothing) -> dict[str, Any]:
        facts = Facts.of_plan(self._session.plan)
        return {
            "targets": facts.targets,
            "sources": sorted(facts.sources),
            "states": facts.states,
        }

    def _outputs(self, asked: After) -> list[dict[str, Any]]:
        return self._lines(asked.after, MOST_ROWS)

    def _lines(self, after: int, most: int) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        letters = 0
        for line in self._session.outputs(after)[:most]:
            letters += len(line.text)
            if lines and letters > _MOST_LETTERS:
                break
            lines.append(asdict(line))
            self.seen = line.number
        return lines

    def _tap(self, asked: OfEdge) -> list[dict[str, Any]]:
        keep = max(1, min(asked.keep, MOST_ROWS))
        is_new = asked.edge not in self._session.tapped
        tap = self._session.tap(asked.edge, keep)
        if is_new:  # else whoever has opened it closes it
            self._taps.append(tap)
        return tap.rows()[-keep:]

    def _tune(self, asked: Change) -> dict[str, Any]:
        return asdict(self._session.tune(asked.node, **asked.changes))

    def _queue(self, asked: OfPlace) -> list[dict[str, Any]]:
        return self._session.queue(asked.place, asked.most)

    def _trace(self, asked: OfEvent) -> int:
        trace = self._session.trace(asked.source, asked.sequence, asked.conversation)
        self._traces_begun += 1
        self._traces[self._traces_begun] = trace
        return self._traces_begun

    def _traced(self, asked: OfTrace) -> list[dict[str, Any]]:
        if asked.trace not in self._traces:
            raise RemoteError(f"there is no trace {asked.trace} of this client")
        return self._traces[asked.trace].rows()

    def _end_trace(self, asked: OfTrace) -> None:
        trace = self._traces.pop(asked.trace, None)
        if trace is not None:
            trace.close()

    def _set_breakpoint(self, asked: Breakpoint) -> None:
        is_new = asked.edge not in self._session.breakpoints
        self._session.set_breakpoint(asked.edge, asked.is_set)
        if is_new and asked.is_set:  # else whoever has set it takes it away
            self._breakpoints.add(asked.edge)

    def _step(self, asked: OnEdge) -> bool:
        return self._session.step(asked.edge)

    def _resume(self, asked: OnEdge) -> bool:
        return self._session.resume(asked.edge)

    def _inject(self, asked: Injected) -> None:
        self._session.inject(asked.edge, asked.payload, asked.conversation)

    def _drain(self, _: Nothing) -> None:
        self._session.drain()

    def _stop(self, _: Nothing) -> None:
        self._session.stop()

    def _cancel(self, asked: OfTurn) -> bool:
        return self._session.cancel(asked.conversation, asked.turn)
