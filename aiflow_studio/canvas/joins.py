"""Joins: how a new node is connected when it is dropped on a wire or at the end of one. No Qt.

Pure, like the edits it is made of; where nothing fits the graph comes back as it was.
"""

from __future__ import annotations

from aiflow.graph import edits
from aiflow.graph.model import Graph, PortRef
from aiflow.operators.registry import Catalog
from aiflow_studio.canvas.intents import LooseWire
from aiflow_studio.canvas.ports import PortTypes


def put_into(graph: Graph, node: str, edge: str, catalog: Catalog) -> Graph:
    """Lead an edge through a node, by the first ports that fit.

    The edge keeps how it holds back; the new one behind the node is strict.
    """
    source, target = graph.edges[edge].source, graph.edges[edge].target
    for entry in _ports(graph, node, catalog, is_input=True):
        if not PortTypes(graph, catalog).fit(source, entry):
            continue
        led = edits.reconnect(graph, edge, target=entry)
        # What leaves may depend on what comes in, so the types are asked for again.
        types = PortTypes(led, catalog)
        for leaving in _ports(graph, node, catalog, is_input=False):
            if types.fit(leaving, target):
                return edits.connect(led, leaving, target)
    return graph


def wire_up(graph: Graph, node: str, wire: LooseWire, catalog: Catalog) -> Graph:
    """Connect a loose wire to the first port of a node that fits."""
    types = PortTypes(graph, catalog)
    for port in _ports(graph, node, catalog, is_input=not wire.is_input):
        source, target = (port, wire.port) if wire.is_input else (wire.port, port)
        if types.fit(source, target):
            return edits.connect(graph, source, target)
    return graph


def _ports(graph: Graph, node: str, catalog: Catalog, *, is_input: bool) -> list[PortRef]:
    operator = catalog.get(graph.nodes[node].operator)
    if operator is None:
        return []
    return [
        PortRef(node, port.name) for port in (operator.inputs if is_input else operator.outputs)
    ]
