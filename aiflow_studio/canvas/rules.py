"""Rules: whether a wire may be drawn, and if not, the sentence that says why. No Qt.

Judged while a wire is in hand, so quick; what only a whole graph can tell is the compiler's.
"""

from __future__ import annotations

from collections import deque

from aiflow.graph.model import Graph, PortRef
from aiflow.operators.registry import Catalog
from aiflow.types import PortType
from aiflow_studio.canvas.faces import may_flow, port_type


class WireRules:
    """Answers for one graph; make a new one when the graph is another.

    Args:
        graph: the document's graph.
        catalog: where ports and their types stand.
    """

    def __init__(self, graph: Graph, catalog: Catalog) -> None:
        self._graph = graph
        self._catalog = catalog
        self._fed = {str(edge.target): edge.id for edge in graph.edges.values()}
        self._after: dict[str, dict[str, str]] = {}

    def refusal(self, source: PortRef, target: PortRef, instead_of: str | None = None) -> str:
        """Say in one sentence why an edge from `source` to `target` cannot be; "" if it can.

        Args:
            source: the out-port.
            target: the in-port.
            instead_of: id of an edge that goes away in the same step.
        """
        if source.node == target.node:
            return f"{source} and {target} are on the same node; a node cannot feed itself."
        if f"{source}>{target}" in self._graph.edges:
            return f"{source} and {target} are connected already."
        return (
            self._type_refusal(source, target)
            or self._fed_refusal(target, instead_of)
            or self._cycle_refusal(source, target)
        )

    def _type_refusal(self, source: PortRef, target: PortRef) -> str:
        gives = port_type(self._graph, self._catalog, source.node, source.port, is_input=False)
        takes = port_type(self._graph, self._catalog, target.node, target.port, is_input=True)
        if gives is None or takes is None:
            return self._side_refusal(source, target, lacks_output=gives is None)
        if may_flow(gives, takes):
            return ""
        advice = "; draw it to a port of the same colour and shape"
        if between := self._between(gives, takes):
            advice = f"; put a {between} between them"
        return f"{source} gives {gives}, but {target} takes {_range(takes)}{advice}."

    def _side_refusal(self, source: PortRef, target: PortRef, *, lacks_output: bool) -> str:
        """Say why an end of a wire is no port of the side that is needed."""
        end, side, way = (
            (source, "out", "gives nothing out")
            if lacks_output
            else (target, "in", "takes nothing in")
        )
        node = self._graph.nodes.get(end.node)
        if node is None:
            return f"There is no node {end.node}."
        operator = self._catalog.get(node.operator)
        if operator is not None:
            here, there = operator.outputs, operator.inputs
            if not lacks_output:
                here, there = there, here
            if end.port in {port.name for port in there}:
                kind = "inputs" if lacks_output else "outputs"
                return (
                    f"{source} and {target} are both {kind};"
                    " a wire leads from an output to an input."
                )
            if not here:
                return f"{node.id} {way}; draw the wire to another node."
        return f"There is no {side}-port {end}; draw the wire to another port."

    def _between(self, gives: PortType, takes: PortType) -> str:
        """Return the title of an operator that turns one type into the other; "" if none does."""
        for operator in self._catalog.operators.values():
            if len(operator.inputs) != 1 or operator.inputs[0].type.takes_all:
                continue
            if operator.inputs[0].type.accepts(gives) and any(
                takes.accepts(port.type) for port in operator.outputs
            ):
                return (operator.title or operator.name).lower()
        return ""

    def _fed_refusal(self, target: PortRef, instead_of: str | None) -> str:
        fed_by = self._fed.get(str(target))
        if fed_by is None or fed_by == instead_of:
            return ""
        feeder = fed_by.partition(">")[0]
        return f"{target} is fed by {feeder} already; take that wire away first."

    def _cycle_refusal(self, source: PortRef, target: PortRef) -> str:
        came_from = self._reached_from(target.node)
        if source.node not in came_from:
            return ""
        path = [source.node]
        while path[-1] != target.node:
            path.append(came_from[path[-1]])
        ring = " → ".join([*reversed(path), target.node])
        return f"That wire would close a cycle ({ring}), and events would go round for ever."

    def _reached_from(self, start: str) -> dict[str, str]:
        """Return every node that `start` leads to -> the node before it on the way."""
        if start not in self._after:
            following: dict[str, list[str]] = {}
            for edge in self._graph.edges.values():
                following.setdefault(edge.source.node, []).append(edge.target.node)
            came_from = {start: start}
            waiting = deque([start])
            while waiting:
                here = waiting.popleft()
                for there in following.get(here, ()):
                    if there not in came_from:
                        came_from[there] = here
                        waiting.append(there)
            self._after[start] = came_from
        return self._after[start]


def _range(takes: PortType) -> str:
    """Return what a type accepts, in words: `text (token, chunk, message)`."""
    if not takes.takes:
        return str(takes)
    return f"{takes} ({', '.join(part.name for part in takes.takes)})"
