"""Rules: whether a wire may be drawn, and if not, the sentence that says why. No Qt.

Judged while a wire is in hand, so quick; what only a whole graph can tell is the compiler's.
"""

from __future__ import annotations

from collections import deque

from aiflow.graph.model import Graph, PortRef
from aiflow.operators.registry import Catalog
from aiflow.types import PortType
from aiflow_studio.canvas.ports import PortTypes


class WireRules:
    """Answers for one graph; make a new one when the graph is another.

    Args:
        graph: the document's graph.
        catalog: where ports and their types stand.
    """

    def __init__(self, graph: Graph, catalog: Catalog) -> None:
        self._graph = graph
        self._catalog = catalog
        self._types = PortTypes(graph, catalog)
        self._walks: dict[tuple[str, str | None, bool], dict[str, str]] = {}

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
        return self._type_refusal(source, target) or self._cycle_refusal(source, target, instead_of)

    def _type_refusal(self, source: PortRef, target: PortRef) -> str:
        gives, takes = self._types.gives(source), self._types.takes(target)
        if gives is None or takes is None:
            return self._side_refusal(source, target, lacks_output=gives is None)
        if self._types.fit(source, target):
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
        operator = self._types.operator(node.id)
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

    def _cycle_refusal(self, source: PortRef, target: PortRef, instead_of: str | None) -> str:
        if not self._leads(target.node, source.node, instead_of):
            return ""
        before = self._walked(source.node, instead_of, is_back=True)
        path = [target.node]
        while path[-1] != source.node:
            path.append(before[path[-1]])
        ring = " → ".join([*path, target.node])
        return f"That wire would close a cycle ({ring}), and events would go round for ever."

    def _leads(self, first: str, last: str, instead_of: str | None) -> bool:
        """Say whether events get from one node to another.

        While a wire is in hand one of the two is always the same, and its walk is kept.
        """
        if (first, instead_of, False) in self._walks:
            return last in self._walked(first, instead_of, is_back=False)
        if (last, instead_of, True) not in self._walks:
            self._walked(first, instead_of, is_back=False)
        return first in self._walked(last, instead_of, is_back=True)

    def _walked(self, start: str, instead_of: str | None, *, is_back: bool) -> dict[str, str]:
        """Return every node on a way from `start`, or to it -> the node before on that walk."""
        key = (start, instead_of, is_back)
        if key not in self._walks:
            beside: dict[str, list[str]] = {}
            for edge in self._graph.edges.values():
                here, there = edge.source.node, edge.target.node
                if is_back:
                    here, there = there, here
                if edge.id != instead_of:
                    beside.setdefault(here, []).append(there)
            walk = {start: start}
            waiting = deque([start])
            while waiting:
                here = waiting.popleft()
                for there in beside.get(here, ()):
                    if there not in walk:
                        walk[there] = here
                        waiting.append(there)
            self._walks[key] = walk
        return self._walks[key]


def _range(takes: PortType) -> str:
    """Return what a type accepts, in words: `text (token, chunk, message)`."""
    if not takes.takes:
        return str(takes)
    return f"{takes} ({', '.join(part.name for part in takes.takes)})"
