"""Opening a turn: its lanes at every node that its sources reach, wired to one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiflow.compiler.plan import NodePlan, Plan
from aiflow.compiler.resolved import DEAD_PORT
from aiflow.engine.cells import EdgeState, Guardian, Kernel, Lane, Route, Terminal, Turn
from aiflow.engine.conversations import number_of
from aiflow.engine.joins import watch_joins
from aiflow.engine.outputs import Outputs
from aiflow.engine.scopes import EngineScope
from aiflow.engine.sources import open_stream
from aiflow.engine.streams import Stream, takes_turns
from aiflow.errors import OperatorError
from aiflow.events import Context
from aiflow.metrics.instruments import Histogram


def _mark_first(marks: dict[str, float], wait: Histogram | None, what: str, at: float) -> None:
    """Note when something happened first; a second request of a turn changes nothing.

    A source has no queue, so its wait is that of its request: from being asked for until sent.
    """
    if what in marks:
        return
    marks[what] = at
    if wait is not None and what == "request_sent" and "request_asked" in marks:
        wait.record(at - marks["request_asked"])


def _mark_nothing(what: str, at: float) -> None:
    """Stand in where no mark counts: at a node that asks no model."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What all lanes of one node have in common.

    Attributes:
        resources: what its operator is handed, by the operator's names.
        outputs: ports that lead anywhere.
        ways: of each port that its lanes have, the edges and the nodes behind them.
        asks: its operator may ask a model, so that its marks count.
        show, notice: take a text that it shows in a conversation, and what a person should hear.
    """

    resources: Mapping[str, Any]
    outputs: frozenset[str]
    ways: tuple[tuple[str, tuple[tuple[EdgeState, str], ...]], ...]
    asks: bool
    show: Callable[[str, str], None]
    notice: Callable[[str], None]


def _state_of(node: NodePlan, turn: Turn) -> Any:  # noqa: ANN401 - the operator's own
    """Return a new state, None where the operator raised, which is the turn's fault then."""
    try:
        return node.operator.new_state()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the border: whatever an operator raises
        if turn.fault is None:
            turn.fault = OperatorError(node.id, turn.conversation, error)
            turn.fault.__cause__ = error
        return None


def _balanced(node: NodePlan, lane: Lane) -> Route:
    """Return the route of outputs that name no port: by any of those that are connected."""
    route = Route(node.id, "", ())
    route.choices = tuple(
        lane.routes[port.name] for port in node.operator.outputs if lane.routes[port.name].leads_on
    )
    route.leads_on = bool(route.choices)
    return route


@dataclass(slots=True)
class Weaver:
    """Makes turns of one session.

    Attributes:
        resources: started resources by id.
        input_of: the text that the run was given for a conversation.
        run: tells this run's effects from those of any other.
        deadline_of: says when a conversation is given up.
    """

    plan: Plan
    kernel: Kernel
    guardians: Mapping[str, Guardian]
    edges: Mapping[str, EdgeState]
    resources: Mapping[str, Any]
    outputs: Outputs
    seed: int
    input_of: Callable[[str], str | None]
    run: str
    deadline_of: Callable[[str], float | None] = lambda _: None
    _patterns: dict[str, _Pattern] = field(default_factory=dict)
    _reaches: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    def open(
        self,
        conversation: str,
        number: int,
        sources: tuple[str, ...],
        scopes: Mapping[str, EngineScope] | None = None,
    ) -> Turn:
        """Open a turn of a conversation, with lanes but without streams yet.

        Args:
            conversation: its id.
            number: of the turn, from 0.
            sources: nodes that stream into it.
            scopes: those that the streams of earlier turns hold, by node.
        """
        turn = Turn(conversation, number, self.kernel.now())
        turn.deadline = self.deadline_of(conversation)
        scopes = scopes or {}
        reached = self._reaches.get(sources)
        if reached is None:
            reached = self._reaches[sources] = self._reached(sources)
        for node, guardian in self.guardians.items():
            if node in reached:
                turn.lanes[node] = self._lane(guardian, turn, scopes.get(node))
                turn.open_stores += guardian.has_store
        for lane in turn.lanes.values():
            self._wire(lane, turn)
        for loop in self.kernel.loops:
            loop.open(turn)
        watch_joins(turn)
        for node in sources:
            turn.lanes[node].open_edges = 1  # a source's stream stands for its in-edge
        turn.open_lanes = len(turn.lanes)
        return turn

    def begin(self, turn: Turn, sources: tuple[str, ...]) -> None:
        """Let the sources stream into a turn, or fail if it cannot begin."""
        for node in sources:
            lane = turn.lanes[node]
            if turn.fault is not None:
                Stream(lane).fail(turn.fault)
            elif turn.is_cancelled and not takes_turns(lane):
                Stream(lane).end(Terminal.CANCEL)
            elif not lane.is_closed:
                open_stream(lane)

    def _reached(self, sources: tuple[str, ...]) -> frozenset[str]:
        reached = set(sources)
        todo = list(sources)
        while todo:
            ways = self.plan.nodes[todo.pop()].edges_out or {}
            for edge in (edge for edges in ways.values() for edge in edges):
                target = self.plan.edges[edge].target
                if target not in reached:
                    reached.add(target)
                    todo.append(target)
        return frozenset(reached)

    def _pattern(self, guardian: Guardian) -> _Pattern:
        node = guardian.node
        wanted, ways = node.resources or {}, node.edges_out or {}
        ports = [port.name for port in node.operator.outputs]
        if ways.get(DEAD_PORT.name):
            # The port of what was given up on is there where it is connected.
            ports.append(DEAD_PORT.name)
        return _Pattern(
            {name: self.resources[id_] for name, id_ in wanted.items()},
            frozenset(port.name for port in node.operator.outputs if ways.get(port.name)),
            tuple(
                (
                    port,
                    tuple(
                        (self.edges[id_], self.plan.edges[id_].target) for id_ in ways.get(port, ())
                    ),
                )
                for port in ports
            ),
            # A node in the middle may ask a model too; its marks count like a source's.
            guardian.is_source or "provider" in node.operator.requires,
            partial(self.outputs.add, guardian.id),
            guardian.note,
        )

    def _lane(self, guardian: Guardian, turn: Turn, scope: EngineScope | None) -> Lane:
        node = guardian.node
        pattern = self._patterns.get(guardian.id)
        if pattern is None:
            pattern = self._patterns[guardian.id] = self._pattern(guardian)
        blank: Context[Any] = Context(
            None, turn.conversation, turn.number, guardian.id, 0, created_at=turn.opened_at
        )
        if scope is None:
            scope = EngineScope(
                guardian.id,
                self.kernel.clock,
                pattern.resources,
                pattern.outputs,
                blank,
                self.seed,
                run=self.run,
            )
        else:
            scope.enter_turn(blank)
        scope.state = _state_of(node, turn)
        scope.deadline = turn.deadline
        scope.input = self.input_of(turn.conversation)
        scope.number = number_of(turn.conversation)
        scope.port = guardian.ports[0] if guardian.ports else ""
        lane = Lane(guardian, turn, scope)
        mark: Callable[[str, float], None] = _mark_nothing
        if pattern.asks:
            marks = turn.marks.setdefault(guardian.id, {})
            mark = partial(_mark_first, marks, guardian.wait if guardian.is_source else None)
        scope.bind(
            emit=lane.collect,
            show=partial(pattern.show, turn.conversation),
            keep=lane.keep,
            mark=mark,
            notice=pattern.notice,
        )
        if self.kernel.speculation is not None:
            self.kernel.speculation.open(lane)
        lane.awaits_first = guardian.is_sink and not guardian.is_source
        lane.quick = not lane.awaits_first and self.kernel.log is None
        return lane

    def _wire(self, lane: Lane, turn: Turn) -> None:
        node = lane.guardian.node
        for port, ways in self._patterns[node.id].ways:
            hops = tuple((edge, turn.lanes[target]) for edge, target in ways)
            route = lane.routes[port] = Route(node.id, port, hops)
            for _edge, target in route.hops:
                target.open_edges += 1
                target.before.append(route)
        if node.operator.outputs:
            lane.route = lane.routes[node.operator.outputs[0].name]
        if node.operator.balances():
            lane.route = _balanced(node, lane)
