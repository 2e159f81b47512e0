"""Tests of `aiflow.compiler.paths`."""

from __future__ import annotations

from aiflow.compiler.paths import rebase_paths
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from tests.moved_graphs import CATALOG, folders

__all__ = ["folders"]


def test_only_paths_that_are_found_change(folders):
    """Another param, a missing file, an absolute path and an unknown operator stay as they are."""
    old, new = folders
    graph = edits.add_node(Graph(), "player", params={"trace": "not-there", "word": "traces"})
    graph = edits.add_node(graph, "player", params={"trace": str(old / "traces" / "a.trace")})
    graph = edits.add_node(graph, "stranger", params={"trace": "traces/a.trace"})

    assert rebase_paths(graph, CATALOG, old, new) is graph


def test_saving_where_it_was_changes_no_path(folders):
    """Same folder, same graph; a graph without a file has no paths of its own."""
    old, new = folders
    graph = edits.add_node(Graph(), "player", params={"trace": "traces/a.trace"})

    assert rebase_paths(graph, CATALOG, old, old) is graph
    assert rebase_paths(graph, CATALOG, None, new) is graph


def test_each_path_of_a_list_changes_by_itself(folders):
    """Those that are not found stay as they are, in their places."""
    old, new = folders
    catalog = Catalog.load()
    params = {"trace": "traces/a.trace", "more_traces": ["gone.trace", "traces/a.trace"]}
    graph = edits.add_resource(Graph(), "provider", params=params)

    (moved,) = rebase_paths(graph, catalog, old, new).resources.values()

    first = moved.params["trace"]
    assert first != "traces/a.trace"
    assert list(moved.params["more_traces"]) == ["gone.trace", first]
