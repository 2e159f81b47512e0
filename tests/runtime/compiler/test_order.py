"""Tests of `aiflow.compiler.order`."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aiflow.compiler.order import cycles, reachable, topological

Successors = dict[str, list[str]]


@st.composite
def directed(draw: st.DrawFn) -> Successors:
    """Draw a graph of up to seven nodes with any edges."""
    nodes = list("abcdefg")[: draw(st.integers(0, 7))]
    behind = st.lists(st.sampled_from(nodes), max_size=3) if nodes else st.just([])
    return {node: draw(behind) for node in nodes}


def _reaches(graph: Successors, start: str, goal: str) -> bool:
    return any(goal in reachable(graph, [behind]) for behind in graph[start])


@given(directed())
def test_each_node_comes_after_those_before_it(graph: Successors) -> None:
    """As far as there is no cycle; each node comes exactly once."""
    order = topological(graph)
    place = {node: number for number, node in enumerate(order)}
    looped = [node for node in graph if _reaches(graph, node, node)]
    free = graph.keys() - reachable(graph, looped)

    assert sorted(order) == sorted(graph)
    assert all(
        place[node] < place[behind] for node in free for behind in graph[node] if behind in free
    )


@given(directed())
def test_a_cycle_is_found_where_there_is_one(graph: Successors) -> None:
    """Every cycle reported is one, and every group that reaches itself has one reported."""
    found = cycles(graph)

    for loop in found:
        assert all(behind in graph[node] for node, behind in pairwise([*loop, loop[0]]))
        assert len(set(loop)) == len(loop)
    in_some = {node for node in graph if _reaches(graph, node, node)}
    groups = {
        frozenset(m for m in in_some if m in reachable(graph, [n]) and n in reachable(graph, [m]))
        for n in in_some
    }
    assert len(found) == len(groups)


def test_ties_are_broken_by_the_document() -> None:
    """The same graph has the same plan each time, and what is named first comes first."""
    graph = {"b": ["d"], "a": ["d"], "d": [], "c": []}

    assert topological(graph) == ["b", "a", "c", "d"]
    assert topological(graph, first=["c"]) == ["c", "b", "a", "d"]


def test_a_long_chain_needs_no_recursion() -> None:
    """A graph of 100,000 nodes in a row, closed to a ring."""
    names = [str(number) for number in range(100_000)]
    ring = {node: [behind] for node, behind in pairwise([*names, names[0]])}

    assert cycles(ring) == [names]
    assert topological({**ring, names[-1]: []}) == names
