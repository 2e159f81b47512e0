"""The canvas in its window: what it asks for is answered by the other parts."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.app.studio import Studio

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(studio: Studio) -> Studio:
    """Return a studio that shows chat, router and speech, unconnected."""
    graph = Graph()
    for operator, at in (("chat", (0, 0)), ("router", (260, 0)), ("speech", (520, 0))):
        graph = edits.add_node(graph, operator, at=at)
    studio.window.resize(1500, 950)
    studio.window.activateWindow()
    studio.document.load(graph)
    QApplication.processEvents()
    studio.canvas.fit()
    return studio


def _drag(studio: Studio, start: QPoint, end: QPoint) -> None:
    pane = studio.canvas.widget().viewport()  # type: ignore[attr-defined]
    QTest.mousePress(pane, LEFT, pos=start)
    for step in range(1, 6):
        QTest.mouseMove(pane, start + (end - start) * step / 5)
    QTest.mouseRelease(pane, LEFT, pos=end)


def _focus() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def _port(studio: Studio, node: str, port: str, *, is_input: bool) -> QPoint:
    view: Any = studio.canvas.widget()
    dot = studio.canvas._projection.cards[node].dot(port, is_input=is_input)
    assert dot is not None
    return view.mapFromScene(dot.anchor)


def test_a_refused_wire_is_told_in_the_bar_too(window: Studio) -> None:
    """Near the pointer it fades; in the bar it stays until something else is said."""
    _drag(
        window,
        _port(window, "chat", "tools", is_input=False),
        _port(window, "speech", "in", is_input=True),
    )

    assert not window.document.graph.edges
    said = [each.text() for each in window.bar.findChildren(object) if hasattr(each, "text")]
    told = [each.toolTip() for each in window.bar.findChildren(object) if hasattr(each, "toolTip")]
    assert any("chat.tools gives tool-fragment" in str(text) for text in [*said, *told])


def test_a_wire_let_go_over_nothing_offers_what_it_can_end_at(window: Studio, qtbot: QtBot) -> None:
    """The search holds only operators that take the type; the chosen one comes connected."""
    view: Any = window.canvas.widget()
    _drag(window, _port(window, "router", "answer", is_input=False), view.mapFromScene(260, 320))
    box = window.search.box
    qtbot.waitUntil(box.hasFocus)

    QTest.keyClicks(box, "chunker")
    QTest.keyClick(box, Qt.Key.Key_Return)

    assert "router.answer>chunker.in" in window.document.graph.edges
    assert window.document.undo_stack.count() == 1
    assert window.selection.nodes == {"chunker"}


def test_a_finding_is_shown_as_a_badge(window: Studio) -> None:
    """What the compiler says of a node stands on its card and in its tip."""
    window.linter.check_now()

    findings = window.canvas._projection.cards["speech"].findings

    assert [each.code for each in findings]
    assert findings[0].message in window.canvas._projection.cards["speech"].tip


@pytest.mark.parametrize("action", ["validate", "run", "fit"])
def test_a_command_is_for_the_name_that_is_being_typed(
    window: Studio, qtbot: QtBot, action: str
) -> None:
    """What stands in the editor is in the document before anything is saved or run."""
    window.selection.set(frozenset({"speech"}))
    window.book.actions["rename"].trigger()
    qtbot.waitUntil(lambda: window.canvas.widget().isAncestorOf(_focus()))
    QTest.keyClicks(_focus(), "voice")

    window.book.actions[action].setEnabled(True)
    window.book.actions[action].trigger()

    assert "voice" in window.document.graph.nodes


def test_closing_asks_about_a_name_that_is_being_typed(window: Studio, qtbot: QtBot) -> None:
    """Nothing typed is lost."""
    window.selection.set(frozenset({"speech"}))
    window.book.actions["rename"].trigger()
    qtbot.waitUntil(lambda: window.canvas.widget().isAncestorOf(_focus()))
    QTest.keyClicks(_focus(), "voice")

    window.window.close()
    qtbot.waitUntil(lambda: window.window.findChild(QMessageBox, "ask-to-save") is not None)
    QTest.keyClick(window.window.findChild(QMessageBox, "ask-to-save"), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(window.errands) == 0)

    assert "voice" in window.document.graph.nodes
    assert window.window.isVisible()
