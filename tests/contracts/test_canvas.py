"""What every `CanvasView` must do; a new canvas library is held to the same suite.

To try another one, add a maker to `MAKERS`. It says where its picture has a node and a port,
because only the picture knows; everything else goes through the protocol and real events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import EdgeStats, NodeStats, Snapshot
from aiflow.operators.base import Operator, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.types import TOKEN
from aiflow_studio.canvas.intents import Connect, MoveNodes, Remove, Rename
from aiflow_studio.canvas.nodegraphqt.adapter import NodeGraphQtCanvas
from aiflow_studio.canvas.view import CanvasView
from aiflow_studio.ui.theme import DARK, THEMES

LEFT = Qt.MouseButton.LeftButton


class Giver(Source):
    name = "giver"
    outputs = (Port("out", TOKEN),)


class Taker(Operator):
    name = "taker"
    category = "sinks"
    inputs = (Port("in", TOKEN),)


CATALOG = Catalog.of(Giver, Taker)


@dataclass
class Subject:
    """One canvas and where its picture has things.

    Attributes:
        pane: the widget that takes the mouse.
        node_at, port_at: a node's or a port's place in it.
    """

    view: CanvasView
    pane: QWidget
    node_at: Callable[[str], QPoint]
    port_at: Callable[[str, str, bool], QPoint]


def _nodegraphqt() -> Subject:
    canvas = NodeGraphQtCanvas(CATALOG, DARK)
    view: Any = canvas.widget()

    def node_at(node: str) -> QPoint:
        card = canvas._projection.cards[node]
        return view.mapFromScene(card.mapToScene(card.name_rect.center()))

    def port_at(node: str, port: str, is_input: bool) -> QPoint:
        dot = canvas._projection.cards[node].dot(port, is_input=is_input)
        assert dot is not None
        return view.mapFromScene(dot.anchor)

    return Subject(canvas, view.viewport(), node_at, port_at)


MAKERS = {"nodegraphqt": _nodegraphqt}


def _graph() -> Graph:
    graph = edits.add_node(Graph(), "giver", id="model", at=(0, 0))
    graph = edits.add_node(graph, "taker", id="screen", at=(300, 40))
    return edits.add_node(graph, "taker", id="log", at=(300, 240))


@pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
def subject(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[Subject]:
    """Return a shown canvas with three nodes and no controller."""
    subject: Subject = request.param()
    subject.view.reconcile(Graph(), _graph())
    widget = subject.view.widget()
    widget.resize(900, 600)
    widget.show()
    widget.setFocus()
    QApplication.processEvents()
    subject.view.fit()
    yield subject
    subject.view.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _heard(subject: Subject) -> list[object]:
    heard: list[object] = []
    subject.view.intent.connect(heard.append)
    return heard


def _drag(pane: QWidget, start: QPoint, end: QPoint) -> None:
    QTest.mousePress(pane, LEFT, pos=start)
    for step in range(1, 6):
        QTest.mouseMove(pane, start + (end - start) * step / 5)
    QTest.mouseRelease(pane, LEFT, pos=end)


def test_a_drag_asks_for_a_move_and_changes_nothing_by_itself(subject):
    """One intent; the picture is the document's again when nobody answers."""
    heard = _heard(subject)
    start = subject.node_at("screen")

    _drag(subject.pane, start, start + QPoint(50, 60))

    (intent,) = heard
    assert isinstance(intent, MoveNodes)
    assert set(intent.positions) == {"screen"}
    assert subject.view.shown_nodes()["screen"] == (300, 40)


def test_a_wire_asks_for_an_edge_and_is_not_there_yet(subject):
    """One intent with both ports; no wire before the document has it."""
    heard = _heard(subject)

    _drag(
        subject.pane, subject.port_at("model", "out", False), subject.port_at("screen", "in", True)
    )

    (intent,) = heard
    assert isinstance(intent, Connect)
    assert (str(intent.source), str(intent.target)) == ("model.out", "screen.in")
    assert subject.view.shown_edges() == frozenset()


def test_reconcile_shows_what_the_document_holds(subject):
    """Nodes, places and edges of the graph after; again changes nothing."""
    after = edits.remove(edits.connect(_graph(), "model.out", "screen.in"), ["log"])
    after = edits.move(after, {"model": (-40, 7)})

    for _ in range(2):
        subject.view.reconcile(_graph(), after)

        assert dict(subject.view.shown_nodes()) == {"model": (-40, 7), "screen": (300, 40)}
        assert subject.view.shown_edges() == {"model.out>screen.in"}


def test_a_click_tells_what_is_selected(subject):
    """The signal carries node and edge ids; `select` itself says nothing."""
    told: list[tuple[object, object]] = []
    subject.view.selected.connect(lambda nodes, edges: told.append((nodes, edges)))

    QTest.mouseClick(subject.pane, LEFT, pos=subject.node_at("log"))
    subject.view.select(frozenset({"model"}), frozenset())

    assert told[-1] == (frozenset({"log"}), frozenset())


def test_delete_asks_for_the_removal_of_the_selection(subject):
    """The key speaks for what `select` has selected."""
    heard = _heard(subject)
    subject.view.select(frozenset({"log"}), frozenset())

    QTest.keyClick(subject.view.widget(), Qt.Key.Key_Delete)

    assert heard == [Remove(frozenset({"log"}), frozenset())]
    assert "log" in subject.view.shown_nodes()


def test_a_name_typed_in_place_asks_for_a_rename(subject):
    """`start_rename`, keys, Enter: one intent."""
    heard = _heard(subject)
    subject.view.start_rename("log")
    field = QApplication.focusWidget() or subject.view.widget().findChild(QWidget, "name-editor")

    QTest.keyClicks(field, "journal")
    QTest.keyClick(field, Qt.Key.Key_Return)

    assert heard == [Rename("log", "journal")]


def test_the_zoom_stays_within_bounds_and_is_told(subject, qtbot):
    """10 to 400 %; the signal carries the new one."""
    with qtbot.waitSignal(subject.view.zoomed) as told:
        subject.view.set_zoom(2.0)
    assert told.args == [2.0]

    subject.view.set_zoom(99)
    assert subject.view.zoom() == 4.0
    subject.view.set_zoom(0.0001)
    assert subject.view.zoom() == 0.1
    subject.view.fit()
    assert subject.view.zoom() <= 1.0


def test_findings_figures_themes_and_scales_change_no_picture(subject):
    """What is shown beside the graph never adds, moves or loses a node or an edge."""
    after = edits.connect(_graph(), "model.out", "screen.in")
    subject.view.reconcile(_graph(), after)
    nodes, edges = dict(subject.view.shown_nodes()), subject.view.shown_edges()

    subject.view.badge(
        [
            Diagnostic("AF301", Severity.ERROR, "one", node="screen"),
            Diagnostic("AF203", Severity.ERROR, "two", edge="model.out>screen.in"),
            Diagnostic("AF101", Severity.ERROR, "three", node="not-there"),
        ]
    )
    stats = {id: NodeStats(id, queue_capacity=8, depth=8) for id in ("screen", "stranger")}
    edge = EdgeStats("model.out>screen.in", is_full=True)
    for at in (1.0, 1.1, 2.4):
        subject.view.activity(
            Snapshot(at, 0, "running", "aiflow", 9, 1, 1, stats, {edge.id: edge}, {})
        )
    subject.view.widget().grab()
    subject.view.activity(None)
    for theme in THEMES.values():
        subject.view.set_theme(theme)
    subject.view.set_text_scale(1.5)
    subject.view.reveal("log")
    subject.view.reveal("not-there")
    subject.view.start_rename("not-there")
    subject.view.refuse("No.")
    subject.view.widget().grab()

    assert dict(subject.view.shown_nodes()) == nodes
    assert subject.view.shown_edges() == edges


def test_reveal_brings_a_node_into_sight(subject):
    """However far away it is, it is inside the pane afterwards."""
    far = edits.move(_graph(), {"log": (9000, 7000)})
    subject.view.reconcile(_graph(), far)
    assert not subject.pane.rect().contains(subject.node_at("log"))

    subject.view.reveal("log")

    assert subject.pane.rect().contains(subject.node_at("log"))
