"""Placement: where nodes stand that the file gives no place, such as those of an export. No Qt.

Layered from left to right by the longest way from a source; a cycle is cut where it is met.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiflow.graph.model import Graph

COLUMN_STEP, ROW_STEP = 268.0, 190.0
_MARGIN = 40.0


def places(graph: Graph) -> Mapping[str, tuple[float, float]]:
    """Return a place for every node: its own, or one in a layered picture below all others."""
    homeless = [node for node in graph.nodes if node not in graph.layout]
    if not homeless:
        return graph.layout
    top = max((y + ROW_STEP + _MARGIN for _, y in graph.layout.values()), default=_MARGIN)
    left = min((x for x, _ in graph.layout.values()), default=_MARGIN)
    depths = _depths(graph)
    rows: dict[int, int] = {}
    found = dict(graph.layout)
    for node in homeless:
        column = depths[node]
        row = rows[column] = rows.get(column, -1) + 1
        found[node] = (left + column * COLUMN_STEP, top + row * ROW_STEP)
    return found


def _depths(graph: Graph) -> dict[str, int]:
    """Return each node's longest distance from a node without input, edges of cycles left out."""
    before: dict[str, list[str]] = {node: [] for node in graph.nodes}
    for edge in graph.edges.values():
        if edge.source.node in before and edge.target.node in before:
            before[edge.target.node].append(edge.source.node)
    depths: dict[str, int] = {}
    for start in graph.nodes:
        # A stack of our own: a chain of 5,000 nodes is deeper than Python's.
        waiting = [start]
        open_nodes: set[str] = set()
        while waiting:
            node = waiting[-1]
            ahead = [each for each in before[node] if each not in depths and each not in open_nodes]
            if node in depths:
                waiting.pop()
            elif ahead and node not in open_nodes:
                open_nodes.add(node)
                waiting.extend(ahead)
            else:
                depths[node] = max(
                    (depths[each] + 1 for each in before[node] if each in depths), default=0
                )
                waiting.pop()
    return depths
