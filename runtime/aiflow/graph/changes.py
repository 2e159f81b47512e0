"""What changed between two graphs, in words and as plain values.

`diff` finds which entries differ; here is said what about them differs, for a person who
reviews a change. A node that only has another name is recognised when all else of it is
the same, and its edges are then compared under the new name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aiflow.graph import edits
from aiflow.graph.diff import diff
from aiflow.graph.json_text import render
from aiflow.graph.model import FEEDBACK_FIELDS, Edge, Graph, Json, Node, Resource
from aiflow.graph.secrets import without_secrets
from aiflow.graph.values import same
from aiflow.policies import TUPLE, Policy

_LONGEST_VALUE = 60
_MOST_NAMES = 6
_SYMBOLS = {key: symbol for symbol, key in TUPLE}
_GRAPH_FIELDS = ("name", "description", "version", "max_conversations", "measure")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed.

    Attributes:
        kind: `added`, `removed`, `renamed` or `changed`.
        what: `graph`, `node`, `edge`, `resource` or `layout`.
        id: of the node, edge or resource, as in the graph after, or before where it is gone;
            "" for the graph itself.
        text: one sentence without a full stop.
        field: what about it, such as `policy.queue_capacity`; "" for the whole.
        before, after: the values; None where there is none.
    """

    kind: str
    what: str
    id: str
    text: str
    field: str = ""
    before: Json = None
    after: Json = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `aiflow diff --json` prints them; no key is shown whole."""
        plain: dict[str, Any] = without_secrets(asdict(self))
        # The name of the field may be what tells that a value is a key.
        values = {"before": self.before, "after": self.after}
        return plain | {name: without_secrets(each, self.field) for name, each in values.items()}


def changes(before: Graph, after: Graph) -> list[Change]:
    """Return what changed: the graph's own fields, resources, nodes, edges, then the layout."""
    renamed = _renamed(before, after)
    for old, new in renamed.items():
        before = edits.rename_node(before, old, new)
    found = diff(before, after)
    made = [*_of_graph(before, after)]
    for kind, ids in (("removed", found.resources.removed), ("added", found.resources.added)):
        made += [_whole(kind, "resource", id, _resource_name(before, after, id)) for id in ids]
    for id in found.resources.changed:
        made += _of_entry("resource", id, before.resources[id], after.resources[id])
    made += [
        Change("renamed", "node", new, f"node {old} is now called {new}", "id", old, new)
        for old, new in renamed.items()
    ]
    for kind, ids in (("removed", found.nodes.removed), ("added", found.nodes.added)):
        made += [_whole(kind, "node", id, _node_name(before, after, id)) for id in ids]
    for id in found.nodes.changed:
        made += _of_entry("node", id, before.nodes[id], after.nodes[id])
    for kind, ids in (("removed", found.edges.removed), ("added", found.edges.added)):
        for id in ids:
            edge = (after if kind == "added" else before).edges[id]
            made.append(_whole(kind, "edge", id, f"edge {_way(edge)}{_manner(edge)}"))
    for id in found.edges.changed:
        made += _of_edge(before.edges[id], after.edges[id])
    return [*made, *_of_layout(before, after), *_of_order(before, after)]


def _renamed(before: Graph, after: Graph) -> dict[str, str]:
    """Return old id -> new id of nodes that differ by nothing but their name.

    The new name must stand at the same place among what is new with the same content, so
    that of two equal nodes each finds its own.
    """
    gone = [node for id, node in before.nodes.items() if id not in after.nodes]
    new = [node for id, node in after.nodes.items() if id not in before.nodes]
    waiting: dict[str, list[str]] = {}
    for node in new:
        waiting.setdefault(_content(node), []).append(node.id)
    renamed = {}
    for node in gone:
        same_content = waiting.get(_content(node))
        if same_content and edits.NODE_ID.fullmatch(same_content[0]):
            renamed[node.id] = same_content.pop(0)
    return renamed


def _content(node: Node) -> str:
    """Return all of a node but its id, as a text that can be looked up."""
    return repr((node.operator, node.params, node.policy, node.resources, node.is_disabled,
                 node.suppress, node.extra))  # fmt: skip


def _of_graph(before: Graph, after: Graph) -> Iterator[Change]:
    for name in _GRAPH_FIELDS:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            if name == "version":
                old, new = (f"{major}.{minor}" for major, minor in (old, new))
            elif name == "measure":
                old, new = list(old), list(new)
            yield _changed("graph", "", "the graph", name, old, new)
    for name in ("notes", "frames", "groups"):
        old, new = list(getattr(before, name)), list(getattr(after, name))
        if not same(old, new):
            text = f"the graph: {name} changed"
            yield Change("changed", "graph", "", text, name, old, new)
    yield from _of_mapping("graph", "", "the graph", "", before.extra, after.extra)


def _of_entry(
    what: str, id: str, before: Node | Resource, after: Node | Resource
) -> Iterator[Change]:
    """Yield what changed about a node or a resource."""
    subject = f"{what} {id}"
    for name in ("operator", "kind"):
        if hasattr(before, name) and getattr(before, name) != getattr(after, name):
            yield _changed(what, id, subject, name, getattr(before, name), getattr(after, name))
    yield from _of_mapping(what, id, subject, "params", before.params, after.params)
    if isinstance(before, Node) and isinstance(after, Node):
        yield from _of_mapping(what, id, subject, "policy", before.policy, after.policy)
        yield from _of_mapping(what, id, subject, "resources", before.resources, after.resources)
        if before.is_disabled != after.is_disabled:
            word = "disabled" if after.is_disabled else "enabled"
            text = f"{subject} is now {word}"
            yield Change(
                "changed", what, id, text, "disabled", before.is_disabled, after.is_disabled
            )
        yield from _of_suppressions(id, before, after)
    yield from _of_mapping(what, id, subject, "", before.extra, after.extra)


def _of_suppressions(id: str, before: Node, after: Node) -> Iterator[Change]:
    old = {item.code: item.reason for item in before.suppress}
    new = {item.code: item.reason for item in after.suppress}
    for code in dict.fromkeys((*old, *new)):
        if old.get(code) != new.get(code):
            text = f"node {id}: {code} is no longer accepted"
            if code in new:
                text = f"node {id}: {code} is accepted" + (f" ({new[code]})" if new[code] else "")
            yield Change("changed", "node", id, text, "suppress", old.get(code), new.get(code))


def _of_edge(before: Edge, after: Edge) -> Iterator[Change]:
    if (before.fanout, before.overflow) != (after.fanout, after.overflow):
        old, new = _fanout(before), _fanout(after)
        text = f"edge {_way(after)}: {old} → {new}"
        yield Change("changed", "edge", after.id, text, "fanout", old, new)
    if before.feedback != after.feedback:
        old, new = (_feedback(edge) for edge in (before, after))
        subject = f"edge {_way(after)}"
        yield _changed("edge", after.id, subject, "feedback", old, new)
    yield from _of_mapping("edge", after.id, f"edge {_way(after)}", "", before.extra, after.extra)


def _of_layout(before: Graph, after: Graph) -> Iterator[Change]:
    """Yield one sentence for all nodes that only moved."""
    moved = [
        id
        for id, at in after.layout.items()
        if id in before.nodes and id in after.nodes and before.layout.get(id) != at
    ]
    lost = [id for id in before.layout if id in after.nodes and id not in after.layout]
    for ids, verb in ((moved, "moved"), (lost, "lost their place on the canvas")):
        if ids:
            more = f" and {len(ids) - _MOST_NAMES} more" if len(ids) > _MOST_NAMES else ""
            text = f"layout: {', '.join(ids[:_MOST_NAMES])}{more} {verb}"
            yield Change("changed", "layout", "", text, "layout", None, ids)


def _of_order(before: Graph, after: Graph) -> Iterator[Change]:
    """Yield a sentence where entries are the same in another order: the file differs then."""
    for name in ("resources", "nodes", "edges"):
        old, new = list(getattr(before, name)), list(getattr(after, name))
        kept = set(old) & set(new)
        if [id for id in old if id in kept] != [id for id in new if id in kept]:
            text = f"the graph: {name} stand in another order"
            yield Change("changed", "graph", "", text, f"{name} order", old, new)


def _of_mapping(
    what: str,
    id: str,
    subject: str,
    place: str,
    before: Mapping[str, Json],
    after: Mapping[str, Json],
) -> Iterator[Change]:
    for key in dict.fromkeys((*before, *after)):
        field = f"{place}.{key}" if place else key
        if key not in after or key not in before:
            is_set = key in after
            default = _default(place, key)
            given = after[key] if is_set else before[key]
            other = "is left out now" if default is None else f"is {_shown(default)} by default now"
            shown = _shown(given, field)
            verb = f"is set to {shown}" if is_set else f"was {shown}, {other}"
            yield Change(
                "changed",
                what,
                id,
                f"{subject}: {_label(field)} {verb}",
                field,
                before.get(key),
                after.get(key),
            )
        elif not same(before[key], after[key]):
            yield _changed(what, id, subject, field, before[key], after[key])


def _changed(what: str, id: str, subject: str, field: str, before: Json, after: Json) -> Change:
    text = f"{subject}: {_label(field)} {_shown(before, field)} → {_shown(after, field)}"
    return Change("changed", what, id, text, field, before, after)


def _whole(kind: str, what: str, id: str, subject: str) -> Change:
    return Change(kind, what, id, f"{subject} {'is new' if kind == 'added' else 'is gone'}")


def _label(field: str) -> str:
    """Return how a person calls a field: `policy queue_capacity (q)`."""
    place, _, name = field.partition(".")
    if place == "policy":
        symbol = _SYMBOLS.get(name)
        return f"policy {name}" + (f" ({symbol})" if symbol else "")
    return {"params": f"param {name}", "resources": f"resource {name}"}.get(place, field)


def _default(place: str, key: str) -> Json:
    if place != "policy" or key not in Policy.model_fields:
        return None
    return Policy().model_dump(mode="json")[key]


def _shown(value: Json, field: str = "") -> str:
    if value is None:
        return "nothing"
    value = without_secrets(value, field)
    text = value if isinstance(value, str) and value else render(value, "diff")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _node_name(before: Graph, after: Graph, id: str) -> str:
    node = after.nodes.get(id) or before.nodes[id]
    return f"node {id} ({node.operator or 'no operator'})"


def _resource_name(before: Graph, after: Graph, id: str) -> str:
    resource = after.resources.get(id) or before.resources[id]
    return f"resource {id} ({resource.kind or 'no kind'})"


def _way(edge: Edge) -> str:
    return edge.id.replace(">", " → ")


def _fanout(edge: Edge) -> str:
    if edge.fanout == "detached":
        return f"detached ({edge.overflow or 'drop_oldest'})"
    return f"{edge.fanout} ({edge.overflow})" if edge.overflow else edge.fanout


def _manner(edge: Edge) -> str:
    return "" if edge.fanout == "strict" else f", {_fanout(edge)},"


def _feedback(edge: Edge) -> Json:
    feedback = edge.feedback
    if feedback is None:
        return None
    return {key: getattr(feedback, key) for key in FEEDBACK_FIELDS}
