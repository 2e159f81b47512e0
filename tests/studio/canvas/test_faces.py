"""Tests of `aiflow_studio.canvas.faces`: what a card shows of its node."""

from __future__ import annotations

import pytest

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.canvas.faces import edges_by_node, node_face
from aiflow_studio.canvas.ports import PortTypes
from tests.studio.canvas.conftest import CATALOG, small_graph


def outputs(graph: Graph, node: str) -> list[tuple[str, str, bool]]:
    """Return name, type and whether it is missing of each out-port that a card shows."""
    face = node_face(graph.nodes[node], PortTypes(graph, CATALOG), edges_by_node(graph))
    return [(port.name, port.type.name, port.is_missing) for port in face.outputs]


@pytest.mark.parametrize("how", ["wanted", "used", "both"])
def test_the_port_of_dead_letters_is_shown_where_it_is_used_or_wanted(how: str) -> None:
    """Once, and nowhere else: most nodes give up on nothing."""
    graph = small_graph()
    if how != "wanted":
        graph = edits.connect(graph, "router.dead", "log.in")
    if how != "used":
        graph = edits.merge_policy(graph, "router", {"retry": {"then": "dead_letter"}})

    assert outputs(graph, "router")[-1] == ("dead", "dead-letter", False)
    assert len(outputs(graph, "router")) == len(outputs(small_graph(), "router")) + 1
    assert all(name != "dead" for name, _, _ in outputs(graph, "log"))
