"""Strategies: other ways to run the same graph, to hold the bounded one against.

Each rewrites the plan; the engine has no branch for them.
Source: the AiFlow paper, "Evaluation": aggregate, stream callback, no backpressure, AiFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aiflow.compiler.bound import plan_bound
from aiflow.compiler.plan import EdgePlan, NodePlan, Plan
from aiflow.operators.base import Emit, NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.policies import Overflow, Policy, SideEffects, State
from aiflow.types import ANY

_ANY_NUMBER = 1 << 40

STRATEGIES = ("aiflow", "aggregate", "callback", "unbounded")


def apply_strategy(plan: Plan, strategy: str) -> Plan:
    """Return the plan as a strategy runs it.

    - `aiflow`: as it is.
    - `unbounded`: every queue is unlimited and nothing is ever dropped, so no source waits.
    - `aggregate`: as unbounded, and a store behind each source holds the turn to its end.
    - `callback`: a source's next payload is read when the last has been carried to the sinks.

    Raises:
        ValueError: there is no such strategy.
    """
    rewrites: Mapping[str, Callable[[Plan], Plan]] = {
        "aiflow": lambda plan: plan,
        "unbounded": _unbounded,
        "aggregate": lambda plan: _with_stores(_unbounded(plan)),
        "callback": _callback,
    }
    if strategy not in rewrites:
        raise ValueError(f"there is no strategy {strategy}; choose {', '.join(STRATEGIES)}")
    return replace(rewrites[strategy](plan), strategy=strategy)


def store_id(source: str) -> str:
    """Return the id of the store behind a source; no node of a file can have it."""
    return f"{source}:store"


@dataclass(frozen=True, slots=True)
class _Held:
    """One event in a store."""

    sequence: int
    port: str
    payload: object
    place: object


@dataclass(slots=True)
class _Turn:
    """What a store holds of one turn, in order of arrival; `first` is the lowest sequence."""

    held: list[_Held]
    first: int | None = None


class Store(Operator[NoParams]):
    """Hold a turn until its end, then let it go in the order in which it left its source.

    Its ports are those of the source it stands behind, `store_for` gives them to it.

    Emits when: its input ends; each event by the port it came in by.
    Backpressures when: downstream does; else it takes all that comes, without a limit.
    Completes when: its input has ended and all it held has left.
    Fails when: never.
    """

    name = "store"
    title = "Store"
    category = "flow"
    summary = "Holds a turn until its end."
    state = State.SERIALIZED

    def new_state(self) -> _Turn:
        """Return an empty turn."""
        return _Turn([])

    def process(self, payload: object, scope: Scope) -> None:
        """Keep one payload."""
        turn: _Turn = scope.state
        turn.held.append(_Held(scope.sequence, scope.port, payload, scope.place()))
        # Ports have lanes of their own, so the first to come need not be the lowest.
        turn.first = scope.sequence if turn.first is None else min(turn.first, scope.sequence)
        scope.keep_from(turn.first)

    def finish(self, scope: Scope) -> Iterator[Emit]:
        """Let go of everything, in the order of the source's sequence."""
        turn: _Turn = scope.state
        turn.held.sort(key=lambda event: event.sequence, reverse=True)
        while turn.held:
            event = turn.held.pop()
            scope.keep_from(event.sequence)
            scope.stand_at(event.place)
            yield Emit(event.port, event.payload)
        scope.keep_from(None)


def store_for(ports: tuple[Port, ...]) -> Store:
    """Return a store whose inputs and outputs are these ports, with unchanged types."""
    inputs = tuple(Port(port.name, ANY, is_optional=True) for port in ports)
    outputs = tuple(Port(port.name, port.type, port.help) for port in ports)
    members: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "__doc__": Store.__doc__}
    store: Store = type("Store", (Store,), members)(NoParams())
    return store


def _unbounded(plan: Plan) -> Plan:
    return replace(
        plan,
        nodes={
            id: replace(
                node,
                queue_capacity=None,
                policy=node.policy.model_copy(update={"overflow": Overflow.BLOCK}),
            )
            for id, node in plan.nodes.items()
        },
        edges={id: _without_credit(_strict(edge)) for id, edge in plan.edges.items()},
        bound=None,
    )


def _callback(plan: Plan) -> Plan:
    one = {"workers": 1, "reorder_capacity": 0, "overflow": Overflow.BLOCK}
    nodes = {}
    returns: dict[str, int] = {}
    for edge in plan.edges.values():
        if edge.feedback is not None:
            more = edge.feedback.credit * edge.feedback.max_returns
            returns[edge.target] = returns.get(edge.target, 0) + more
    # What a transactional node makes of one event arrives as a whole; the plan's queue holds it.
    wholes = {
        edge.target
        for edge in plan.edges.values()
        if plan.nodes[edge.source].policy.state is State.TRANSACTIONAL
    }
    for id, node in plan.nodes.items():
        # Each input needs a place of its own in the queue, and so does what comes back.
        places = max(1, len(node.inputs)) + returns.get(id, 0)
        if node.operator.joins() is not None:
            places *= plan.max_conversations
        if id in wholes and node.queue_capacity is not None:
            places = max(places, node.queue_capacity)
        nodes[id] = replace(
            node,
            policy=node.policy.model_copy(update={**one, "queue_capacity": places}),
            queue_capacity=places,
            max_in_flight=1 if node.is_source else None,
        )
    return replace(
        plan,
        nodes=nodes,
        edges={id: _strict(edge) for id, edge in plan.edges.items()},
        bound=plan_bound(nodes.values(), plan.max_conversations),
    )


def _strict(edge: EdgePlan) -> EdgePlan:
    """Return the edge as one that never drops: where no sender waits, strict holds nobody up."""
    return replace(edge, is_detached=False, overflow=None)


def _without_credit(edge: EdgePlan) -> EdgePlan:
    """Return the edge so that nothing has to wait before a loop; an event's hops stay counted."""
    if edge.feedback is None:
        return edge
    return replace(edge, feedback=replace(edge.feedback, credit=_ANY_NUMBER))


def _with_stores(plan: Plan) -> Plan:
    """Put a store behind each source; the source's edges keep their ids and begin there."""
    nodes: dict[str, NodePlan] = {}
    edges = dict(plan.edges)
    for id, node in plan.nodes.items():
        leaving = {port: ids for port, ids in (node.edges_out or {}).items() if ids}
        if not (node.is_source and leaving):
            nodes[id] = node
            continue
        ports = tuple(port for port in node.operator.outputs if port.name in leaving)
        store = store_id(id)
        into = {
            port.name: EdgePlan(
                id=f"{id}.{port.name}>{store}.{port.name}",
                source=id,
                source_port=port.name,
                target=store,
                target_port=port.name,
                type=plan.edges[leaving[port.name][0]].type,
            )
            for port in ports
        }
        for edge in (plan.edges[each] for ids in leaving.values() for each in ids):
            edges[edge.id] = replace(edge, source=store)
        edges |= {edge.id: edge for edge in into.values()}
        nodes[id] = replace(node, edges_out={name: (e.id,) for name, e in into.items()})
        nodes[store] = NodePlan(
            id=store,
            operator=store_for(ports),
            policy=Policy(state=State.SERIALIZED),
            side_effects=SideEffects.NONE,
            queue_capacity=None,
            inputs=tuple(port.name for port in ports),
            edges_out=leaving,
        )
    return replace(plan, nodes=_sources_first(nodes), edges=edges)


def _sources_first(nodes: dict[str, NodePlan]) -> dict[str, NodePlan]:
    return dict(sorted(nodes.items(), key=lambda item: not item[1].is_source))
