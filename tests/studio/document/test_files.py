"""Saving elsewhere keeps what relative paths mean."""

from __future__ import annotations

import pytest

from aiflow.errors import GraphFileError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow_studio.document.files import save_as
from tests.moved_graphs import CATALOG, folders

__all__ = ["folders"]


def test_a_path_means_the_same_file_after_save_as(folders):
    """Params of nodes and resources are led from the new folder; the file can be found."""
    old, new = folders
    graph = edits.add_node(Graph(), "player", params={"trace": "traces/a.trace"})
    graph = edits.add_resource(graph, "server", params={"trace": "traces/a.trace"})

    saved = save_as(new / "g.aiflow.json", graph, CATALOG, old)

    for path in (saved.nodes["player"].params["trace"], saved.resources["server"].params["trace"]):
        assert (new / path).resolve() == (old / "traces" / "a.trace").resolve()
        assert "\\" not in path
    assert codec.load(new / "g.aiflow.json").nodes == saved.nodes


def test_a_failed_save_as_leaves_an_old_file_whole(folders):
    """A folder in the place of the file is one sentence, and nothing was changed."""
    old, _ = folders
    graph = edits.add_node(Graph(), "player")

    with pytest.raises(GraphFileError, match="it is a folder"):
        save_as(old / "traces", graph, CATALOG, old)

    assert (old / "traces" / "a.trace").read_text() == "{}"


def test_an_export_has_no_layout(folders):
    """What a server runs is saved without places."""
    _, new = folders
    graph = edits.add_node(Graph(), "player", at=(10, 20))

    save_as(new / "e.aiflow.json", graph, CATALOG, None, export=True)

    assert codec.load(new / "e.aiflow.json").layout == {}
