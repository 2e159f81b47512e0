"""Opening a turn: its lanes at every node that its sources reach, wired to one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
        reached = self._reached(sources)
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

    def _reached(self, sources: tuple[str, ...]) -> set[str]:
        reached = set(sources)
        todo = list(sources)
        while todo:
            ways = self.plan.nodes[todo.pop()].edges_out or {}
            for edge in (edge for edges in ways.values() for edge in edges):
                target = self.plan.edges[edge].target
                if target not in reached:
                    reached.add(target)
                    todo.append(target)
        return reached

    def _lane(self, guardian: Guardian, turn: Turn, scope: EngineScope | None) -> Lane:
        node = guardian.node
        wanted, ways = node.resources or {}, node.edges_out or {}
        blank: Context[Any] = Context(
            None, turn.conversation, turn.number, guardian.id, 0, created_at=turn.opened_at
        )
        if scope is None:
            scope = EngineScope(
                guardian.id,
                self.kernel.clock,
                {name: self.resources[id_] for name, id_ in wanted.items()},
                frozenset(port.name for port in node.operator.outputs if ways.get(port.name)),
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
        # A node in the middle may ask a model too; its marks count like a source's.
        asks = guardian.is_source or "provider" in node.operator.requires
        marks = turn.marks.setdefault(guardian.id, {}) if asks else {}
        scope.bind(
            emit=lane.collect,
            show=partial(self.outputs.add, guardian.id, turn.conversation),
            keep=lane.keep,
            mark=partial(_mark_first, marks, guardian.wait if guardian.is_source else None),
            notice=guardian.note,
        )
        if self.kernel.speculation is not None:
            self.kernel.speculation.open(lane)
        lane.awaits_first = guardian.is_sink and not guardian.is_source
        lane.quick = not lane.awaits_first and self.kernel.log is None
        return lane

    def _wire(self, lane: Lane, turn: Turn) -> None:
        node = lane.guardian.node
        ways = node.edges_out or {}
        # The port of what was given up on is there where it is connected.
        dead = (DEAD_PORT,) if ways.get(DEAD_PORT.name) else ()
        for port in (*node.operator.outputs, *dead):
            hops = []
            for edge in ways.get(port.name, ()):
                target = turn.lanes[self.plan.edges[edge].target]
                hops.append((self.edges[edge], target))
            route = lane.routes[port.name] = Route(node.id, port.name, tuple(hops))
            for _edge, target in route.hops:
                target.open_edges += 1
                target.before.append(route)
        if node.operator.outputs:
            lane.route = lane.routes[node.operator.outputs[0].name]
        if node.operator.balances():
            lane.route = _balanced(node, lane)
