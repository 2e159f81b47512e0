"""The document: a graph of nodes and edges as frozen values.

Entries are kept as they stand in the file (`params`, `policy` hold only what is given,
valid or not), so that a graph with mistakes opens, shows them and is saved unchanged.
A known field whose value cannot even be held (a `policy` that is a number) is kept under
its own name in `extra`, beside the fields this version does not know. Whether they are
right is the compiler's question. `edits` is the only writer; nothing here or elsewhere
changes a mapping in place, so unchanged entries stay the same objects and a diff can
compare by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Json = Any
FORMAT = "aiflow"
VERSION = (1, 0)

DEFAULT_MAX_CONVERSATIONS = 8

#: Farthest that a node may stand from the middle: beyond it is a slip of the pen, and further
#: than a canvas can draw.
FARTHEST = 1e7
#: The members of `Feedback` that an edge's entry may give; all whole numbers, 1 or more.
FEEDBACK_FIELDS = ("credit", "max_returns", "hops")


@dataclass(frozen=True, slots=True)
class PortRef:
    """A port of a node, written `node.port`.

    Text that is not of that form is kept whole as the node's name with an empty port, so
    that a broken edge is written again as it was read.
    """

    node: str
    port: str

    def __str__(self) -> str:
        """Return `node.port`."""
        return f"{self.node}.{self.port}" if self.port else self.node

    @staticmethod
    def parse(text: str) -> PortRef:
        """Read `node.port`; text of another form names a node and an empty port."""
        node, _, port = text.partition(".")
        return PortRef(node, port) if node and port else PortRef(text, "")


@dataclass(frozen=True, slots=True)
class Suppression:
    """A diagnostic code that a person has accepted at a node, with the reason."""

    code: str
    reason: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What makes an edge that closes a cycle legal."""

    credit: int = 1
    max_returns: int = 1
    hops: int = 1
    extra: Mapping[str, Json] = field(default_factory=dict)


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
        number: which of several edges between the same two ports, from 1; a second one is a
            mistake that a file may hold and the compiler reports.
        id: `from>to`, the edge's identity in a graph; a second one has `#2` behind it.
    """

    source: PortRef
    target: PortRef
    fanout: str = "strict"
    overflow: str | None = None
    feedback: Feedback | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    number: int = 1
    id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write the id once: opening and checking a graph ask for it some twenty times an edge."""
        ports = f"{self.source}>{self.target}"
        id = ports if self.number == 1 else f"{ports}#{self.number}"
        object.__setattr__(self, "id", id)


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


def index_edges(edges: Iterable[Edge]) -> dict[str, Edge]:
    """Return edge id -> edge in the given order, numbering those between the same ports.

    An edge whose number is right already stays the same object.
    """
    seen: dict[str, int] = {}
    indexed: dict[str, Edge] = {}
    for edge in edges:
        ports = f"{edge.source}>{edge.target}"
        numbered = edge
        while True:
            number = seen[ports] = seen.get(ports, 0) + 1
            if numbered.number != number:
                numbered = replace(edge, number=number)
            # A port may be called `in#2` in a broken file; no edge may push out another.
            if numbered.id not in indexed:
                break
        indexed[numbered.id] = numbered
    return indexed
