"""Checking takes time linear in nodes and edges, whatever their arrangement."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest

from aiflow.graph import codec
from aiflow.graph.model import Edge, Graph, Node, PortRef, index_edges
from tests.runtime.compiler.parts import check


def edge(source: str, target: str) -> Edge:
    """Return `source.out>target.in`."""
    return Edge(PortRef(source, "out"), PortRef(target, "in"))


def made_of(edges: list[Edge]) -> Graph:
    """Return a graph of passes between the source `spring` and the sink `drain`."""
    ids = dict.fromkeys(end.node for each in edges for end in (each.source, each.target))
    kinds = {"spring": "spring", "drain": "drain"}
    nodes = {id: Node(id, kinds.get(id, "pass")) for id in ids}
    nodes["spring"] = Node("spring", "spring", {"limit": 1})
    return Graph(nodes=nodes, edges=index_edges(edges))


def chain_of(length: int) -> Graph:
    """Return `length` nodes in a row."""
    names = ["spring", *(f"n{number}" for number in range(length - 2)), "drain"]
    return made_of([edge(a, b) for a, b in pairwise(names)])


def ladder_of(diamonds: int) -> Graph:
    """Return diamonds in a row: the number of ways doubles with each."""
    edges, last = [], "spring"
    for number in range(diamonds):
        left, right, end = f"l{number}", f"r{number}", f"e{number}"
        edges += [edge(last, left), edge(last, right), edge(left, end), edge(right, end)]
        last = end
    return made_of([*edges, edge(last, "drain")])


def star_of(width: int) -> Graph:
    """Return many nodes between two."""
    ends = [f"n{number}" for number in range(width)]
    return made_of([e for end in ends for e in (edge("spring", end), edge(end, "drain"))])


def lines_of(work: Callable[[], Any]) -> int:
    """Count the lines of our own code that a call runs: a measure that no machine disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if "aiflow" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", [chain_of, ladder_of, star_of])
def test_twice_the_graph_is_twice_the_work(shape: Callable[[int], Graph]) -> None:
    """Not four times, and not twice to the power of its diamonds."""
    small, large = shape(20), shape(40)

    ratio = lines_of(lambda: check(large)) / lines_of(lambda: check(small))

    assert ratio < 2.2


def test_a_ladder_is_no_more_work_than_a_chain() -> None:
    """For as many nodes and edges: 200 diamonds hold 2 to the power of 200 ways."""
    ladder = ladder_of(30)
    chain = chain_of(len(ladder.edges))

    assert lines_of(lambda: check(ladder)) < 1.3 * lines_of(lambda: check(chain))


def test_a_graph_of_a_thousand_nodes_is_read_checked_and_written() -> None:
    """Round trip, no finding, and a plan with all of them."""
    graph = ladder_of(333)

    compiled = check(graph)

    assert codec.loads(codec.dumps(graph)) == graph
    assert compiled.diagnostics == ()
    assert compiled.plan is not None
    assert len(compiled.plan.nodes) == 1001


def test_a_wide_circle_is_still_linear() -> None:
    """Errors are found in linear time as well."""

    def rings(count: int) -> Graph:
        edges = [edge("spring", "drain")]
        for number in range(count):
            a, b = f"a{number}", f"b{number}"
            edges += [edge("spring", a), edge(a, b), edge(b, a), edge(b, "drain")]
        return made_of(edges)

    small, large = rings(20), rings(40)

    assert lines_of(lambda: check(large)) / lines_of(lambda: check(small)) < 2.2
