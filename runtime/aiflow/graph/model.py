"""The document: a graph of nodes and edges as frozen values.

Entries are kept as they stand in the file (`params`, `policy` hold only what is given,
valid or not), so that a graph with mistakes opens, shows them and is saved unchanged.
Whether they are right is the compiler's question. `edits` is the only writer; nothing
here or elsewhere changes a mapping in place, so unchanged entries stay the same objects
and a diff can compare by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
FORMAT = "aiflow"
VERSION = (1, 0)

DEFAULT_MAX_CONVERSATIONS = 8


@dataclass(frozen=True, slots=True)
class PortRef:
    """A port of a node, written `node.port`."""

    node: str
    port: str

    def __str__(self) -> str:
        """Return `node.port`."""
        return f"{self.node}.{self.port}"

    @staticmethod
    def parse(text: str) -> PortRef:
        """Read `node.port`; text without a dot names a node and an empty port."""
        node, _, port = text.partition(".")
        return PortRef(node, port)


@dataclass(frozen=True, slots=True)
class Suppression:
    """A diagnostic code that a person has accepted at a node, with the reason."""

    code: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What makes an edge that closes a cycle legal."""

    credit: int = 1
    max_returns: int = 1
    hops: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """One use of an operator.

    Attributes:
        id: the visible name, `[a-z][a-z0-9_-]*`, unique in the graph.
        operator: the operator's name in the catalog; it may be unknown here.
        params: given parameters only, as in the file.
        policy: given policy members only, as in the file.
        resources: name that the operator asks for -> id of a resource of the graph.
        is_disabled: left out of a run, as if it and its edges were not there.
        extra: fields this version does not know, kept value for value.
    """

    id: str
    operator: str
    params: Mapping[str, Json] = field(default_factory=dict)
    policy: Mapping[str, Json] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    is_disabled: bool = False
    suppress: tuple[Suppression, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection from an output port to an input port.

    Attributes:
        fanout: `strict` or `detached`; a detached edge never holds its sender back.
        overflow: what a detached edge does when the queue behind it is full; None means
            `drop_oldest` there, and nothing on a strict edge.
    """

    source: PortRef
    target: PortRef
    fanout: str = "strict"
    overflow: str | None = None
    feedback: Feedback | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Return `from>to`, the edge's identity in a graph."""
        return f"{self.source}>{self.target}"


@dataclass(frozen=True, slots=True)
class Resource:
    """A thing that nodes are handed, such as a provider."""

    id: str
    kind: str
    params: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole document; entries keep the order in which they were added.

    Attributes:
        version: (major, minor) of the file it came from.
        max_conversations: C, conversations active at once, 1 or more.
        measure: ids of the sinks that TTFPT is taken at; empty means any sink.
        nodes: node id -> node. `edges`: edge id -> edge. `resources`: id -> resource.
        layout: node id -> (x, y) of its top left corner on the canvas.
        notes, frames, groups: free entries, kept as they are.
    """

    name: str = ""
    description: str = ""
    version: tuple[int, int] = VERSION
    max_conversations: int = DEFAULT_MAX_CONVERSATIONS
    measure: tuple[str, ...] = ()
    resources: Mapping[str, Resource] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    edges: Mapping[str, Edge] = field(default_factory=dict)
    layout: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[Json, ...] = ()
    frames: tuple[Json, ...] = ()
    groups: tuple[Json, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)
