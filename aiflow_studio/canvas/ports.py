"""Port types of one graph: what each port gives and takes, as the compiler sees it. No Qt."""

from __future__ import annotations

from aiflow.compiler.resolved import (
    ResolvedNode,
    in_port,
    is_type_known,
    out_port,
    output_type,
    resolve_types,
)
from aiflow.graph.model import Edge, Graph, PortRef
from aiflow.operators.base import Operator
from aiflow.operators.registry import Catalog
from aiflow.types import PortType


class PortTypes:
    """Answers for one graph; make a new one when the graph is another.

    Args:
        graph: the document's graph, good or bad.
        catalog: the operators that are known.
    """

    def __init__(self, graph: Graph, catalog: Catalog) -> None:
        self.graph = graph
        self.catalog = catalog
        self._resolved = resolve_types(graph, catalog)

    def operator(self, node: str) -> type[Operator] | None:
        """Return a node's operator; None where the node or the operator is not known."""
        found = self.graph.nodes.get(node)
        return self.catalog.get(found.operator) if found is not None else None

    def gives(self, source: PortRef) -> PortType | None:
        """Return what leaves by an out-port; None where there is no such port.

        What passes a delay unchanged is still a token behind it. An unknown operator gives
        anything.
        """
        node = self._node(source.node)
        port = out_port(node, source.port) if node is not None else None
        if node is None or port is None:
            return None
        return output_type(node, port, self._resolved.types)

    def carries(self, edge: Edge) -> PortType | None:
        """Return what flows along an edge; None where it leaves no port."""
        return self._resolved.types.get(edge.id) or self.gives(edge.source)

    def takes(self, target: PortRef) -> PortType | None:
        """Return what an in-port takes; None where there is no such port."""
        node = self._node(target.node)
        port = in_port(node, target.port) if node is not None else None
        return port.type if port is not None else None

    def fit(self, source: PortRef, target: PortRef) -> bool:
        """Say whether an edge between two ports carries what its end takes.

        Where it is not clear yet what leaves, because nothing comes in, any end will do.
        """
        gives, takes = self.gives(source), self.takes(target)
        node = self._node(source.node)
        if gives is None or takes is None or node is None:
            return False
        return takes.accepts(gives) or not is_type_known(node, source.port)

    def _node(self, node: str) -> ResolvedNode | None:
        resolved = self._resolved.nodes.get(node)
        if resolved is None and node in self.graph.nodes:
            # A disabled node takes no part in a run, but it has ports to draw.
            entry = self.graph.nodes[node]
            return ResolvedNode(entry, self.catalog.get(entry.operator))
        return resolved
