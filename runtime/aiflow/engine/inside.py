"""Looking inside a running session: queues, one event's way, breakpoints, injected events.

One place that knows what is open for whoever looks, and ends it with the run. Nobody looking
costs nothing: edges and operators are changed when somebody begins, and changed back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiflow.compiler.findings import did_you_mean
from aiflow.engine.cells import EdgeState, Entry, Guardian, Kernel, Lane, Log, Turn
from aiflow.engine.injecting import inject
from aiflow.engine.pausing import Breakpoint, Breakpoints
from aiflow.engine.taps import TapView, Watchers, row_of
from aiflow.engine.tracing import Arrivals, TraceView
from aiflow.engine.workers import WorkerRunner
from aiflow.errors import EngineError

#: Most entries of a queue that are shown at once.
MOST_SHOWN = 1_000
#: Traces that may be open at once: each watches the whole graph.
MOST_TRACES = 8


class Inside:
    """What there is to be seen of a session from its start to its end.

    Args:
        kernel: the session's.
        guardians: by node.
        edges: by id.
        turns: returns all open turns.
    """

    def __init__(
        self,
        kernel: Kernel,
        guardians: Mapping[str, Guardian],
        edges: Mapping[str, EdgeState],
        turns: Callable[[], Iterable[Turn]],
    ) -> None:
        self._kernel = kernel
        self._guardians = guardians
        self._edges = edges
        self._turns = turns
        self._watchers = Watchers(edges, turns)
        self._taps: dict[str, TapView] = {}
        self._breakpoints = Breakpoints()
        self._traces: dict[TraceView, dict[str, Arrivals]] = {}
        self._log: Log | None = kernel.log
        self._injected = 0

    @property
    def tapped(self) -> frozenset[str]:
        """The edges that are tapped."""
        return frozenset(self._taps)

    @property
    def breakpoints(self) -> frozenset[str]:
        """The edges with a breakpoint."""
        return frozenset(self._breakpoints.edges)

    def tap(self, edge: str, keep: int) -> TapView:
        """Return the tap of an edge, opened if there is none."""
        found = self._taps.get(edge)
        if found is None:
            self._edge(edge)
            found = self._taps[edge] = TapView(edge, keep, lambda: self._untap(edge))
            self._watchers.add(edge, found)
        return found

    def queue(self, place: str, most: int) -> list[dict[str, Any]]:
        """Return copies of what waits at a node, or of it what came over one edge, oldest first."""
        if place in self._guardians:
            guardian, edge = self._guardians[place], None
        elif place in self._edges:
            edge = self._edges[place]
            guardian = self._guardians[edge.plan.target]
        else:
            raise self._no_such(place, "node or edge", [*self._guardians, *self._edges])
        at = self._kernel.now()
        entries = [each for each in _waiting(guardian) if edge in (None, each[2])]
        entries.sort(key=lambda each: each[3])
        return [_queued(each, at) for each in entries[: max(0, min(most, MOST_SHOWN))]]

    def trace(self, source: str, sequence: int | None, conversation: str | None) -> TraceView:
        """Follow one event from now on through every node."""
        guardian = self._guardians.get(source)
        if guardian is None or not guardian.is_source:
            sources = [each.id for each in self._guardians.values() if each.is_source]
            raise self._no_such(source, "source", sources)
        if len(self._traces) >= MOST_TRACES:
            raise EngineError(f"{MOST_TRACES} traces are open already; close one first")
        trace = TraceView(source, sequence, conversation, self._kernel.now, self._untrace)
        arrivals = {id: Arrivals(trace, edge) for id, edge in self._edges.items()}
        for id, each in arrivals.items():
            self._watchers.add(id, each)
        self._traces[trace] = arrivals
        self._set_tracing()
        return trace

    def set_breakpoint(self, edge: str) -> None:
        """Hold the node behind an edge from the next event on that comes over it."""
        state = self._edge(edge)
        if edge in self._breakpoints.edges:
            return
        guardian = self._guardians[state.plan.target]
        found = self._breakpoints.edges[edge] = Breakpoint(guardian, self._breakpoints)
        self._watchers.add(edge, found)
        self._hold_if_met(edge)

    def resume(self, edge: str) -> bool:
        """Take a breakpoint away and let its node go on; False where there is none."""
        state = self._edge(edge)
        found = self._breakpoints.edges.pop(edge, None)
        if found is None:
            return False
        self._watchers.remove(edge, found)
        guardian = self._guardians[state.plan.target]
        self._breakpoints.release(guardian)
        for other in self._breakpoints.edges:
            if self._edges[other].plan.target == guardian.id:
                self._hold_if_met(other)
        return True

    def step(self, edge: str) -> bool:
        """Let the node behind a breakpoint begin one event; False where none waits."""
        state = self._edge(edge)
        if edge not in self._breakpoints.edges:
            raise EngineError(f"edge {edge} has no breakpoint; set one, then step")
        return self._breakpoints.step(self._guardians[state.plan.target])

    def inject(self, edge: str, payload: object, conversation: str | None) -> None:
        """Put an event into an edge; see `injecting`."""
        inject(self._edge(edge), self._turns(), payload, conversation, self._injected)
        self._injected += 1

    def released(self, node: str) -> Callable[[], None]:
        """Let a node that is held be what it is for a change of it; return what holds it again."""
        guardian = self._guardians[node]
        if not self._breakpoints.release(guardian):
            return _nothing
        return lambda: self._breakpoints.hold(guardian)

    def let_go(self) -> None:
        """Take all breakpoints away."""
        for edge in tuple(self._breakpoints.edges):
            self.resume(edge)

    def close(self) -> None:
        """Let all go on that is held, and trace no more."""
        self.let_go()
        for trace in tuple(self._traces):
            trace.close()

    def _hold_if_met(self, edge: str) -> None:
        state = self._edges[edge]
        guardian = self._guardians[state.plan.target]
        if any(each[2] is state for each in _waiting(guardian)):
            self._breakpoints.hold(guardian)

    def _untap(self, edge: str) -> None:
        found = self._taps.pop(edge, None)
        if found is not None:
            self._watchers.remove(edge, found)

    def _untrace(self, trace: TraceView) -> None:
        arrivals = self._traces.pop(trace, None)
        if arrivals is not None:
            for id, each in arrivals.items():
                self._watchers.remove(id, each)
            self._set_tracing()

    def _set_tracing(self) -> None:
        """Have the open traces told what happens, and nobody where none is open."""
        log = self._log
        for trace in self._traces:
            trace.pass_on_to(log)
            log = trace
        self._kernel.log = log
        for guardian in self._guardians.values():
            if not guardian.is_source:
                guardian.process = self._traced(guardian)
        for lane in self._lanes():
            lane.process = lane.guardian.process
            lane.quick = not lane.awaits_first and log is None
            for route in lane.routes.values():
                route.refresh()

    def _traced(self, guardian: Guardian) -> Callable[..., Any]:
        process: Callable[..., Any] = guardian.node.operator.process
        for trace in self._traces:
            process = trace.around(guardian.id, process)
        runner = guardian.runner
        return runner.begun(process) if isinstance(runner, WorkerRunner) else process

    def _lanes(self) -> Iterable[Lane]:
        return (lane for turn in self._turns() for lane in turn.lanes.values())

    def _edge(self, edge: str) -> EdgeState:
        found = self._edges.get(edge)
        if found is None:
            raise self._no_such(edge, "edge", self._edges)
        return found

    def _no_such(self, name: str, what: str, known: Iterable[str]) -> EngineError:
        names = list(known)
        advice = did_you_mean(name, names, f"there is {', '.join(names) or 'none'}")
        return EngineError(f"there is no {what} {name} in this run; {advice}")


def _waiting(guardian: Guardian) -> list[Entry]:
    return [entry for lane in guardian.ready for queue in lane.queues for entry in queue]


def _queued(entry: Entry, at: float) -> dict[str, Any]:
    event, since, edge, _stamp = entry
    return {**row_of(event, since), "edge": edge.id, "waited_s": at - since}


def _nothing() -> None:
    """Hold nobody again."""
