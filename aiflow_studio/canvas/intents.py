"""Intents: what a person's gesture on a canvas asks for. Each may be refused.

Plain values without Qt, so that any canvas can make them and a test can write them down.
Positions are layout positions: the top left corner of a card, in units of the graph's file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiflow.graph.model import PortRef


class Intent:
    """Base of all intents."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LooseWire:
    """A wire that was let go over empty ground: the port it comes from.

    Attributes:
        is_input: the port is an in-port, so that an output is wanted.
    """

    port: PortRef
    is_input: bool


@dataclass(frozen=True, slots=True)
class AddNode(Intent):
    """Put a new node of an operator at a place.

    Attributes:
        into: id of an edge that it is put into; it stands beside where it does not fit.
        wire: a wire that is to end at the new node.
    """

    operator: str
    x: float
    y: float
    into: str | None = None
    wire: LooseWire | None = None


@dataclass(frozen=True, slots=True)
class MoveNodes(Intent):
    """Put nodes elsewhere.

    Attributes:
        positions: node id -> (x, y).
        burst: moves in a row with the same number are one undo step; 0 stands alone.
    """

    positions: Mapping[str, tuple[float, float]]
    burst: int = 0


@dataclass(frozen=True, slots=True)
class Connect(Intent):
    """Draw an edge.

    Attributes:
        instead_of: id of the edge whose end was picked up and put here; it goes away in
            the same step. None for a new edge.
    """

    source: PortRef
    target: PortRef
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Disconnect(Intent):
    """Take an edge away."""

    edge: str


@dataclass(frozen=True, slots=True)
class Rename(Intent):
    """Give a node another name, which is its id."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Remove(Intent):
    """Take nodes and edges away, with all edges of those nodes."""

    nodes: frozenset[str]
    edges: frozenset[str]


@dataclass(frozen=True, slots=True)
class Copy(Intent):
    """Put the selected nodes and the edges between them on the clipboard.

    Attributes:
        removes: take them away afterwards (cut).
    """

    removes: bool = False


@dataclass(frozen=True, slots=True)
class Paste(Intent):
    """Put what the clipboard holds at a place, or beside its origin where none is given."""

    x: float | None = None
    y: float | None = None
