"""Tests of `aiflow.compiler.paths`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field

from aiflow.compiler.paths import rebase_paths
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.base import Params, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.resources import Resource, ResourceParams
from aiflow.types import TOKEN


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
