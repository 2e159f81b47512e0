"""A graph whose params name files: what tests of moving a graph elsewhere have in common."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field

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
