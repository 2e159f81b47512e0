"""From a `Graph` to its canonical JSON document: fixed key order, defaults left out.

The inverse of `reader`: what that kept in `extra` under a known name is written in that
field's place, whatever else it kept comes last, in the order it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiflow.graph.model import (
    DEFAULT_MAX_CONVERSATIONS,
    FORMAT,
    Edge,
    Feedback,
    Graph,
    Json,
    Node,
    Resource,
    Suppression,
)
from aiflow.policies import Policy, Retry

#: The known fields of each object in their order; one kept in `extra` goes to its place here.
GRAPH_FIELDS = (
    *("format", "version", "name", "description", "max_conversations", "measure"),
    *("resources", "nodes", "edges", "groups", "layout", "notes", "frames"),
)
NODE_FIELDS = ("id", "operator", "params", "policy", "resources", "disabled", "suppress")
EDGE_FIELDS = ("from", "to", "fanout", "overflow", "feedback")
RESOURCE_FIELDS = ("id", "kind", "params")
_POLICY = tuple(Policy.model_fields)
_RETRY = tuple(Retry.model_fields)


def document_of(graph: Graph, *, export: bool = False) -> dict[str, Json]:
    """Return the plain JSON document of a graph.

    Args:
        graph: any graph, also one with mistakes.
        export: leave out layout, notes and frames, which a server has no use for.
    """
    document = {
        "format": FORMAT,
        "version": f"{graph.version[0]}.{graph.version[1]}",
        **_given(name=(graph.name, ""), description=(graph.description, "")),
        **_given(max_conversations=(graph.max_conversations, DEFAULT_MAX_CONVERSATIONS)),
        **_given(measure=(list(graph.measure), [])),
        **_given(resources=([_resource(entry) for entry in graph.resources.values()], [])),
        "nodes": [_node(entry) for entry in graph.nodes.values()],
        "edges": [_edge(entry) for entry in graph.edges.values()],
        **_given(groups=(list(graph.groups), [])),
    }
    extra = dict(graph.extra)
    odd_layout = extra.pop("layout", {})
    if not export:
        layout = {key: [_tidy(x), _tidy(y)] for key, (x, y) in graph.layout.items()}
        document |= _given(layout=({**layout, **odd_layout}, {}))
        document |= _given(notes=(list(graph.notes), []), frames=(list(graph.frames), []))
    return _with_extra(document, extra, GRAPH_FIELDS)


def _given(**fields: tuple[Any, Any]) -> dict[str, Json]:
    """Return the fields whose value is not the default beside it."""
    return {key: value for key, (value, default) in fields.items() if value != default}


def _with_extra(
    entry: dict[str, Json], extra: Mapping[str, Json], order: tuple[str, ...]
) -> dict[str, Json]:
    """Merge what the model could not hold, known names in their place, others last."""
    if not extra:
        return entry
    return _ordered({**entry, **extra}, order)


def _ordered(entry: Mapping[str, Json], order: tuple[str, ...]) -> dict[str, Json]:
    ordered = {key: entry[key] for key in order if key in entry}
    return {**ordered, **{key: value for key, value in entry.items() if key not in ordered}}


def _node(node: Node) -> dict[str, Json]:
    entry = {
        "id": node.id,
        "operator": node.operator,
        **_given(params=(node.params, {}), policy=(_policy(node.policy), {})),
        **_given(resources=(node.resources, {}), disabled=(node.is_disabled, False)),
        **_given(suppress=([_suppression(item) for item in node.suppress], [])),
    }
    return _with_extra(entry, node.extra, NODE_FIELDS)


def _policy(policy: Mapping[str, Json]) -> dict[str, Json]:
    entry = _ordered(policy, _POLICY)
    if isinstance(retry := entry.get("retry"), Mapping):
        entry["retry"] = _ordered(retry, _RETRY)
    return entry


def _suppression(item: Suppression) -> dict[str, Json]:
    return {"code": item.code, **_given(reason=(item.reason, "")), **item.extra}


def _edge(edge: Edge) -> dict[str, Json]:
    entry = {
        "from": str(edge.source),
        "to": str(edge.target),
        **_given(fanout=(edge.fanout, "strict"), overflow=(edge.overflow, None)),
        **({} if edge.feedback is None else {"feedback": _feedback(edge.feedback)}),
    }
    return _with_extra(entry, edge.extra, EDGE_FIELDS)


def _feedback(feedback: Feedback) -> dict[str, Json]:
    return {
        **_given(credit=(feedback.credit, 1), max_returns=(feedback.max_returns, 1)),
        **_given(hops=(feedback.hops, 1)),
        **feedback.extra,
    }


def _resource(resource: Resource) -> dict[str, Json]:
    entry = {"id": resource.id, "kind": resource.kind, **_given(params=(resource.params, {}))}
    return _with_extra(entry, resource.extra, RESOURCE_FIELDS)


def _tidy(part: float) -> float:
    """Return a whole coordinate as an int, as a person would write it."""
    if type(part) is float and part.is_integer() and abs(part) < 2**53:
        return int(part)
    return part
