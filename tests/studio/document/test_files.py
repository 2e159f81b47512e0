"""Saving elsewhere keeps what relative paths mean."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field

from aiflow.errors import GraphFileError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow.operators.base import Params, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.resources import Resource, ResourceParams
from aiflow.types import TOKEN
from aiflow_studio.document.files import save_as


class PlayerParams(Params):
    trace: str = Field("", description="A file.", json_schema_extra={"x-editor": "path"})
    word: str = Field("", description="No file.")


class Player(Source):
    name = "player"
    outputs = (Port("out", TOKEN),)
    Params: ClassVar = PlayerParams


class ServerParams(ResourceParams):
    trace: str = Field("", description="A file.", json_schema_extra={"x-editor": "path"})


class Server(Resource):
    kind = "server"
    Params: ClassVar = ServerParams


CATALOG = Catalog.of(Player, resources={"server": Server})


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder with `traces/a.trace` in it, and an empty one two levels away."""
    old, new = tmp_path / "old", tmp_path / "deep" / "new"
    (old / "traces").mkdir(parents=True)
    new.mkdir(parents=True)
    (old / "traces" / "a.trace").write_text("{}")
    return old, new


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
