"""Edits: pure functions from graph to graph, and the only writers.

Each returns a new graph, or the very same object where nothing would change, so that no
empty undo step is made. Entries that an edit does not touch stay the same objects. None
knows the catalog: whether the result makes sense is the compiler's question.

An edit that cannot be done raises `EditError`, one sentence for a person; the graph that
was handed in is never changed.

One file though it is long: all that can ever happen to a graph is to be seen at one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from aiflow.errors import EditError
from aiflow.graph.model import (
    FARTHEST,
    Edge,
    Feedback,
    Graph,
    Json,
    Node,
    PortRef,
    Resource,
    Suppression,
    index_edges,
)
from aiflow.graph.values import UNSET, Unset, free_id, merged, renamed_key, same, without

NODE_ID = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)


def fresh_id(graph: Graph, stem: str, taken: Iterable[str] = ()) -> str:
    """Return a free node id made from a name: `speech`, then `speech-2`, `speech-3`.

    Args:
        graph: where it must be free.
        stem: an operator's name, or any text.
        taken: further ids that must not be used.
    """
    return free_id(stem, {*graph.nodes, *taken})


def add_node(
    graph: Graph,
    operator: str,
    *,
    id: str | None = None,
    at: tuple[float, float] | None = None,
    params: Mapping[str, Json] | None = None,
    policy: Mapping[str, Json] | None = None,
) -> Graph:
    """Add a node, last in the document.

    Args:
        graph: where to add it.
        operator: name of the operator, known or not.
        id: its id; None makes one by `fresh_id(graph, operator)`.
        at: (x, y) of its top left corner on the canvas; None for no place yet.
        params: given params only.
        policy: given policy members only.

    Raises:
        EditError: the id is taken or malformed.
    """
    name = fresh_id(graph, operator) if id is None else id
    _check_new_id(graph, name)
    node = Node(name, operator, dict(params or {}), dict(policy or {}))
    after = replace(graph, nodes={**graph.nodes, name: node})
    return after if at is None else move(after, {name: at})


def remove(graph: Graph, nodes: Iterable[str] = (), edges: Iterable[str] = ()) -> Graph:
    """Remove nodes with all that hangs on them (edges, layout, measure), and edges.

    Raises:
        EditError: one of them is not there.
    """
    gone = {_node(graph, id).id for id in nodes}
    cut = {_edge(graph, id).id for id in edges}
    cut |= {e.id for e in graph.edges.values() if e.source.node in gone or e.target.node in gone}
    after = graph
    if cut:
        after = _with_edges(after, (e for e in after.edges.values() if e.id not in cut))
    if gone:
        after = replace(
            after,
            nodes={id: node for id, node in after.nodes.items() if id not in gone},
            layout=without(after.layout, gone),
            measure=tuple(id for id in after.measure if id not in gone),
            extra=_odd_layout(after, {id: None for id in gone}),
        )
    return after


def rename_node(graph: Graph, old: str, new: str) -> Graph:
    """Rename a node and carry its edges, layout and measure along.

    Raises:
        EditError: there is no node `old`, or `new` is taken or malformed.
    """
    node = _node(graph, old)
    if new == old:
        return graph
    _check_new_id(graph, new)
    return replace(
        _with_edges(graph, (_renamed_ends(edge, old, new) for edge in graph.edges.values())),
        nodes={**renamed_key(graph.nodes, old, new), new: replace(node, id=new)},
        layout=renamed_key(graph.layout, old, new),
        measure=tuple(new if id == old else id for id in graph.measure),
        extra=_odd_layout(graph, {old: new}),
    )


def connect(
    graph: Graph,
    source: PortRef | str,
    target: PortRef | str,
    *,
    fanout: str = "strict",
    overflow: str | None = None,
) -> Graph:
    """Add an edge from an output to an input, last in the document.

    Args:
        graph: where to add it.
        source: the output, as `PortRef` or `node.port`. Whether the node has such a port, and
            whether the types agree, is the compiler's question.
        target: the input.
        fanout: `strict` or `detached`.
        overflow: only for a detached edge; None means `drop_oldest`.

    Raises:
        EditError: a node is not there, or the two ports are connected already.
    """
    overflow = overflow if fanout == "detached" else None
    edge = _checked(graph, Edge(_port(source), _port(target), fanout, overflow))
    return replace(graph, edges={**graph.edges, edge.id: edge})


def disconnect(graph: Graph, edge: str) -> Graph:
    """Remove an edge.

    Raises:
        EditError: it is not there.
    """
    return remove(graph, edges=[edge])


def reconnect(
    graph: Graph,
    edge: str,
    *,
    source: PortRef | str | None = None,
    target: PortRef | str | None = None,
) -> Graph:
    """Lead an edge from or to another port; it keeps its place, fanout and the rest.

    Raises:
        EditError: the edge or a node is not there, or the ports are connected already.
    """
    before = _edge(graph, edge)
    after = replace(
        before,
        source=before.source if source is None else _port(source),
        target=before.target if target is None else _port(target),
        extra=without(before.extra, {"from", "to"}),
        number=1,
    )
    if (after.source, after.target) == (before.source, before.target):
        return graph
    _checked(graph, after)
    return _with_edges(graph, (after if e is before else e for e in graph.edges.values()))


def set_fanout(graph: Graph, edge: str, fanout: str, overflow: str | None = None) -> Graph:
    """Make an edge strict or detached; `overflow` counts for a detached one only.

    Raises:
        EditError: it is not there.
    """
    before = _edge(graph, edge)
    extra = without(before.extra, {"fanout", "overflow"})
    overflow = overflow if fanout == "detached" else None
    return _with_edge(graph, replace(before, fanout=fanout, overflow=overflow, extra=extra))


def set_feedback(graph: Graph, edge: str, feedback: Feedback | None) -> Graph:
    """Make an edge one that may close a cycle, or an ordinary one.

    Raises:
        EditError: it is not there.
    """
    before = _edge(graph, edge)
    extra = without(before.extra, {"feedback"})
    return _with_edge(graph, replace(before, feedback=feedback, extra=extra))


def set_params(graph: Graph, node: str, params: Mapping[str, Json]) -> Graph:
    """Replace all given params of a node.

    Raises:
        EditError: there is no such node.
    """
    before = _node(graph, node)
    extra = without(before.extra, {"params"})
    return _with_node(graph, replace(before, params=dict(params), extra=extra))


def merge_params(graph: Graph, node: str, changes: Mapping[str, Json | Unset]) -> Graph:
    """Set single params of a node, and leave those out whose value is `UNSET`.

    Raises:
        EditError: there is no such node.
    """
    return set_params(graph, node, merged(_node(graph, node).params, changes))


def set_policy(graph: Graph, node: str, policy: Mapping[str, Json]) -> Graph:
    """Replace all given policy members of a node.

    Raises:
        EditError: there is no such node.
    """
    before = _node(graph, node)
    extra = without(before.extra, {"policy"})
    return _with_node(graph, replace(before, policy=dict(policy), extra=extra))


def merge_policy(graph: Graph, node: str, changes: Mapping[str, Json | Unset]) -> Graph:
    """Set single policy members of a node, and leave those out whose value is `UNSET`.

    Raises:
        EditError: there is no such node.
    """
    return set_policy(graph, node, merged(_node(graph, node).policy, changes))


def set_operator(graph: Graph, node: str, operator: str) -> Graph:
    """Let a node use another operator; params and edges stay as they are.

    Raises:
        EditError: there is no such node.
    """
    before = _node(graph, node)
    extra = without(before.extra, {"operator"})
    return _with_node(graph, replace(before, operator=operator, extra=extra))


def set_disabled(graph: Graph, node: str, is_disabled: bool) -> Graph:
    """Leave a node out of runs, or take it in again.

    Raises:
        EditError: there is no such node.
    """
    before = _node(graph, node)
    extra = without(before.extra, {"disabled"})
    return _with_node(graph, replace(before, is_disabled=is_disabled, extra=extra))


def set_resource(graph: Graph, node: str, name: str, resource: str | None) -> Graph:
    """Hand a node the resource of that id under `name`; None hands it nothing.

    Raises:
        EditError: the node or the resource is not there.
    """
    before = _node(graph, node)
    if resource is not None and resource not in graph.resources:
        raise EditError(f"there is no resource {resource} in this graph")
    bound = merged(before.resources, {name: UNSET if resource is None else resource})
    extra = without(before.extra, {"resources"})
    return _with_node(graph, replace(before, resources=bound, extra=extra))


def suppress(graph: Graph, node: str, code: str, reason: str = "") -> Graph:
    """Accept warnings and hints of a code at a node, with the reason.

    Raises:
        EditError: there is no such node.
    """
    before = _node(graph, node)
    others = tuple(item for item in before.suppress if item.code != code)
    extra = without(before.extra, {"suppress"})
    accepted = (*others, Suppression(code, reason))
    return _with_node(graph, replace(before, suppress=accepted, extra=extra))


def add_resource(
    graph: Graph, kind: str, *, id: str | None = None, params: Mapping[str, Json] | None = None
) -> Graph:
    """Add a resource, last in the document; without `id` one is made from its kind.

    Raises:
        EditError: the id is taken or malformed.
    """
    name = free_id(kind, set(graph.resources)) if id is None else id
    if name in graph.resources:
        raise EditError(f"there is a resource {name} in this graph already")
    if not NODE_ID.fullmatch(name):
        raise EditError(_malformed(name))
    resource = Resource(name, kind, dict(params or {}))
    return replace(graph, resources={**graph.resources, name: resource})


def set_resource_params(graph: Graph, resource: str, params: Mapping[str, Json]) -> Graph:
    """Replace all given params of a resource.

    Raises:
        EditError: it is not there.
    """
    before = _resource(graph, resource)
    extra = without(before.extra, {"params"})
    after = replace(before, params=dict(params), extra=extra)
    if same(before.params, after.params) and before.extra == after.extra:
        return graph
    return replace(graph, resources={**graph.resources, resource: after})


def remove_resource(graph: Graph, resource: str) -> Graph:
    """Remove a resource; nodes that were handed it are handed nothing.

    Raises:
        EditError: it is not there.
    """
    _resource(graph, resource)
    after = replace(graph, resources=without(graph.resources, {resource}))
    for node in graph.nodes.values():
        for name, id in node.resources.items():
            if id == resource:
                after = set_resource(after, node.id, name, None)
    return after


def move(graph: Graph, places: Mapping[str, tuple[float, float]]) -> Graph:
    """Put nodes at other places of the canvas; nothing but the layout changes.

    Args:
        graph: where the nodes are.
        places: node id -> (x, y) of its top left corner, kept to a hundredth.

    Raises:
        EditError: one of the nodes is not there, or its place is out of this world.
    """
    tidy = {_node(graph, id).id: (_coordinate(x), _coordinate(y)) for id, (x, y) in places.items()}
    if all(graph.layout.get(id) == at for id, at in tidy.items()):
        return graph
    return replace(
        graph,
        layout={**graph.layout, **tidy},
        extra=_odd_layout(graph, {id: None for id in tidy}),
    )


def subgraph(graph: Graph, nodes: Iterable[str]) -> Graph:
    """Return a graph of only these nodes, with their inner edges, places and resources.

    Raises:
        EditError: one of them is not there.
    """
    kept = {_node(graph, id).id for id in nodes}
    inside = {id: node for id, node in graph.nodes.items() if id in kept}
    used = {resource for node in inside.values() for resource in node.resources.values()}
    return Graph(
        resources={id: entry for id, entry in graph.resources.items() if id in used},
        nodes=inside,
        edges=index_edges(
            e for e in graph.edges.values() if e.source.node in kept and e.target.node in kept
        ),
        layout={id: at for id, at in graph.layout.items() if id in kept},
    )


def paste(graph: Graph, fragment: Graph, offset: tuple[float, float] = (0, 0)) -> Graph:
    """Add the nodes, inner edges, places and resources of another graph.

    Ids that are taken get a number behind them. A resource that is here already, with the
    same id, kind and params, is used and not added again. The new nodes are the last of the
    result: `list(after.nodes)[len(graph.nodes):]`.

    Args:
        graph: where to add them.
        fragment: what to add, as `subgraph` makes it.
        offset: (dx, dy) added to each place.
    """
    if not (fragment.nodes or fragment.resources):
        return graph
    resources, bound = _pasted_resources(graph, fragment)
    names: dict[str, str] = {}
    for id in fragment.nodes:
        names[id] = fresh_id(graph, _stem(id, graph), names.values())
    nodes = {
        names[id]: replace(
            node,
            id=names[id],
            resources={name: bound.get(used, used) for name, used in node.resources.items()},
        )
        for id, node in fragment.nodes.items()
    }
    edges = (
        replace(
            edge,
            source=replace(edge.source, node=names[edge.source.node]),
            target=replace(edge.target, node=names[edge.target.node]),
        )
        for edge in fragment.edges.values()
        if edge.source.node in names and edge.target.node in names
    )
    after = replace(
        graph,
        resources=resources,
        nodes={**graph.nodes, **nodes},
        edges=index_edges([*graph.edges.values(), *edges]),
    )
    dx, dy = offset
    places = {names[id]: (x + dx, y + dy) for id, (x, y) in fragment.layout.items() if id in names}
    return move(after, places)


def set_name(graph: Graph, name: str) -> Graph:
    """Give the graph another name."""
    return _with_field(graph, "name", name)


def set_description(graph: Graph, description: str) -> Graph:
    """Give the graph another description."""
    return _with_field(graph, "description", description)


def set_max_conversations(graph: Graph, count: int) -> Graph:
    """Set how many conversations are active at once, 1 or more.

    Raises:
        EditError: the number is below 1.
    """
    if count < 1:
        raise EditError(f"{count} conversations at once are too few; at least 1 must be active")
    return _with_field(graph, "max_conversations", count)


def set_measure(graph: Graph, sinks: Iterable[str]) -> Graph:
    """Set the nodes that TTFPT is taken at; none means any sink.

    Raises:
        EditError: one of them is not there.
    """
    return _with_field(graph, "measure", tuple(_node(graph, id).id for id in sinks))


def _with_field(graph: Graph, name: str, value: Json) -> Graph:
    extra = without(graph.extra, {name})
    if getattr(graph, name) == value and extra == graph.extra:
        return graph
    return replace(graph, **{name: value, "extra": extra})


def _with_node(graph: Graph, after: Node) -> Graph:
    before = graph.nodes[after.id]
    if after == before and same(after.params, before.params) and same(after.policy, before.policy):
        return graph
    return replace(graph, nodes={**graph.nodes, after.id: after})


def _with_edge(graph: Graph, after: Edge) -> Graph:
    if after == graph.edges[after.id]:
        return graph
    return replace(graph, edges={**graph.edges, after.id: after})


def _with_edges(graph: Graph, edges: Iterable[Edge]) -> Graph:
    return replace(graph, edges=index_edges(edges))


def _node(graph: Graph, id: str) -> Node:
    try:
        return graph.nodes[id]
    except KeyError:
        raise EditError(f"there is no node {id} in this graph") from None


def _edge(graph: Graph, id: str) -> Edge:
    try:
        return graph.edges[id]
    except KeyError:
        raise EditError(f"there is no edge {id} in this graph") from None


def _resource(graph: Graph, id: str) -> Resource:
    try:
        return graph.resources[id]
    except KeyError:
        raise EditError(f"there is no resource {id} in this graph") from None


def _port(port: PortRef | str) -> PortRef:
    ref = PortRef.parse(port) if isinstance(port, str) else port
    if not (ref.node and ref.port):
        raise EditError(f"{ref} names no port; write it as node.port")
    return ref


def _checked(graph: Graph, edge: Edge) -> Edge:
    """Return a new edge that fits into the graph."""
    _node(graph, edge.source.node)
    _node(graph, edge.target.node)
    if edge.id in graph.edges:
        raise EditError(f"{edge.source} and {edge.target} are connected already")
    return edge


def _check_new_id(graph: Graph, id: str) -> None:
    if not NODE_ID.fullmatch(id):
        raise EditError(_malformed(id))
    if id in graph.nodes:
        raise EditError(f"there is a node {id} in this graph already")


def _malformed(id: str) -> str:
    return f'"{id}" cannot be an id; use small letters, digits, - and _, and begin with a letter'


def _renamed_ends(edge: Edge, old: str, new: str) -> Edge:
    if old not in (edge.source.node, edge.target.node):
        return edge
    source, target = (
        replace(end, node=new) if end.node == old else end for end in (edge.source, edge.target)
    )
    return replace(edge, source=source, target=target, number=1)


def _odd_layout(graph: Graph, names: Mapping[str, str | None]) -> Mapping[str, Json]:
    """Return the graph's `extra` with layout entries of unknown form renamed or removed."""
    odd = graph.extra.get("layout")
    if not odd or not names.keys() & odd.keys():
        return graph.extra
    left = {names.get(key, key): value for key, value in odd.items()}
    left.pop(None, None)
    others = without(graph.extra, {"layout"})
    return {**others, "layout": left} if left else others


def _pasted_resources(graph: Graph, fragment: Graph) -> tuple[dict[str, Resource], dict[str, str]]:
    """Return all resources after a paste, and the new id of each of the fragment's."""
    resources, names = dict(graph.resources), {}
    for id, entry in fragment.resources.items():
        name = id if resources.get(id) == entry else free_id(_numberless(id), resources)
        names[id] = name
        resources.setdefault(name, replace(entry, id=name))
    return resources, names


def _stem(id: str, graph: Graph) -> str:
    """Return what a pasted node's id is made from: its own where free, else without number."""
    return _numberless(id) if id in graph.nodes else id


def _numberless(id: str) -> str:
    return re.sub(r"-\d+$", "", id)


def _coordinate(part: float) -> float:
    if not abs(part) <= FARTHEST:
        raise EditError(f"a node cannot be placed at {part:g}")
    rounded = round(part, 2)
    return int(rounded) if rounded == int(rounded) else rounded
