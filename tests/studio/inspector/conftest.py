"""A small world for the inspector: a graph of real operators, and a panel in a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest
from pydantic import Field, model_validator
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from aiflow.graph.model import Edge, Graph, Node, PortRef
from aiflow.operators.base import Operator, Params, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.policies import SideEffects, State
from aiflow.resources import Resource, ResourceParams
from aiflow.types import TEXT, TOKEN
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.panel import InspectorPanel
from aiflow_studio.ui.theme import DARK


class PaceParams(Params):
    seconds: float = Field(
        0.25, ge=0, le=60, title="Pace", description="Time each.", json_schema_extra={"x-unit": "s"}
    )
    least: int = Field(1, ge=0, description="Lower end.")
    most: int = Field(5, ge=0, description="Upper end.")
    words: tuple[str, ...] = Field(("a",), description="Words.")
    note: str = Field("", description="A note.", json_schema_extra={"x-editor": "multiline"})
    is_loud: bool = Field(False, description="Whether it shouts.")
    limit: int | None = Field(None, ge=1, description="Empty means no limit.")

    @model_validator(mode="after")
    def _ends_are_in_order(self) -> PaceParams:
        if self.least > self.most:
            raise ValueError("least is more than most")
        return self


class Voice(Operator[PaceParams]):
    name = "voice"
    title = "Voice"
    category = "sinks"
    summary = "Says it."
    inputs = (Port("in", TEXT),)
    Params: ClassVar = PaceParams
    state = State.SERIALIZED
    side_effects = SideEffects.NON_IDEMPOTENT
    accepts: ClassVar = {"engine": "shop"}


class Model(Source[Params]):
    name = "model"
    title = "Model"
    outputs = (Port("out", TOKEN),)
    requires: ClassVar = {"provider": "shop"}


class ShopParams(ResourceParams):
    endpoint: str = Field("", description="Where it is.")
    credential: str = Field(
        "", description="Name of a variable.", json_schema_extra={"x-editor": "secret-name"}
    )
    dialect: str = Field(
        "plain", description="Format.", json_schema_extra={"x-choices": ["plain", "polite"]}
    )


class Shop(Resource[ShopParams]):
    kind = "shop"
    Params: ClassVar = ShopParams


class Stall(Resource[ResourceParams]):
    kind = "stall"
    serves_as = ("shop",)


@pytest.fixture
def catalog() -> Catalog:
    """Return a catalog of two operators, a resource, and one that stands in for it."""
    return Catalog.of(Voice, Model, resources={"shop": Shop, "stall": Stall})


@pytest.fixture
def graph() -> Graph:
    """Return a graph of a source and two sinks."""
    edges = [
        Edge(PortRef("model", "out"), PortRef("speech", "in")),
        Edge(PortRef("model", "out"), PortRef("log", "in"), "detached"),
    ]
    nodes = [Node("model", "model"), Node("speech", "voice"), Node("log", "voice")]
    return Graph(nodes={node.id: node for node in nodes}, edges={edge.id: edge for edge in edges})


@pytest.fixture
def document(graph: Graph, qapp: object) -> Document:
    """Return the open document."""
    return Document(graph)


@pytest.fixture
def selection(qapp: object) -> Selection:
    """Return an empty selection."""
    return Selection()


@pytest.fixture
def panel(
    qtbot: QtBot, document: Document, selection: Selection, catalog: Catalog
) -> InspectorPanel:
    """Return the inspector in an active window."""
    panel = InspectorPanel(document, selection, catalog, DARK)
    qtbot.addWidget(panel)
    panel.resize(332, 900)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.activateWindow()
    return panel


@pytest.fixture
def field(panel: InspectorPanel) -> Callable[[str], QWidget]:
    """Return a finder of fields by object name."""

    def find(name: str) -> QWidget:
        page = panel.findChild(QWidget, "page")
        assert page is not None
        widget = page.findChild(QWidget, name)
        assert widget is not None, f"there is no {name}"
        return widget

    return find
