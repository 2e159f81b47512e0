"""What a flow is made of: nodes, ports and resources that know the graph they are in.

Everything here ends in a pure edit of a frozen `Graph`; a flow only holds the latest one.
The operators that come with AiFlow have methods of their own, in `builtin`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from inspect import isclass
from typing import Any, ClassVar, Literal, TypeVar

from aiflow.dsl.policy import OverflowName, P
from aiflow.graph import codec, edits
from aiflow.graph.model import (
    DEFAULT_MAX_CONVERSATIONS,
    Edge,
    Feedback,
    Graph,
    Json,
    Node,
    PortRef,
    Resource,
    index_edges,
)
from aiflow.graph.values import UNSET
from aiflow.operators.base import Operator, Params

PolicyLike = P | Mapping[str, Json]
Self = TypeVar("Self", bound="NodeHandle")


class ResourceHandle:
    """A resource of a flow, to be handed to nodes."""

    def __init__(self, id: str) -> None:
        self.id = id


class In:
    """An input of a node."""

    def __init__(self, node: NodeHandle, port: str) -> None:
        self.node = node
        self.port = port


class Out:
    """An output of a node: `a.out >> b`, or `a.out.to(b, fanout="detached")`."""

    def __init__(self, node: NodeHandle, port: str) -> None:
        self.node = node
        self.port = port

    def to(
        self,
        target: NodeHandle | In,
        *,
        fanout: Literal["strict", "detached"] = "strict",
        overflow: OverflowName | None = None,
        feedback: Feedback | None = None,
    ) -> NodeHandle:
        """Connect to a node's first input, or to one by name; return the node.

        Args:
            target: where the events go.
            fanout: `detached` never makes this node wait.
            overflow: what a detached edge does when the queue behind it is full.
            feedback: marks an edge that closes a cycle.

        Raises:
            EditError: the two are connected already.
        """
        end = target if isinstance(target, In) else target.into()
        ports = PortRef(self.node.id, self.port), PortRef(end.node.id, end.port)
        self.node.flow.connect(*ports, fanout=fanout, overflow=overflow, feedback=feedback)
        return end.node

    def __rshift__(self, target: NodeHandle | In) -> NodeHandle:
        return self.to(target)


class NodeHandle:
    """A node of a flow.

    Attributes:
        flow: the flow it is in.
        id: its id in the graph.
    """

    #: Names of the ports that are meant where none is named.
    first_in: ClassVar[str] = "in"
    first_out: ClassVar[str] = "out"

    def __init__(self, flow: FlowCore, id: str, *, ports: tuple[str, str] | None = None) -> None:
        self.flow = flow
        self.id = id
        self._first_in, self._first_out = ports or (self.first_in, self.first_out)

    def port(self, name: str = "") -> Out:
        """Return an output by name; the first without one."""
        return Out(self, name or self._first_out)

    def into(self, name: str = "") -> In:
        """Return an input by name; the first without one."""
        return In(self, name or self._first_in)

    def to(
        self,
        target: NodeHandle | In,
        *,
        fanout: Literal["strict", "detached"] = "strict",
        overflow: OverflowName | None = None,
    ) -> NodeHandle:
        """Connect the first output; see `Out.to`."""
        return self.port().to(target, fanout=fanout, overflow=overflow)

    def __rshift__(self, target: NodeHandle | In) -> NodeHandle:
        return self.port().to(target)

    def at(self: Self, x: float, y: float) -> Self:
        """Give it a place on the canvas: its top left corner."""
        self.flow.edit(edits.move(self.flow.graph, {self.id: (x, y)}))
        return self

    def disable(self: Self) -> Self:
        """Leave it out of runs."""
        self.flow.edit(edits.set_disabled(self.flow.graph, self.id, True))
        return self

    def suppress(self: Self, code: str, reason: str = "") -> Self:
        """Accept a warning or hint of this code here, with the reason."""
        self.flow.edit(edits.suppress(self.flow.graph, self.id, code, reason))
        return self


class FlowCore:
    """A graph that is being written; see `aiflow.Flow`."""

    def __init__(
        self,
        name: str = "",
        *,
        description: str = "",
        max_conversations: int = DEFAULT_MAX_CONVERSATIONS,
    ) -> None:
        self._graph = Graph(name=name, description=description, max_conversations=max_conversations)
        self._operators: dict[str, type[Operator[Any]]] = {}

    @property
    def graph(self) -> Graph:
        """The graph so far; a frozen value that later calls do not change."""
        return self._graph

    @property
    def operators(self) -> tuple[type[Operator[Any]], ...]:
        """Operator classes that were handed to `add` and need not be installed."""
        return tuple(self._operators.values())

    def add(
        self,
        operator: str | type[Operator[Any]],
        id: str | None = None,
        params: Mapping[str, Json] | Params | None = None,
        *,
        policy: PolicyLike | None = None,
        resources: Mapping[str, ResourceHandle | str] | None = None,
    ) -> NodeHandle:
        """Add a node of any operator, by its class or by its name in the catalog.

        Args:
            operator: a class need not be installed: the flow brings it along when it runs.
            id: its id; without one it is made from the operator's name.
            params: those given, or a `Params` of the operator.
            policy: `P(...)`, or members by name.
            resources: name that the operator asks for -> resource.

        Raises:
            EditError: the id is taken or malformed.
        """
        if isinstance(params, Params):
            params = params.model_dump(mode="json", exclude_unset=True)
        ports = None
        if isclass(operator):
            self._operators[operator.name] = operator
            ins, outs = (
                [port.name for port in side] for side in (operator.inputs, operator.outputs)
            )
            ports = (ins or ["in"])[0], (outs or ["out"])[0]
        name = operator if isinstance(operator, str) else operator.name
        return NodeHandle(self, self._node(name, id, policy, resources, params), ports=ports)

    def resource(
        self, kind: str, id: str | None = None, params: Mapping[str, Json] | None = None
    ) -> ResourceHandle:
        """Add a resource of any kind.

        Raises:
            EditError: the id is taken or malformed.
        """
        given = {key: value for key, value in (params or {}).items() if value is not UNSET}
        after = edits.add_resource(self._graph, kind, id=id, params=given)
        self._graph = after
        return ResourceHandle(list(after.resources)[-1])

    def connect(
        self,
        source: PortRef | str,
        target: PortRef | str,
        *,
        fanout: str = "strict",
        overflow: str | None = None,
        feedback: Feedback | None = None,
    ) -> None:
        """Connect `node.port` to `node.port`.

        Raises:
            EditError: a node is not there, or the ports are connected already.
        """
        after = edits.connect(self._graph, source, target, fanout=fanout, overflow=overflow)
        if feedback is not None:
            after = edits.set_feedback(after, list(after.edges)[-1], feedback)
        self._graph = after

    def __getitem__(self, id: str) -> NodeHandle:
        """Return the node of that id."""
        return NodeHandle(self, self._graph.nodes[id].id)

    def measure(self, *sinks: NodeHandle | str) -> None:
        """Take the time to the first processed token at these sinks; at any by default."""
        ids = tuple(sink if isinstance(sink, str) else sink.id for sink in sinks)
        self._graph = replace(self._graph, measure=ids)

    def layout(self, places: Mapping[str, tuple[float, float]]) -> None:
        """Say where nodes stand on the canvas: id -> (x, y) of the top left corner."""
        self._graph = replace(self._graph, layout={**self._graph.layout, **places})

    def put(self, entry: Node | Edge | Resource) -> None:
        """Add an entry as it is, whatever is wrong with it, as a file may hold it."""
        graph = self._graph
        if isinstance(entry, Node):
            self._graph = replace(graph, nodes={**graph.nodes, entry.id: entry})
        elif isinstance(entry, Edge):
            self._graph = replace(graph, edges=index_edges([*graph.edges.values(), entry]))
        else:
            self._graph = replace(graph, resources={**graph.resources, entry.id: entry})

    def keep(self, **fields: Any) -> None:
        """Set fields of the graph that no other method has, such as `notes` and `frames`."""
        self._graph = replace(self._graph, **fields)

    def edit(self, graph: Graph) -> None:
        """Go on with this graph, as any of `aiflow.graph.edits` returns it."""
        self._graph = graph

    def to_json(self, *, export: bool = False) -> str:
        """Return the text of the graph's file.

        Raises:
            GraphFileError: something in it has no form in JSON.
        """
        return codec.dumps(self._graph, export=export)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph's file.

        Raises:
            GraphFileError: it cannot be written.
        """
        codec.save(path, self._graph)

    def _node(
        self,
        operator: str,
        id: str | None,
        policy: PolicyLike | None,
        resources: Mapping[str, Any] | None,
        params: Mapping[str, Any] | None,
    ) -> str:
        """Add a node, leave out what is UNSET, and return its id."""
        members = policy.members if isinstance(policy, P) else policy
        given = {key: value for key, value in (params or {}).items() if value is not UNSET}
        after = edits.add_node(self._graph, operator, id=id, params=given, policy=members)
        name = list(after.nodes)[-1]
        handed = {
            key: resource.id if isinstance(resource, ResourceHandle) else resource
            for key, resource in (resources or {}).items()
            if resource is not UNSET
        }
        if handed:
            node = replace(after.nodes[name], resources=handed)
            after = replace(after, nodes={**after.nodes, name: node})
        self._graph = after
        return name
