"""What a picture of a graph shows: cards, wires and what to say of the whole.

The same for every form, so that a mermaid chart and an SVG never tell two stories. Where
things stand is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiflow.compiler.compile import Compiled, compile
from aiflow.compiler.findings import listed
from aiflow.graph.json_text import render
from aiflow.graph.model import Edge, Graph, Json, Node
from aiflow.graph.secrets import without_secrets
from aiflow.operators.base import Operator
from aiflow.operators.registry import Catalog
from aiflow.policies import Policy, State

UNKNOWN = "any"


@dataclass(frozen=True, slots=True)
class Dock:
    """A port on a card.

    Attributes:
        type: name of its type.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Card:
    """A node as it is drawn.

    Attributes:
        lines: what stands below its name: its policy, then what is set on it.
        inputs: all its in-ports. `outputs`: those that are connected, else the first.
        is_known: its operator is installed.
    """

    id: str
    operator: str
    lines: tuple[str, ...]
    inputs: tuple[Dock, ...]
    outputs: tuple[Dock, ...]
    is_disabled: bool = False
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge as it is drawn.

    Attributes:
        type: name of the type that it carries.
        overflow: what it does when full, for a detached one; "" for a strict one.
    """

    id: str
    source: str
    source_port: str
    target: str
    target_port: str
    type: str
    overflow: str = ""
    is_feedback: bool = False

    @property
    def is_detached(self) -> bool:
        """Whether it never makes its sender wait."""
        return bool(self.overflow)


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is to be seen.

    Attributes:
        footer: sentences about the whole, such as its bound.
        layout: node id -> place from the graph, as far as there is one.
    """

    name: str
    description: str
    cards: Mapping[str, Card]
    wires: tuple[Wire, ...]
    footer: tuple[str, ...]
    layout: Mapping[str, tuple[float, float]]

    @property
    def types(self) -> tuple[str, ...]:
        """Names of the types that wires carry, each once."""
        return tuple(dict.fromkeys(wire.type for wire in self.wires))


def picture_of(graph: Graph, catalog: Catalog, base: Path | None = None) -> Picture:
    """Return what a picture of a graph shows; never raises for a bad graph.

    Args:
        graph: any graph.
        catalog: knows ports and types.
        base: folder that relative paths start from.
    """
    compiled = compile(graph, catalog, base=base)
    wires = tuple(
        _wire(edge, graph, compiled, catalog)
        for edge in graph.edges.values()
        if edge.source.node in graph.nodes and edge.target.node in graph.nodes
    )
    around: dict[str, list[Wire]] = {id: [] for id in graph.nodes}
    for wire in wires:
        around[wire.source].append(wire)
        if wire.target != wire.source:
            around[wire.target].append(wire)
    cards = {
        node.id: _card(node, catalog.get(node.operator), around[node.id])
        for node in graph.nodes.values()
    }
    return Picture(
        graph.name,
        graph.description,
        cards,
        wires,
        tuple(_footer(graph, compiled, wires)),
        {id: place for id, place in graph.layout.items() if id in graph.nodes},
    )


def policy_line(policy: Mapping[str, Json]) -> str:
    """Return the numbers of a policy in one line: `q 8 · k 1 · ρ 0 · block`."""
    try:
        valid = Policy.model_validate(dict(policy))
    except ValueError:
        return "its policy is not valid"
    numbers = (f"q {valid.queue_capacity}", f"k {valid.workers}", f"ρ {valid.reorder_capacity}")
    return " · ".join((*numbers, valid.overflow.value.replace("_", " ")))


def _card(node: Node, operator: type[Operator[Any]] | None, wires: Iterable[Wire]) -> Card:
    leaving = dict.fromkeys(w.source_port for w in wires if w.source == node.id)
    arriving = dict.fromkeys(w.target_port for w in wires if w.target == node.id)
    if operator is None:
        inputs, outputs = [(Dock(name, UNKNOWN) for name in names) for names in (arriving, leaving)]
    else:
        types = {port.name: port.type.name for port in operator.outputs}
        first = [port.name for port in operator.outputs[:1]]
        inputs = (Dock(port.name, port.type.name) for port in operator.inputs)
        order = {name: number for number, name in enumerate(types)}
        shown = sorted(leaving or first, key=lambda name: order.get(name, len(order)))
        outputs = (Dock(name, types.get(name, UNKNOWN)) for name in shown)
    is_source = operator is not None and not operator.inputs
    lines = [] if is_source else [policy_line(node.policy)]
    lines += [part for part in (_state(node, operator), _given(node)) if part]
    return Card(
        node.id,
        node.operator,
        tuple(lines),
        tuple(inputs),
        tuple(outputs),
        node.is_disabled,
        operator is not None,
    )


def _state(node: Node, operator: type[Operator[Any]] | None) -> str:
    """Return the node's state where it allows less than anything."""
    own = State.STATELESS if operator is None else operator.state
    state = node.policy.get("state", own.value)
    return state if isinstance(state, str) and state != State.STATELESS else ""


def _given(node: Node) -> str:
    """Return what is set on a node, in one line; keys are masked."""
    values = {**node.params, **node.resources}
    return ", ".join(
        f"{key} {_value(without_secrets(value, key))}" for key, value in values.items()
    )


def _value(value: Json) -> str:
    text = value if isinstance(value, str) and value else render(value, "picture")
    return " ".join(text.split())


def _wire(edge: Edge, graph: Graph, compiled: Compiled, catalog: Catalog) -> Wire:
    type_ = compiled.edge_types.get(edge.id)
    if type_ is None:  # at a disabled node: what its port is declared to give
        operator = catalog.get(graph.nodes[edge.source.node].operator)
        ports = operator.outputs if operator else ()
        type_ = next((port.type for port in ports if port.name == edge.source.port), None)
    is_detached = edge.fanout == "detached"
    return Wire(
        edge.id,
        edge.source.node,
        edge.source.port,
        edge.target.node,
        edge.target.port,
        UNKNOWN if type_ is None else type_.name,
        (edge.overflow or "drop_oldest") if is_detached else "",
        edge.feedback is not None,
    )


def _footer(graph: Graph, compiled: Compiled, wires: tuple[Wire, ...]) -> Iterable[str]:
    drawn = {wire.id for wire in wires}
    missing = [id for id in graph.edges if id not in drawn]
    if compiled.bound is not None:
        count = graph.max_conversations
        many = f"{count} conversation{'' if count == 1 else 's'} at once"
        yield f"At most {compiled.bound} events in flight, {many}."
    elif compiled.errors:
        count = len(compiled.errors)
        yield f"This graph has {count} error{'' if count == 1 else 's'} and cannot run."
    if missing:
        yield f"Broken and not drawn: {listed(missing)}."
