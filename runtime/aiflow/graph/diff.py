"""What differs between two graphs, found by identity.

Edits leave what they do not touch as the same objects, so an entry is looked into only when
it is another object. Two graphs read from two files share no entry: `diff` then compares
the entries themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiflow.graph.model import Graph


@dataclass(frozen=True, slots=True)
class Changes:
    """Keys of one mapping, each in the document's order.

    Attributes:
        added: only in the graph after.
        removed: only in the graph before.
        changed: in both, with another entry.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


NOTHING = Changes()


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """What an edit did.

    Attributes:
        nodes, edges, resources, layout: by node, edge, resource and node id.
        fields: names of the graph's other fields that differ, such as `measure`.
    """

    nodes: Changes = NOTHING
    edges: Changes = NOTHING
    resources: Changes = NOTHING
    layout: Changes = NOTHING
    fields: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges or self.resources or self.layout or self.fields)


_FIELDS = (
    *("name", "description", "version", "max_conversations", "measure"),
    *("notes", "frames", "groups", "extra"),
)


def diff(before: Graph, after: Graph) -> GraphDiff:
    """Return what was added, removed and changed; a renamed node is one of each."""
    return GraphDiff(
        nodes=_changes(before.nodes, after.nodes),
        edges=_changes(before.edges, after.edges),
        resources=_changes(before.resources, after.resources),
        layout=_changes(before.layout, after.layout),
        fields=tuple(name for name in _FIELDS if getattr(before, name) != getattr(after, name)),
    )


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> Changes:
    if before is after:
        return NOTHING
    return Changes(
        added=tuple(key for key in after if key not in before),
        removed=tuple(key for key in before if key not in after),
        changed=tuple(
            key
            for key, entry in after.items()
            if key in before and before[key] is not entry and before[key] != entry
        ),
    )
