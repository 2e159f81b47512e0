"""Tests of `aiflow.drawing.layout`: laws of a layered layout, on any graph."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.drawing.layout import GAP_Y, Point, layered

NODES = st.integers(1, 9).map(lambda count: [f"n{number}" for number in range(count)])


@st.composite
def drawn(draw: st.DrawFn) -> tuple[dict[str, Point], list[tuple[str, str]]]:
    """Draw sizes, and edges between any nodes: loops, cycles and parallels too."""
    nodes = draw(NODES)
    sizes = {node: (draw(st.floats(40, 240)), draw(st.floats(20, 120))) for node in nodes}
    ends = st.sampled_from(nodes)
    return sizes, draw(st.lists(st.tuples(ends, ends), max_size=14))


@given(drawn())
def test_no_card_covers_another(case: tuple[dict[str, Point], list[tuple[str, str]]]) -> None:
    """Each has a place, and those in one column keep their distance."""
    sizes, edges = case

    places = layered(sizes, edges).cards

    assert list(places) == list(sizes)
    boxes = sorted((x, y, *sizes[node]) for node, (x, y) in places.items())
    for (x, y, _, height), (other_x, other_y, _, _) in pairwise(boxes):
        if x == other_x:
            assert y + height + GAP_Y <= other_y + 1e-6
    assert min(x for x, _ in places.values()) == 0


@given(drawn())
def test_an_edge_that_closes_no_cycle_leads_to_the_right(
    case: tuple[dict[str, Point], list[tuple[str, str]]],
) -> None:
    """Only one of a cycle leads back; a way has two points in each column between."""
    sizes, edges = case

    places = layered(sizes, edges)

    for number, way in places.ways.items():
        source, target = edges[number]
        begin, end = places.cards[source][0] + sizes[source][0], places.cards[target][0]
        xs = [begin, *(x for x, _ in way), end]
        assert xs == sorted(xs)
        assert len(way) % 2 == 0
    acyclic = [(a, b) for a, b in edges if a < b]
    assert len(layered(sizes, acyclic).ways) == len(acyclic)


def test_a_chain_is_a_straight_line() -> None:
    """Nothing to bend for."""
    sizes: dict[str, Point] = {node: (100, 50) for node in "abcd"}

    places = layered(sizes, list(pairwise("abcd"))).cards

    assert {y for _, y in places.values()} == {0}


def test_a_diamond_stands_symmetrically() -> None:
    """The ends at the height between the two branches."""
    sizes: dict[str, Point] = {node: (100, 50) for node in "albe"}
    edges = [("a", "l"), ("a", "b"), ("l", "e"), ("b", "e")]

    places = layered(sizes, edges).cards

    middle = (places["l"][1] + places["b"][1]) / 2
    assert places["a"][1] == pytest.approx(middle)
    assert places["e"][1] == pytest.approx(middle)


def test_nothing_has_no_places() -> None:
    """An empty graph is no special case for whoever asks."""
    assert layered({}, []).cards == {}
