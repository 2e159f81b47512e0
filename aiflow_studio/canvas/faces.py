"""Faces: what a node and an edge look like before anything runs, as plain values.

Made from graph and catalog, compared by value, so that a canvas redraws only what changed.
No Qt and no colours here; live numbers are `figures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from aiflow.compiler.resolved import DEAD_PORT
from aiflow.graph.model import Edge, Graph, Node
from aiflow.operators.base import Operator, Port
from aiflow.policies import Policy
from aiflow.types import ANY, PortType
from aiflow_studio.canvas.ports import PortTypes

_SHORT = 20
_DEFAULTS = {name: field.default for name, field in Policy.model_fields.items()}


@dataclass(frozen=True, slots=True)
class PortFace:
    """One port of a card.

    Attributes:
        type: its port type; `any` where the operator is not known.
        flows: the type of what comes in, where it is one of several that the port takes.
        is_missing: an edge names it, the operator has no such port.
    """

    name: str
    type: PortType = ANY
    help: str = ""
    flows: PortType | None = None
    is_missing: bool = False

    @property
    def shown(self) -> PortType:
        """The type whose mark it has: a port that takes chunks and tokens looks as it is used."""
        return self.flows or self.type


@dataclass(frozen=True, slots=True)
class NodeFace:
    """All that a card shows of its node.

    Attributes:
        title: the operator's title. `lines`: the policy (of a source: what it asks), quiet,
            as parts that are joined by a dot.
        capacity: q; None for a source, which has no queue.
        faults: sentences about edges that cannot be drawn from here.
        is_unknown: the catalog has no such operator; ports are guessed from the edges.
    """

    id: str
    operator: str
    title: str
    summary: str
    lines: tuple[str, ...]
    capacity: int | None
    inputs: tuple[PortFace, ...]
    outputs: tuple[PortFace, ...]
    faults: tuple[str, ...] = ()
    is_unknown: bool = False
    is_disabled: bool = False


@dataclass(frozen=True, slots=True)
class EdgeFace:
    """All that a wire shows of its edge.

    Attributes:
        type_name: the type of what flows.
        is_broken: one of its ports does not exist, or the types do not fit.
    """

    id: str
    source: tuple[str, str]
    target: tuple[str, str]
    type_name: str
    is_detached: bool = False
    overflow: str = ""
    is_broken: bool = False


Touching = Mapping[str, tuple[list[Edge], list[Edge]]]


def edges_by_node(graph: Graph) -> dict[str, tuple[list[Edge], list[Edge]]]:
    """Return node id -> (edges that come in, edges that go out), document order."""
    touching: dict[str, tuple[list[Edge], list[Edge]]] = {node: ([], []) for node in graph.nodes}
    for edge in graph.edges.values():
        if edge.target.node in touching:
            touching[edge.target.node][0].append(edge)
        if edge.source.node in touching:
            touching[edge.source.node][1].append(edge)
    return touching


def node_face(node: Node, types: PortTypes, touching: Touching) -> NodeFace:
    """Return what the card of a node shows."""
    graph = types.graph
    operator = types.operator(node.id)
    edges_in, edges_out = touching[node.id]
    inputs = operator.inputs if operator else ()
    outputs = operator.outputs if operator else ()
    if operator is not None and _has_dead_port(node, edges_out):
        outputs = (*outputs, DEAD_PORT)
    is_source = operator is not None and not operator.inputs
    return NodeFace(
        id=node.id,
        operator=node.operator,
        title=(operator.title or operator.name) if operator else f"{node.operator}?",
        summary=operator.summary if operator else "No installed package has this operator.",
        lines=_source_lines(node, graph) if is_source else _policy_lines(node, edges_in),
        capacity=None if is_source else _capacity(node),
        inputs=_with_flows(
            _ports(inputs, (edge.target.port for edge in edges_in), operator),
            edges_in,
            types,
        ),
        outputs=_ports(outputs, (edge.source.port for edge in edges_out), operator),
        faults=tuple(_faults(node, graph, edges_in, edges_out)),
        is_unknown=operator is None,
        is_disabled=node.is_disabled,
    )


def edge_face(edge_id: str, edge: Edge, types: PortTypes) -> EdgeFace:
    """Return what the wire of an edge shows; both its nodes must be there."""
    is_detached = edge.fanout == "detached"
    return EdgeFace(
        id=edge_id,
        source=(edge.source.node, edge.source.port),
        target=(edge.target.node, edge.target.port),
        type_name=(types.carries(edge) or ANY).name,
        is_detached=is_detached,
        overflow=(edge.overflow or "drop_oldest") if is_detached else "",
        is_broken=not types.fit(edge.source, edge.target),
    )


def source_detail(node: Node, graph: Graph) -> tuple[str, ...]:
    """Return what a source asks: its model or file, and how it reaches it."""
    parts = [str(node.params[key]) for key in ("model", "trace", "path") if node.params.get(key)]
    for resource_id in node.resources.values():
        resource = graph.resources.get(resource_id)
        parts.append(resource_id)
        if resource is not None:
            parts.append(_reach(resource.params))
    return tuple(part for part in parts if part)


def _source_lines(node: Node, graph: Graph) -> tuple[str, ...]:
    return source_detail(node, graph) or _given(node) or ("no queue",)


def _given(node: Node) -> tuple[str, ...]:
    """Return the params that were given and fit into a line, in words."""
    short = (
        f"{name.replace('_', ' ')} {value}"
        for name, value in node.params.items()
        if isinstance(value, int | float) or (isinstance(value, str) and len(value) < _SHORT)
    )
    return tuple(islice(short, 3))


def _policy_lines(node: Node, edges_in: Iterable[Edge]) -> tuple[str, ...]:
    given = {**_DEFAULTS, **node.policy}
    edges = list(edges_in)
    is_detached = bool(edges) and all(edge.fanout == "detached" for edge in edges)
    overflow = str(given["overflow"])
    if is_detached:
        overflow = edges[0].overflow or "drop_oldest"
    parts = (
        f"q {given['queue_capacity']}",
        f"k {given['workers']}",
        f"ρ {given['reorder_capacity']}",
        overflow.replace("_", " "),
    )
    return (*parts, "detached") if is_detached else parts


def _capacity(node: Node) -> int:
    given = node.policy.get("queue_capacity")
    if isinstance(given, int) and given > 0:
        return given
    return int(_DEFAULTS["queue_capacity"])


def _has_dead_port(node: Node, edges_out: Iterable[Edge]) -> bool:
    """Say whether the port that every node has is shown: where it is used, or meant to be."""
    retry = node.policy.get("retry")
    is_wanted = isinstance(retry, Mapping) and retry.get("then") == "dead_letter"
    return is_wanted or any(edge.source.port == DEAD_PORT.name for edge in edges_out)


def _ports(
    declared: Iterable[Port], used: Iterable[str], operator: type[Operator[Any]] | None
) -> tuple[PortFace, ...]:
    faces = {port.name: _port_face(port) for port in declared}
    for name in used:
        if name not in faces:
            faces[name] = PortFace(name, is_missing=operator is not None)
    return tuple(faces.values())


@cache
def _port_face(port: Port) -> PortFace:
    """Return the face of a declared port: one for all nodes that have it."""
    return PortFace(port.name, port.type, port.help)


def _with_flows(
    ports: tuple[PortFace, ...], edges_in: Iterable[Edge], types: PortTypes
) -> tuple[PortFace, ...]:
    """Return in-ports with the type that comes in, where the port takes several."""
    feeding = {edge.target.port: edge for edge in edges_in}
    faces = []
    for port in ports:
        edge = feeding.get(port.name)
        if edge is not None and port.type.takes:
            flows = types.carries(edge)
            if flows is not None and port.type.accepts(flows):
                faces.append(replace(port, flows=flows))
                continue
        faces.append(port)
    return tuple(faces)


def _faults(
    node: Node, graph: Graph, edges_in: Iterable[Edge], edges_out: Iterable[Edge]
) -> Iterable[str]:
    for edge in edges_in:
        if edge.source.node not in graph.nodes:
            yield f"The edge from {edge.source} comes from a node that is not there."
    for edge in edges_out:
        if edge.target.node not in graph.nodes:
            yield f"The edge to {edge.target} goes to a node that is not there."


def _reach(params: Mapping[str, Any]) -> str:
    """Return how a provider is reached: `trace`, or the host of its endpoint."""
    if params.get("trace"):
        return "trace"
    endpoint = params.get("endpoint")
    return urlsplit(endpoint).hostname or "" if isinstance(endpoint, str) else ""
