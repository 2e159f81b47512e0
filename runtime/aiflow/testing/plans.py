"""Plans by hand: a graph of functions, without graph file, catalog or compiler.

`PlanBuilder().source("s", range(9)).node("n", str).sink("k", seen.append)` and edges between
them give what the engine runs. Payloads may be anything; ports are `in` and `out`, or as named.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from aiflow.compiler.bound import plan_bound
from aiflow.compiler.order import topological
from aiflow.compiler.plan import EdgePlan, NodePlan, Plan, ResourcePlan
from aiflow.compiler.resolved import DEAD_PORT
from aiflow.graph.model import Feedback
from aiflow.operators.base import Joining, NoParams, Operator, Port, Source
from aiflow.operators.scope import Scope
from aiflow.policies import Overflow, Policy, SideEffects
from aiflow.types import ANY


class PlanBuilder:
    """Collects nodes and edges and makes a plan of them.

    Args:
        max_conversations: C.
    """

    def __init__(self, max_conversations: int = 8) -> None:
        self._max_conversations = max_conversations
        self._nodes: dict[str, tuple[Operator[Any], Policy, dict[str, Any]]] = {}
        self._edges: dict[str, EdgePlan] = {}
        self._resources: dict[str, ResourcePlan] = {}

    def source(
        self,
        id: str,
        stream: Iterable[Any] | Callable[[Scope], Iterator[Any] | AsyncIterator[Any]],
        *,
        conversations: int = 1,
        outputs: tuple[str, ...] = ("out",),
        max_in_flight: int | None = None,
        takes_turns: bool = False,
        **policy: Any,
    ) -> PlanBuilder:
        """Add a source: its payloads for each conversation, or a function of the scope."""
        operator = make_source(
            id, stream, conversations=conversations, outputs=outputs, takes_turns=takes_turns
        )
        self._nodes[id] = (operator, Policy(**policy), {"max_in_flight": max_in_flight})
        return self

    def node(  # noqa: PLR0913 - what an operator can declare, by keyword
        self,
        id: str,
        process: Callable[..., Any],
        *,
        finish: Callable[[Scope], Any] | None = None,
        state: Callable[[], Any] | None = None,
        state_mode: str | None = None,
        inputs: tuple[str, ...] = ("in",),
        outputs: tuple[str, ...] = ("out",),
        max_outputs: int = 1,
        kept: int = 0,
        is_blocking: bool = False,
        joining: Joining | None = None,
        balances: bool = False,
        is_measured: bool = False,
        unlimited: bool = False,
        **policy: Any,
    ) -> PlanBuilder:
        """Add a node; `process` takes a payload, or a payload and the scope.

        `state` makes a new state, `state_mode` is the policy's word for what it allows. One that
        `balances` sends what names no port by whichever of its ports has room.
        """
        if state_mode is not None:
            policy["state"] = state_mode
        operator = make_operator(
            id,
            process,
            finish=finish,
            state=state,
            ports=(inputs, outputs),
            max_outputs=max_outputs,
            kept=kept,
            is_blocking=is_blocking,
            joining=joining,
            balances=balances,
        )
        more = {"is_measured": is_measured, "unlimited": unlimited}
        self._nodes[id] = (operator, Policy(**policy), more)
        return self

    def sink(self, id: str, process: Callable[..., Any], **more: Any) -> PlanBuilder:
        """Add a node without out-ports; what `process` returns is not looked at."""
        return self.node(id, _without_result(process), outputs=(), **more)

    def operator(self, id: str, operator: Operator[Any], **policy: Any) -> PlanBuilder:
        """Add a node with a ready operator."""
        self._nodes[id] = (operator, Policy(**policy), {})
        return self

    def edge(
        self,
        source: str,
        target: str,
        overflow: str | None = None,
        feedback: Feedback | None = None,
    ) -> PlanBuilder:
        """Connect `node.port` to `node.port`; `.out` and `.in` may be left out.

        An overflow makes the edge detached and says what it does at a full queue; feedback
        makes it lead back to where a loop begins.
        """
        source_node, _, source_port = source.partition(".")
        target_node, _, target_port = target.partition(".")
        source_port, target_port = source_port or "out", target_port or "in"
        id_ = f"{source_node}.{source_port}>{target_node}.{target_port}"
        self._edges[id_] = EdgePlan(
            id_,
            source_node,
            source_port,
            target_node,
            target_port,
            ANY,
            is_detached=overflow is not None,
            overflow=None if overflow is None else Overflow(overflow),
            feedback=feedback,
        )
        return self

    def chain(self, *nodes: str) -> PlanBuilder:
        """Connect nodes in a row."""
        for source, target in itertools.pairwise(nodes):
            self.edge(source, target)
        return self

    def resource(self, id: str, make: Callable[[], Any]) -> PlanBuilder:
        """Add a resource of the run."""
        self._resources[id] = ResourcePlan(id, "fake", make)
        return self

    def build(self, *, strategy: str = "aiflow") -> Plan:
        """Return the plan, with its bound."""
        nodes = {id_: self._node(id_, *self._nodes[id_]) for id_ in self._order()}
        plan = Plan(
            "by hand",
            nodes,
            dict(self._edges),
            dict(self._resources),
            self._max_conversations,
            None,
            strategy,
        )
        return Plan(
            plan.name,
            plan.nodes,
            plan.edges,
            plan.resources,
            plan.max_conversations,
            plan_bound(plan.nodes.values(), plan.max_conversations),
            plan.strategy,
        )

    def _order(self) -> list[str]:
        """Return the nodes as they were added, where each comes after those before it."""
        ahead = [edge for edge in self._edges.values() if edge.feedback is None]
        place = {node: number for number, node in enumerate(self._nodes)}
        if all(place[edge.source] < place[edge.target] for edge in ahead):
            return list(self._nodes)
        behind: dict[str, list[str]] = {node: [] for node in self._nodes}
        for edge in ahead:
            behind[edge.source].append(edge.target)
        return topological(behind)

    def _node(
        self, id_: str, operator: Operator[Any], policy: Policy, more: Mapping[str, Any]
    ) -> NodePlan:
        into = {
            edge.target_port
            for edge in self._edges.values()
            if edge.target == id_ and edge.feedback is None
        }
        return NodePlan(
            id_,
            operator,
            policy,
            policy.side_effects or SideEffects.NONE,
            None if more.get("unlimited") else policy.queue_capacity,
            inputs=tuple(port.name for port in operator.inputs if port.name in into),
            edges_out={
                port.name: tuple(
                    edge.id
                    for edge in self._edges.values()
                    if edge.source == id_ and edge.source_port == port.name
                )
                for port in (*operator.outputs, DEAD_PORT)
            },
            resources={name: name for name in operator.requires},
            is_measured=more.get("is_measured", False),
            max_in_flight=more.get("max_in_flight"),
        )


def make_source(
    name: str,
    stream: Iterable[Any] | Callable[[Scope], Iterator[Any] | AsyncIterator[Any]],
    *,
    conversations: int = 1,
    outputs: tuple[str, ...] = ("out",),
    takes_turns: bool = False,
) -> Source[NoParams]:
    """Return a source operator made of a function or of payloads."""

    def streams(_: object, scope: Scope) -> Iterator[Any] | AsyncIterator[Any]:
        return stream(scope) if callable(stream) else iter(stream)

    made = type(
        f"Source_{name}",
        (Source,),
        {
            "name": name,
            "outputs": tuple(Port(port, ANY) for port in outputs),
            "stream": streams,
            "conversations": lambda _: conversations,
            "takes_turns": takes_turns,
        },
    )
    source: Source[NoParams] = made(NoParams())
    return source


def make_operator(  # noqa: PLR0913 - what an operator can declare, by keyword
    name: str,
    process: Callable[..., Any],
    *,
    finish: Callable[[Scope], Any] | None = None,
    state: Callable[[], Any] | None = None,
    ports: tuple[tuple[str, ...], tuple[str, ...]] = (("in",), ("out",)),
    max_outputs: int = 1,
    kept: int = 0,
    is_blocking: bool = False,
    joining: Joining | None = None,
    balances: bool = False,
) -> Operator[NoParams]:
    """Return an operator made of functions."""
    body: dict[str, Any] = {
        "name": name,
        "inputs": tuple(Port(port, ANY) for port in ports[0]),
        "outputs": tuple(Port(port, ANY) for port in ports[1]),
        "max_outputs": max_outputs,
        "is_blocking": is_blocking,
        "process": staticmethod(_with_scope(process)),
        "kept_events": lambda _: kept,
        "joins": lambda _: joining,
        "balances": lambda _: balances,
    }
    if finish is not None:
        body["finish"] = staticmethod(finish)
    if state is not None:
        body["new_state"] = lambda _: state()
    made: Operator[NoParams] = type(f"Operator_{name}", (Operator,), body)(NoParams())
    return made


def _with_scope(process: Callable[..., Any]) -> Callable[..., Any]:
    """Return `process` as a function of payload and scope, of the same kind."""
    try:
        if len(inspect.signature(process).parameters) != 1:
            return process
    except ValueError:  # a built-in that does not say what it takes takes one
        pass
    if inspect.isasyncgenfunction(process):

        async def asks(payload: Any, scope: Scope) -> AsyncIterator[Any]:  # noqa: ANN401 - payloads are any type
            async with aclosing(process(payload)) as outputs:
                async for output in outputs:
                    yield output

        return asks
    if inspect.iscoroutinefunction(process):

        async def waits(payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
            return await process(payload)

        return waits
    return lambda payload, scope: process(payload)


def _without_result(process: Callable[..., Any]) -> Callable[..., Any]:
    called = _with_scope(process)
    if inspect.iscoroutinefunction(called):

        async def waits(payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
            await called(payload, scope)

        return waits

    def takes(payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        called(payload, scope)

    return takes
