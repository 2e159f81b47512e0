"""Where the cards of a graph stand, from left to right in the order in which events pass.

Layers by longest way, order within a layer by the middle of the neighbours, and places that
are pulled towards them. An edge over several layers gets a place of its own in each layer
between, so that it passes cards and does not cross them. Cycles are drawn with the edge
that closes them leading back.
Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical
system structures", 1981.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

GAP_X = 76.0
GAP_Y = 34.0
_LANE = 18.0
_SWEEPS = 6

Point = tuple[float, float]


@dataclass(slots=True)
class Places:
    """Where everything stands.

    Attributes:
        cards: node -> top left corner.
        ways: index of an edge -> points that it passes between its ends, from left to right.
    """

    cards: dict[str, Point] = field(default_factory=dict)
    ways: dict[int, list[Point]] = field(default_factory=dict)


def layered(sizes: Mapping[str, Point], edges: Sequence[tuple[str, str]]) -> Places:
    """Return a place for every node.

    Args:
        sizes: node -> (width, height), in the document's order.
        edges: (from, to) of nodes in `sizes`; loops and cycles may be among them.
    """
    forward = _without_cycles(sizes, edges)
    rank = _ranks(sizes, forward.values())
    columns, chains = _columns(sizes, forward, rank)
    heights = {node: size[1] for node, size in sizes.items()}
    before, behind = _neighbours(chains.values())
    _order(columns, before, behind)
    tops = _tops(columns, heights, before, behind)
    return _placed(sizes, columns, chains, tops, rank)


def _without_cycles(
    nodes: Mapping[str, Point], edges: Sequence[tuple[str, str]]
) -> dict[int, tuple[str, str]]:
    """Return index -> edge without those that lead back to a node still being followed."""
    leaving: dict[str, list[tuple[int, str]]] = {node: [] for node in nodes}
    entered = dict.fromkeys(nodes, 0)
    for number, (source, target) in enumerate(edges):
        leaving[source].append((number, target))
        entered[target] += 1
    state: dict[str, int] = {}
    forward: dict[int, tuple[str, str]] = {}
    # Sources first, so that of a cycle that edge is turned which leads back towards them.
    for root in sorted(nodes, key=lambda node: entered[node] > 0):
        if root in state:
            continue
        state[root] = 1
        path = [(root, iter(leaving[root]))]
        while path:
            node, rest = path[-1]
            for number, target in rest:
                if state.get(target) == 1:
                    continue
                forward[number] = (node, target)
                if target not in state:
                    state[target] = 1
                    path.append((target, iter(leaving[target])))
                    break
            else:
                state[node] = 2
                path.pop()
    return dict(sorted(forward.items()))


def _ranks(nodes: Mapping[str, Point], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the column of each node: one behind the last of those before it."""
    behind: dict[str, list[str]] = {node: [] for node in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for source, target in edges:
        behind[source].append(target)
        waiting[target] += 1
    rank = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if waiting[node] == 0]
    for node in ready:
        for target in behind[node]:
            rank[target] = max(rank[target], rank[node] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return rank


def _columns(
    nodes: Mapping[str, Point], edges: Mapping[int, tuple[str, str]], rank: Mapping[str, int]
) -> tuple[list[list[str]], dict[int, list[str]]]:
    """Return the columns, and index of an edge -> all it passes, its ends included."""
    columns: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for node in nodes:
        columns[rank[node]].append(node)
    chains = {}
    for number, (source, target) in edges.items():
        lanes = [f"\0{number}:{column}" for column in range(rank[source] + 1, rank[target])]
        for column, lane in enumerate(lanes, rank[source] + 1):
            columns[column].append(lane)
        chains[number] = [source, *lanes, target]
    return columns, chains


def _neighbours(ways: Iterable[list[str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = {}
    behind: dict[str, list[str]] = {}

    for way in ways:
        for one, other in pairwise(way):
            behind.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    return before, behind


def _order(
    columns: list[list[str]], before: Mapping[str, list[str]], behind: Mapping[str, list[str]]
) -> None:
    """Sort each column by the middle of its neighbours, to and fro."""
    place = {node: number for each in columns for number, node in enumerate(each)}
    for sweep in range(_SWEEPS):
        is_forth = sweep % 2 == 0
        near = before if is_forth else behind
        for column in columns[1:] if is_forth else columns[-2::-1]:
            middle = {
                node: median(place[other] for other in near.get(node) or [node]) for node in column
            }
            column.sort(key=middle.__getitem__)
            place.update((node, number) for number, node in enumerate(column))


def _tops(
    columns: list[list[str]],
    heights: Mapping[str, float],
    before: Mapping[str, list[str]],
    behind: Mapping[str, list[str]],
) -> dict[str, float]:
    """Return the upper edge of each thing: near the middle of its neighbours, in its order."""
    tops: dict[str, float] = {}
    for column in columns:
        top = 0.0
        for node in column:
            tops[node] = top
            top += heights.get(node, _LANE) + GAP_Y

    def centre(node: str) -> float:
        return tops[node] + heights.get(node, _LANE) / 2

    for sweep in range(_SWEEPS):
        is_forth = sweep % 2 == 0
        near = before if is_forth else behind
        for column in columns[1:] if is_forth else columns[-2::-1]:
            wanted = [
                (sum(map(centre, near[node])) / len(near[node]) if near.get(node) else centre(node))
                - heights.get(node, _LANE) / 2
                for node in column
            ]
            sizes = [heights.get(node, _LANE) for node in column]
            tops.update(zip(column, _spread(wanted, sizes), strict=True))
    lowest = min(tops.values(), default=0.0)
    return {node: top - lowest for node, top in tops.items()}


def _spread(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return places in the given order, without overlap, as near to the wanted as can be.

    Neighbours that would overlap become a block, which stands at the mean of their wishes.
    Source: pool adjacent violators, M. Ayer et al., 1955.
    """
    blocks: list[tuple[float, int, float]] = []  # sum of wishes for the block's top, count, length
    for wish, size in zip(wanted, sizes, strict=True):
        total, count, length = wish, 1, size + GAP_Y
        while blocks and blocks[-1][0] / blocks[-1][1] + blocks[-1][2] > total / count:
            last_total, last_count, last_length = blocks.pop()
            total = last_total + total - count * last_length
            count += last_count
            length += last_length
        blocks.append((total, count, length))
    tops: list[float] = []
    left = list(sizes)
    for total, count, _ in blocks:
        top = total / count
        for size in left[:count]:
            tops.append(top)
            top += size + GAP_Y
        del left[:count]
    return tops


def _placed(
    sizes: Mapping[str, Point],
    columns: list[list[str]],
    chains: Mapping[int, list[str]],
    tops: Mapping[str, float],
    rank: Mapping[str, int],
) -> Places:
    places = Places()
    lefts, left = [], 0.0
    for column in columns:
        lefts.append(left)
        left += max((sizes[node][0] for node in column if node in sizes), default=0) + GAP_X
    for node in sizes:
        places.cards[node] = (lefts[rank[node]], tops[node])
    for number, way in chains.items():
        first = rank[way[0]] + 1
        points: list[Point] = []
        for place, lane in enumerate(way[1:-1], first):
            middle = tops[lane] + _LANE / 2
            points += [(lefts[place], middle), (lefts[place + 1] - GAP_X, middle)]
        places.ways[number] = points
    return places
