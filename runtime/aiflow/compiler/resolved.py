"""A graph joined with the catalog: what each name in it means, as far as it means anything.

Made once per compilation, read by every check, never raises for a bad graph. A disabled
node and its edges are left out here, as if they were not there. Linear in nodes and edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiflow.compiler.order import cycles, topological
from aiflow.compiler.values import Flaw, made, validated
from aiflow.graph.model import Edge, Graph, Node, PortRef, Resource
from aiflow.operators.base import Operator, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.policies import Policy, SideEffects
from aiflow.resources import Resource as ResourceType
from aiflow.types import ANY, DEAD_LETTER, PortType, least_common

#: Every node has it, for events that were given up on.
DEAD_PORT = Port("dead", DEAD_LETTER, "events that were given up on")


@dataclass(slots=True)
class ResolvedNode:
    """A node and what is known of it.

    Attributes:
        type: the operator's class; None where the catalog has none of that name.
        operator: made from the params; None where they are not valid.
        policy: the given policy, with the operator's own state where none is given; None
            where it is not valid.
        param_flaws, policy_flaws: why not.
        incoming, outgoing: its sound edges, in document order.
    """

    node: Node
    type: type[Operator[Any]] | None
    operator: Operator[Any] | None = None
    policy: Policy | None = None
    param_flaws: tuple[Flaw, ...] = ()
    policy_flaws: tuple[Flaw, ...] = ()
    incoming: list[Edge] = field(default_factory=list)
    outgoing: list[Edge] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node.id

    @property
    def is_source(self) -> bool:
        """Whether the operator is known and opens conversations."""
        return self.type is not None and not self.type.inputs

    @property
    def is_sink(self) -> bool:
        """Whether the operator is known and has no outputs."""
        return self.type is not None and not self.type.outputs

    @property
    def is_paced_by_resource(self) -> bool:
        """Whether it is handed what takes the place of the time in its params."""
        return self.type is not None and bool(self.type.accepts.keys() & self.node.resources.keys())

    @property
    def side_effects(self) -> SideEffects:
        """What holds for the node: the policy's word, else the operator's."""
        given = self.policy.side_effects if self.policy else None
        return given or (self.type.side_effects if self.type else SideEffects.NONE)


@dataclass(slots=True)
class ResolvedResource:
    """A resource of the graph and what is known of it.

    Attributes:
        type: its kind's class; None where the catalog has none.
        resource: made from the params, not started; None where they are not valid.
        flaws: why not.
    """

    entry: Resource
    type: type[ResourceType[Any]] | None
    resource: ResourceType[Any] | None = None
    flaws: tuple[Flaw, ...] = ()


@dataclass(slots=True)
class Resolved:
    """All that checks read.

    Attributes:
        clock: `real`, `virtual`, or None where the graph is only looked at.
        folders: where relative paths are looked up.
        nodes: the nodes that take part, in document order.
        edges: the sound edges among them: both ports are there.
        types: edge id -> type that it carries, for every sound edge.
        order: ids of all nodes in the order in which events pass them, sources first and
            feedback edges aside; those on a cycle or behind one come last.
        loops: the nodes of each cycle that is closed without a feedback edge, in the order in
            which events would pass them.
    """

    graph: Graph
    catalog: Catalog
    clock: str | None
    folders: tuple[Path, ...]
    nodes: dict[str, ResolvedNode]
    edges: dict[str, Edge]
    resources: dict[str, ResolvedResource]
    types: dict[str, PortType] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    loops: list[list[str]] = field(default_factory=list)


def resolve(
    graph: Graph, catalog: Catalog, folders: tuple[Path, ...] = (), clock: str | None = None
) -> Resolved:
    """Join a graph with the catalog."""
    nodes = {
        node.id: _resolve_node(node, catalog, folders)
        for node in graph.nodes.values()
        if not node.is_disabled
    }
    resources = {
        entry.id: _resolve_resource(entry, catalog, folders) for entry in graph.resources.values()
    }
    resolved = Resolved(graph, catalog, clock, folders, nodes, {}, resources)
    resolved.loops = cycles(_join(resolved))
    return resolved


def resolve_types(graph: Graph, catalog: Catalog) -> Resolved:
    """Join a graph with the catalog as far as a picture needs it: ports, edges and types.

    Params, policies, resources and loops are not looked at, and they are what takes the time.
    """
    nodes = {
        node.id: ResolvedNode(node, catalog.get(node.operator))
        for node in graph.nodes.values()
        if not node.is_disabled
    }
    resolved = Resolved(graph, catalog, None, (), nodes, {}, {})
    _join(resolved)
    return resolved


def _join(resolved: Resolved) -> dict[str, tuple[str, ...]]:
    """Fill in sound edges, order and types; return node -> nodes behind it."""
    for id, edge in resolved.graph.edges.items():
        if _is_sound(edge, resolved):
            resolved.edges[id] = edge
            resolved.nodes[edge.source.node].outgoing.append(edge)
            resolved.nodes[edge.target.node].incoming.append(edge)
    successors = {
        id: tuple(edge.target.node for edge in node.outgoing if edge.feedback is None)
        for id, node in resolved.nodes.items()
    }
    first = [id for id, node in resolved.nodes.items() if node.is_source]
    resolved.order = topological(successors, first)
    for id in resolved.order:
        _infer_types(resolved.nodes[id], resolved.types)
    return successors


def in_port(node: ResolvedNode, name: str) -> Port | None:
    """Return a node's in-port by name; any name will do where the operator is unknown."""
    if node.type is None:
        return Port(name, ANY) if name else None
    return next((port for port in node.type.inputs if port.name == name), None)


def out_port(node: ResolvedNode, name: str) -> Port | None:
    """Return a node's out-port by name; any name will do where the operator is unknown."""
    if node.type is None:
        return Port(name, ANY) if name else None
    return next((port for port in (*node.type.outputs, DEAD_PORT) if port.name == name), None)


def output_type(node: ResolvedNode, port: Port, types: dict[str, PortType]) -> PortType:
    """Return what really leaves by an out-port, from the types that come in."""
    arriving = [
        types[edge.id]
        for edge in node.incoming
        if port.like and edge.target.port == port.like and edge.id in types
    ]
    if not arriving:
        return port.type
    narrower = least_common(arriving)
    return narrower if port.type.accepts(narrower) else port.type


def conversations_at_once(resolved: Resolved) -> int:
    """Return how many conversations may be active at once, as the graph and sources declare."""
    most = 1
    for node in resolved.nodes.values():
        if isinstance(node.operator, Source):
            count, _ = made(node.operator.conversations)
            most = max(most, count or 1)
    return min(most, max(1, resolved.graph.max_conversations))


def is_type_known(node: ResolvedNode, name: str) -> bool:
    """Say whether it is clear what leaves by an out-port.

    It is not where the operator is unknown, or where what comes in leaves again and nothing
    is connected there yet.
    """
    port = out_port(node, name) if node.type else None
    if port is None:
        return False
    return not port.like or any(edge.target.port == port.like for edge in node.incoming)


def _infer_types(node: ResolvedNode, types: dict[str, PortType]) -> None:
    leaving: dict[str, PortType] = {}
    for edge in node.outgoing:
        name = edge.source.port
        if name not in leaving:
            port = out_port(node, name)
            leaving[name] = ANY if port is None else output_type(node, port, types)
        types[edge.id] = leaving[name]


def _resolve_node(node: Node, catalog: Catalog, folders: tuple[Path, ...]) -> ResolvedNode:
    resolved = ResolvedNode(node, catalog.get(node.operator))
    given, resolved.policy_flaws = validated(Policy, node.policy)
    if resolved.type is None:
        resolved.policy = given
        return resolved
    if given is not None:
        own = {} if "state" in node.policy else {"state": resolved.type.state}
        resolved.policy = given.model_copy(update=own)
    params, resolved.param_flaws = validated(resolved.type.Params, node.params)
    if params is not None:
        resolved.operator, resolved.param_flaws = made(resolved.type, params, folders)
    return resolved


def _resolve_resource(
    entry: Resource, catalog: Catalog, folders: tuple[Path, ...]
) -> ResolvedResource:
    resolved = ResolvedResource(entry, catalog.resources.get(entry.kind))
    if resolved.type is None:
        return resolved
    params, resolved.flaws = validated(resolved.type.Params, entry.params)
    if params is not None:
        resolved.resource, resolved.flaws = made(resolved.type, entry.id, params, folders)
    return resolved


def _is_sound(edge: Edge, resolved: Resolved) -> bool:
    source = resolved.nodes.get(edge.source.node)
    target = resolved.nodes.get(edge.target.node)
    return (
        edge.number == 1
        and source is not None
        and target is not None
        and not is_broken(edge)
        and out_port(source, edge.source.port) is not None
        and in_port(target, edge.target.port) is not None
    )


def is_broken(edge: Edge) -> bool:
    """Say whether an end of the edge is not of the form `node.port`."""
    return not all(_is_port(end) for end in (edge.source, edge.target))


def _is_port(end: PortRef) -> bool:
    return bool(end.node and end.port)
