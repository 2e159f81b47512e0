"""Order and cycles of a directed graph; linear in nodes and edges, without recursion."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence


def topological(successors: Mapping[str, Sequence[str]], first: Iterable[str] = ()) -> list[str]:
    """Return all nodes so that each comes after those before it, as far as there is no cycle.

    Args:
        successors: node -> nodes behind it, one entry per edge; every node is a key.
        first: nodes that come before all others, if nothing stands before them.

    Returns:
        Nodes in the mapping's order where nothing else decides; nodes on a cycle or behind
        one last.
    """
    waiting = dict.fromkeys(successors, 0)
    for behind in successors.values():
        for node in behind:
            waiting[node] += 1
    ready = deque(node for node in dict.fromkeys((*first, *successors)) if waiting[node] == 0)
    order: list[str] = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for behind in successors[node]:
            waiting[behind] -= 1
            if waiting[behind] == 0:
                ready.append(behind)
    done = set(order)
    return order + [node for node in successors if node not in done]


def cycles(successors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return one cycle of each group of nodes that can all reach one another.

    Returns:
        Each cycle as its nodes in the order of its edges, beginning with the node that is
        first in the mapping; groups in the mapping's order.
    """
    place = {node: number for number, node in enumerate(successors)}
    found = []
    for group in _strong_groups(successors):
        inside = set(group)
        first = min(group, key=place.__getitem__)
        if len(group) > 1 or first in successors[first]:
            found.append(_cycle(successors, first, inside))
    return sorted(found, key=lambda nodes: place[nodes[0]])


def circles(successors: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return node -> number of its group: two nodes share one where each reaches the other."""
    groups = enumerate(_strong_groups(successors))
    return {node: number for number, group in groups for node in group}


def reachable(successors: Mapping[str, Sequence[str]], starts: Iterable[str]) -> set[str]:
    """Return the starts and all nodes behind them."""
    seen = set(starts)
    left = list(seen)
    while left:
        for behind in successors[left.pop()]:
            if behind not in seen:
                seen.add(behind)
                left.append(behind)
    return seen


def _cycle(successors: Mapping[str, Sequence[str]], first: str, inside: set[str]) -> list[str]:
    """Return the shortest way from a node back to itself within its group."""
    before: dict[str, str] = {}
    left = deque([first])
    while left:
        node = left.popleft()
        for behind in successors[node]:
            if behind == first:
                way = [node]
                while way[-1] != first:
                    way.append(before[way[-1]])
                return way[::-1]
            if behind in inside and behind not in before:
                before[behind] = node
                left.append(behind)
    raise AssertionError(f"{first} is on no cycle")


def _strong_groups(successors: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components.

    Source: R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    for root in successors:
        if root in number:
            continue
        path = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        open_nodes.append(root)
        is_open.add(root)
        while path:
            node, behind = path[-1]
            for each in behind:
                if each not in number:
                    number[each] = low[each] = len(number)
                    open_nodes.append(each)
                    is_open.add(each)
                    path.append((each, iter(successors[each])))
                    break
                if each in is_open:
                    low[node] = min(low[node], number[each])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    group: list[str] = []
                    while not group or group[-1] != node:
                        group.append(open_nodes.pop())
                        is_open.discard(group[-1])
                    yield group
