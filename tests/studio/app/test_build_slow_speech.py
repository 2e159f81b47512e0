"""A person builds the slow-speech example from an empty canvas, with mouse and keys alone."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from aiflow.compiler.compile import compile as compile_graph
from aiflow.graph import codec
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow_studio.app.studio import Studio

EXAMPLE = codec.load(graphs_dir() / "examples" / "slow-speech.aiflow.json")
LEFT = Qt.MouseButton.LeftButton


class Person:
    """Someone at the window who has a mouse and a keyboard and nothing else."""

    def __init__(self, studio: Studio, qtbot: QtBot) -> None:
        self._studio = studio
        self._qtbot = qtbot
        self._view: Any = studio.canvas.widget()

    def add(self, word: str, at: tuple[float, float]) -> None:
        """Double-click on empty ground, type a word, press Enter."""
        QTest.mouseDClick(self._view.viewport(), LEFT, pos=self._view.mapFromScene(*at))
        box = self._studio.search.box
        self._qtbot.waitUntil(box.hasFocus)
        QTest.keyClicks(box, word)
        QTest.keyClick(box, Qt.Key.Key_Return)
        # A window manager does this; the offscreen platform has none.
        self._studio.window.activateWindow()
        self._qtbot.waitUntil(self._view.hasFocus)

    def rename(self, node: str, name: str) -> None:
        """Click the card, press F2, type, press Enter."""
        self.click_card(node)
        QTest.keyClick(self._view, Qt.Key.Key_F2)
        editors = self._view.findChildren(QLineEdit, "name-editor")
        (editor,) = [each for each in editors if each.isVisible()]
        editor.selectAll()
        QTest.keyClicks(editor, name)
        QTest.keyClick(editor, Qt.Key.Key_Return)

    def connect(self, source: str, target: str) -> None:
        """Drag from an out-port to an in-port."""
        start, end = self._port(source, is_input=False), self._port(target, is_input=True)
        pane = self._view.viewport()
        QTest.mousePress(pane, LEFT, pos=start)
        for step in range(1, 6):
            QTest.mouseMove(pane, start + (end - start) * step / 5)
        QTest.mouseRelease(pane, LEFT, pos=end)

    def detach(self, edge: str) -> None:
        """Click the wire, choose `detached` in the inspector."""
        wire = self._studio.canvas._projection.wires[edge]
        middle = self._view.mapFromScene(wire.path().pointAtPercent(0.5))
        QTest.mouseClick(self._view.viewport(), LEFT, pos=middle)
        self.choose("edge.fanout", "detached")

    def click_card(self, node: str) -> None:
        card = self._studio.canvas._projection.cards[node]
        at = self._view.mapFromScene(card.mapToScene(card.name_rect.center()))
        QTest.mouseClick(self._view.viewport(), LEFT, pos=at)

    def click_ground(self) -> None:
        """Click where nothing is, so that the inspector shows the graph itself."""
        pane = self._view.viewport()
        QTest.mouseClick(pane, LEFT, pos=QPoint(pane.width() - 12, pane.height() - 12))

    def type(self, field: str, text: str) -> None:
        """Click a field of the inspector, replace what stands in it, press Enter."""
        line = self._field(field)
        QTest.mouseClick(line, LEFT)
        QTest.keyClick(line, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(line, text)
        QTest.keyClick(line, Qt.Key.Key_Return)

    def choose(self, field: str, text: str) -> None:
        """Walk through a drop-down of the inspector with the arrow keys."""
        combo = self._field(field)
        assert isinstance(combo, QComboBox)
        combo.setFocus(Qt.FocusReason.TabFocusReason)
        row = combo.findText(text)
        assert row >= 0, f"{field} has no {text}"
        while combo.currentIndex() != row:
            down = combo.currentIndex() < row
            QTest.keyClick(combo, Qt.Key.Key_Down if down else Qt.Key.Key_Up)

    def tick(self, field: str) -> None:
        """Press Space on a box of the inspector."""
        box = self._field(field)
        box.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(box, Qt.Key.Key_Space)

    def _field(self, name: str) -> QWidget:
        # The page that was shown before may still wait to be deleted.
        found = self._studio.inspector.findChildren(QWidget, name)
        assert found, f"the inspector shows no {name}"
        return found[-1]

    def _port(self, port: str, *, is_input: bool) -> QPoint:
        node, _, name = port.partition(".")
        dot = self._studio.canvas._projection.cards[node].dot(name, is_input=is_input)
        assert dot is not None, f"there is no port {port}"
        at: QPointF = dot.anchor
        return self._view.mapFromScene(at)


@pytest.fixture
def person(studio: Studio, qtbot: QtBot) -> Person:
    """Return someone before a window of 1600 × 1000 with an empty graph."""
    studio.window.resize(1600, 1000)
    studio.window.activateWindow()
    QApplication.processEvents()
    studio.canvas.fit()
    return Person(studio, qtbot)


def test_the_slow_speech_graph_is_built_with_mouse_and_keys(studio: Studio, person: Person) -> None:
    """The result has the example's nodes, edges, resource and policies, and compiles."""
    for node in EXAMPLE.nodes.values():
        person.add(node.operator, EXAMPLE.layout[node.id])
    for made, name in (("chat", "model"), ("chunker", "chunks"), ("jsonl", "log")):
        person.rename(made, name)
    for edge in EXAMPLE.edges.values():
        person.connect(str(edge.source), str(edge.target))
        if edge.fanout == "detached":
            person.detach(edge.id)
    person.click_card("model")
    person.choose("resources.provider", "New provider…")
    person.type("resources.provider.trace", EXAMPLE.resources["provider"].params["trace"])
    person.click_card("chunks")
    person.type("params.max_tokens", "5")
    person.click_card("log")
    person.type("policy.queue_capacity", "64")
    person.click_card("speech")
    person.choose("policy.state", "serialized")
    person.click_ground()
    person.type("graph.name", EXAMPLE.name)
    person.type("graph.max_conversations", "1")
    person.tick("graph.measure.log")

    built = studio.document.graph
    assert list(built.nodes) == list(EXAMPLE.nodes)
    assert _meaning(built) == _meaning(EXAMPLE)
    assert built.layout == EXAMPLE.layout
    while studio.document.undo_stack.canUndo():
        studio.document.undo_stack.undo()
    assert studio.document.graph == Graph()
    assert not studio.canvas.shown_nodes()


def _meaning(graph: Graph) -> dict[str, object]:
    """Return what a graph says to the compiler, defaults filled in."""
    compiled = compile_graph(graph, Catalog.load())
    assert compiled.plan is not None, compiled.diagnostics
    return {
        "name": graph.name,
        "nodes": {
            id: (node.operator.name, node.operator.params, node.policy, node.is_measured)
            for id, node in compiled.plan.nodes.items()
        },
        "edges": {
            id: (edge.is_detached, edge.overflow) for id, edge in compiled.plan.edges.items()
        },
        "resources": {id: (each.kind, each.params) for id, each in graph.resources.items()},
        "bound": compiled.bound,
    }
