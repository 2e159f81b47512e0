"""Tests of `aiflow.graph.diff`."""

from __future__ import annotations

from hypothesis import given

from aiflow.graph import codec, edits
from aiflow.graph.diff import Changes, diff
from aiflow.graph.model import Graph
from tests.runtime.graph.drawn import graphs


def small() -> Graph:
    """Return two nodes and an edge."""
    graph = edits.add_node(edits.add_node(Graph(), "delay", at=(0, 0)), "screen")
    return edits.connect(graph, "delay.out", "screen.in")


def test_each_kind_of_change_is_told_apart() -> None:
    """Added, removed and changed, entry by entry."""
    before = small()
    after = edits.merge_policy(before, "screen", {"queue_capacity": 2})
    after = edits.rename_node(after, "delay", "wait")
    after = edits.set_name(edits.add_resource(after, "provider"), "new")

    found = diff(before, after)

    assert found.nodes == Changes(added=("wait",), removed=("delay",), changed=("screen",))
    assert found.edges == Changes(added=("wait.out>screen.in",), removed=("delay.out>screen.in",))
    assert found.layout == Changes(added=("wait",), removed=("delay",))
    assert found.resources == Changes(added=("provider",))
    assert found.fields == ("name",)


def test_moving_is_a_change_of_the_layout_alone() -> None:
    """A view need not look at any node."""
    before = small()

    found = diff(before, edits.move(before, {"delay": (5, 5)}))

    assert found.layout == Changes(changed=("delay",))
    assert not any((found.nodes, found.edges, found.resources, found.fields))


@given(graphs())
def test_the_same_graph_from_two_files_does_not_differ(graph: Graph) -> None:
    """Entries that are other objects are compared by what they say."""
    assert not diff(graph, codec.loads(codec.dumps(graph)))
    assert not diff(graph, graph)


@given(graphs(), graphs())
def test_keys_are_told_apart_completely(before: Graph, after: Graph) -> None:
    """Every node is added, removed, changed or equal, and only one of these."""
    nodes = diff(before, after).nodes

    assert set(nodes.added) == after.nodes.keys() - before.nodes.keys()
    assert set(nodes.removed) == before.nodes.keys() - after.nodes.keys()
    both = before.nodes.keys() & after.nodes.keys()
    assert set(nodes.changed) == {id for id in both if before.nodes[id] != after.nodes[id]}
