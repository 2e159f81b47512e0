"""A canvas with document, selection and controller, and a hand that presses and drags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.base import Operator, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.types import ANY, CHUNK, TEXT, TOKEN, TOOL_FRAGMENT
from aiflow_studio.canvas.controller import CanvasController
from aiflow_studio.canvas.nodegraphqt.adapter import NodeGraphQtCanvas
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.ui.theme import DARK

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


class Model(Source):
    name = "model"
    title = "Chat model"
    outputs = (Port("out", TOKEN, "the text"), Port("tools", TOOL_FRAGMENT))


class Router(Operator):
    name = "router"
    title = "Channel router"
    inputs = (Port("in", TOKEN),)
    outputs = (Port("reasoning", TOKEN), Port("answer", TOKEN))


class Chunker(Operator):
    name = "chunker"
    title = "Chunker"
    inputs = (Port("in", TEXT),)
    outputs = (Port("out", CHUNK),)


class Voice(Operator):
    name = "voice"
    title = "Voice"
    category = "sinks"
    inputs = (Port("in", CHUNK),)
    default_policy: ClassVar = {"state": "serialized"}


class Log(Operator):
    name = "log"
    title = "Log"
    category = "sinks"
    inputs = (Port("in", ANY),)


CATALOG = Catalog.of(Model, Router, Chunker, Voice, Log)


def small_graph() -> Graph:
    """Return model → router, and chunks and voice beside them, unconnected."""
    graph = Graph()
    for operator, id, at in (
        ("model", "model", (0, 0)),
        ("router", "router", (260, 0)),
        ("chunker", "chunks", (520, 0)),
        ("voice", "voice", (780, 0)),
        ("log", "log", (520, 260)),
    ):
        graph = edits.add_node(graph, operator, id=id, at=at)
    return edits.connect(graph, "model.out", "router.in")


class Bench:
    """One canvas that a person could sit at."""

    def __init__(self, graph: Graph) -> None:
        self.document = Document(graph)
        self.selection = Selection()
        self.canvas = NodeGraphQtCanvas(CATALOG, DARK)
        self.controller = CanvasController(self.canvas, self.document, self.selection, CATALOG)
        self.refusals: list[str] = []
        self.controller.refused.connect(self.refusals.append)
        self.view: Any = self.canvas.widget()
        self.view.resize(1100, 700)
        self.view.show()
        self.view.setFocus()
        QApplication.processEvents()
        self.canvas.fit()

    @property
    def viewport(self) -> QWidget:
        viewport: QWidget = self.view.viewport()
        return viewport

    @property
    def graph(self) -> Graph:
        return self.document.graph

    def card(self, node: str):
        return self.canvas._projection.card(node)

    def at_card(self, node: str) -> QPoint:
        """Return the middle of a card's name, in the viewport."""
        card = self.card(node)
        return self.view.mapFromScene(card.mapToScene(card.name_rect.center()))

    def at_port(self, node: str, port: str, *, is_input: bool) -> QPoint:
        return self.view.mapFromScene(self.card(node).dot(port, is_input=is_input).anchor)

    def at_wire(self, edge: str) -> QPoint:
        wire = self.canvas._projection.wires[edge]
        return self.view.mapFromScene(wire.mapToScene(wire.path().pointAtPercent(0.5)))

    def at(self, x: float, y: float) -> QPoint:
        return self.view.mapFromScene(QPointF(x, y))

    def drag(self, start: QPoint, end: QPoint, button=LEFT, modifiers=NONE) -> None:
        """Press, move in steps, let go."""
        self.press_and_move(start, end, button, modifiers)
        QTest.mouseRelease(self.viewport, button, modifiers, end)

    def press_and_move(self, start: QPoint, end: QPoint, button=LEFT, modifiers=NONE) -> None:
        QTest.mousePress(self.viewport, button, modifiers, start)
        for step in range(1, 6):
            QTest.mouseMove(self.viewport, start + (end - start) * step / 5)

    def click(self, at: QPoint, modifiers=NONE) -> None:
        QTest.mouseClick(self.viewport, LEFT, modifiers, at)

    def key(self, key: Qt.Key, modifiers=NONE) -> None:
        QTest.keyClick(self.view, key, modifiers)

    def close(self) -> None:
        self.canvas.close()
        # `processEvents` does not delete what is to be deleted later.
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def bench(qapp: QApplication) -> Iterator[Bench]:
    """Return a canvas that shows `small_graph`."""
    bench = Bench(small_graph())
    yield bench
    bench.close()


@pytest.fixture
def empty_bench(qapp: QApplication) -> Iterator[Bench]:
    """Return a canvas that shows nothing."""
    bench = Bench(Graph())
    yield bench
    bench.close()
