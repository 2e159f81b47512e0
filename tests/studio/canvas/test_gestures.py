"""What a person does with the mouse, and what the document then holds."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from aiflow_studio.ui.drag import OPERATOR_MIME

CTRL = Qt.KeyboardModifier.ControlModifier


def test_a_drag_moves_a_node_in_one_step_and_touches_only_the_layout(bench):
    """A dragged card is one undo step; nodes and edges stay the same objects."""
    before = bench.graph

    start = bench.at_card("chunks")
    bench.drag(start, start + QPoint(60, 40))

    assert bench.document.undo_stack.count() == 1
    assert bench.document.undo_stack.undoText() == "Move chunks"
    assert bench.graph.nodes is before.nodes
    assert bench.graph.edges is before.edges
    zoom = bench.view.transform().m11()
    x, y = bench.graph.layout["chunks"]
    assert x == pytest.approx(520 + 60 / zoom, abs=1.5)
    assert y == pytest.approx(40 / zoom, abs=1.5)
    assert bench.canvas.shown_nodes()["chunks"] == (x, y)


def test_a_selected_group_moves_together(bench):
    """Dragging one of several selected cards carries all of them."""
    bench.click(bench.at_card("chunks"))
    bench.click(bench.at_card("voice"), CTRL)
    assert bench.selection.nodes == {"chunks", "voice"}

    start = bench.at_card("voice")
    bench.drag(start, start + QPoint(0, 50))

    assert bench.graph.layout["chunks"][1] == bench.graph.layout["voice"][1] > 0
    assert bench.document.undo_stack.count() == 1


def test_a_click_is_no_move(bench):
    """A press and release within a few pixels changes nothing and selects."""
    at = bench.at_card("router")

    bench.drag(at, at + QPoint(2, 1))

    assert bench.document.undo_stack.count() == 0
    assert bench.selection.nodes == {"router"}


def test_escape_puts_a_dragged_card_back(bench):
    """Esc while dragging leaves the document and the picture as they were."""
    start = bench.at_card("router")
    bench.press_and_move(start, start + QPoint(80, 80))

    bench.key(Qt.Key.Key_Escape)
    QTest.mouseRelease(bench.viewport, Qt.MouseButton.LeftButton, pos=start + QPoint(80, 80))

    assert bench.document.undo_stack.count() == 0
    assert bench.canvas.shown_nodes()["router"] == (260, 0)


def test_a_wire_drawn_from_out_to_in_becomes_an_edge(bench):
    """Dragging from an out-port to an in-port that takes its type connects them."""
    bench.drag(
        bench.at_port("router", "answer", is_input=False),
        bench.at_port("chunks", "in", is_input=True),
    )

    assert "router.answer>chunks.in" in bench.graph.edges
    assert "router.answer>chunks.in" in bench.canvas.shown_edges()
    assert bench.document.undo_stack.undoText() == "Connect router.answer to chunks.in"


def test_a_wire_may_be_drawn_backwards(bench):
    """From the in-port to the out-port is the same edge."""
    bench.drag(
        bench.at_port("chunks", "in", is_input=True),
        bench.at_port("router", "answer", is_input=False),
    )

    assert "router.answer>chunks.in" in bench.graph.edges


def test_a_wire_let_go_over_a_card_ends_at_the_port_that_fits(bench):
    """Nobody need aim at a glyph."""
    bench.drag(bench.at_port("router", "answer", is_input=False), bench.at_card("chunks"))

    assert "router.answer>chunks.in" in bench.graph.edges


def test_a_wire_is_not_shown_before_the_document_has_it(bench):
    """While the button is down there is no edge, neither shown nor held."""
    bench.press_and_move(
        bench.at_port("router", "answer", is_input=False),
        bench.at_port("chunks", "in", is_input=True),
    )

    assert bench.canvas.shown_edges() == {"model.out>router.in"}
    assert set(bench.graph.edges) == {"model.out>router.in"}
    bench.key(Qt.Key.Key_Escape)


def test_a_wire_of_a_wrong_type_is_refused_with_the_reason(bench):
    """The sentence names both ports, both types and what to put between."""
    bench.drag(
        bench.at_port("router", "answer", is_input=False),
        bench.at_port("voice", "in", is_input=True),
    )

    assert bench.refusals == [
        "router.answer gives token, but voice.in takes chunk; put a chunker between them."
    ]
    assert bench.canvas.shown_edges() == {"model.out>router.in"}
    assert bench.view.findChild(object, "refusal").isVisible()


def test_ports_that_do_not_fit_dim_while_a_wire_is_in_hand(bench):
    """Only what may be connected stays bright, and all is bright again afterwards."""
    bench.press_and_move(bench.at_port("router", "answer", is_input=False), bench.at(700, 400))

    assert bench.card("chunks").dot("in", is_input=True).opacity() == 1.0
    assert bench.card("voice").dot("in", is_input=True).opacity() < 0.5
    assert bench.card("model").dot("out", is_input=False).opacity() < 0.5
    bench.key(Qt.Key.Key_Escape)
    assert bench.card("voice").dot("in", is_input=True).opacity() == 1.0


def test_two_outputs_are_not_joined(bench):
    """A wire from an output to an output is refused in words."""
    bench.drag(
        bench.at_port("router", "answer", is_input=False),
        bench.at_port("chunks", "out", is_input=False),
    )

    assert bench.refusals == [
        "router.answer and chunks.out are both outputs; a wire leads from an output to an input."
    ]


def test_the_end_of_a_wire_can_be_carried_to_another_port(bench):
    """Picking up the end at an in-port and dropping it elsewhere is one step."""
    bench.drag(
        bench.at_port("router", "in", is_input=True), bench.at_port("chunks", "in", is_input=True)
    )

    assert set(bench.graph.edges) == {"model.out>chunks.in"}
    assert bench.canvas.shown_edges() == {"model.out>chunks.in"}
    bench.document.undo_stack.undo()
    assert set(bench.graph.edges) == {"model.out>router.in"}


def test_a_wire_whose_end_is_dropped_over_nothing_goes_away(bench):
    """Picking up an end and letting go over empty ground disconnects."""
    bench.drag(bench.at_port("router", "in", is_input=True), bench.at(300, 400))

    assert not bench.graph.edges
    assert not bench.canvas.shown_edges()


def test_a_rubber_band_selects_what_it_touches(bench):
    """A rectangle over two cards selects these two; the document is not changed."""
    bench.drag(bench.at(480, -60), bench.at(1000, 60))

    assert bench.selection.nodes == {"chunks", "voice"}
    assert bench.document.undo_stack.count() == 0


def test_a_click_on_empty_ground_selects_nothing(bench):
    """The selection ends where there is nothing."""
    bench.click(bench.at_card("voice"))

    bench.click(bench.at(100, 400))

    assert bench.selection.nodes == frozenset()


def test_a_click_on_a_wire_selects_the_edge(bench):
    """An edge can be picked, and Delete takes it away."""
    bench.click(bench.at_wire("model.out>router.in"))
    assert bench.selection.edges == {"model.out>router.in"}

    bench.key(Qt.Key.Key_Delete)

    assert not bench.graph.edges


def test_an_operator_dropped_on_the_canvas_becomes_a_node_there(bench):
    """The palette's drag adds a node where it is let go."""
    at = bench.at(300, 300)
    mime = QMimeData()
    mime.setData(OPERATOR_MIME, b"chunker")
    copies, buttons = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier

    enter = QDragEnterEvent(at, copies, mime, buttons, none)
    QApplication.sendEvent(bench.viewport, enter)
    drop = QDropEvent(QPointF(at), copies, mime, buttons, none)
    QApplication.sendEvent(bench.viewport, drop)

    assert enter.isAccepted()
    assert bench.graph.nodes["chunker"].operator == "chunker"
    x, y = bench.graph.layout["chunker"]
    assert (x, y) == pytest.approx((300, 300), abs=2)
    assert bench.selection.nodes == {"chunker"}


def test_a_dropped_file_is_left_to_the_window(bench):
    """A file over the canvas is not taken: it would be merged into the graph."""
    mime = QMimeData()
    mime.setText('{"nodes": {}}')
    copies, none = Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier

    enter = QDragEnterEvent(QPoint(50, 50), copies, mime, Qt.MouseButton.LeftButton, none)
    bench.view.dragEnterEvent(enter)

    assert not enter.isAccepted()
    assert len(bench.graph.nodes) == 5


def test_the_wheel_zooms_within_bounds(bench):
    """However far the wheel is turned, the zoom stays between 10 and 400 %."""
    for turn, bound in ((120, 4.0), (-120, 0.1)):
        for _ in range(300):
            _wheel(bench, turn)
        assert bench.canvas.zoom() == bound


def test_what_is_under_the_pointer_stays_there_while_zooming(bench):
    """Zooming with the wheel keeps the point under the pointer."""
    at = bench.at_card("voice")
    before = bench.view.mapToScene(at)

    _wheel(bench, -240, at)

    after = bench.view.mapToScene(at)
    assert (after - before).manhattanLength() < 4


def test_the_middle_button_pans(bench):
    """Dragging with the middle button moves the picture and nothing else."""
    before = bench.at_card("router")

    bench.drag(bench.at(100, 300), bench.at(100, 300) + QPoint(70, 30), Qt.MouseButton.MiddleButton)

    assert bench.at_card("router") - before == QPoint(70, 30)
    assert bench.document.undo_stack.count() == 0


def test_a_double_click_on_empty_ground_asks_for_the_search(bench, qtbot):
    """The search is asked for at the layout position that was clicked."""
    with qtbot.waitSignal(bench.canvas.search_requested) as asked:
        QTest.mouseDClick(bench.viewport, Qt.MouseButton.LeftButton, pos=bench.at(100, 300))

    assert asked.args == pytest.approx([100, 300], abs=2)


def _wheel(bench, turn, at=None):
    at = QPointF(at if at is not None else bench.viewport.rect().center())
    event = QWheelEvent(
        at,
        QPointF(bench.viewport.mapToGlobal(at.toPoint())),
        QPoint(),
        QPoint(0, turn),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(bench.viewport, event)


def test_space_and_a_drag_pan(bench):
    """With Space down the left button pans, over a card too; afterwards it drags again."""
    before = bench.at_card("router")
    QTest.keyPress(bench.view, Qt.Key.Key_Space)

    bench.drag(before, before + QPoint(40, 20))
    QTest.keyRelease(bench.view, Qt.Key.Key_Space)

    assert bench.at_card("router") - before == QPoint(40, 20)
    assert bench.document.undo_stack.count() == 0


def test_two_fingers_on_a_touch_pad_pan(bench):
    """A scroll with pixels and phases moves the picture and does not zoom."""
    before, zoom = bench.at_card("router"), bench.canvas.zoom()
    at = QPointF(bench.viewport.rect().center())
    event = QWheelEvent(
        at,
        at,
        QPoint(-30, 12),
        QPoint(-60, 24),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.ScrollUpdate,
        False,
    )

    QApplication.sendEvent(bench.viewport, event)

    assert bench.at_card("router") - before == QPoint(-30, 12)
    assert bench.canvas.zoom() == zoom


def test_the_refusal_fades_after_a_while(bench, qtbot):
    """The sentence goes by itself: a timer starts the fading."""
    bench.controller.add("no-such-operator")
    label = bench.view.findChild(object, "refusal")
    assert label.isVisible()
    assert bench.refusals == ["There is no operator no-such-operator; it cannot be added."]

    label._timer.timeout.emit()
    label._fade.setCurrentTime(label._fade.duration())

    assert not label.isVisible()


def test_a_double_click_on_a_card_renames_it(bench):
    """The name editor opens over the card."""
    QTest.mouseDClick(bench.viewport, Qt.MouseButton.LeftButton, pos=bench.at_card("voice"))

    editor = bench.view.findChild(object, "name-editor")
    assert editor.text() == "voice"
    QTest.keyClick(editor, Qt.Key.Key_Escape)


def test_the_menu_of_a_card_deletes_it(bench):
    """A right click selects the card and opens a menu that does not block."""
    at = bench.at_card("log")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, bench.viewport.mapToGlobal(at))
    QApplication.sendEvent(bench.viewport, event)
    menu = bench.view.findChild(QMenu, "canvas-menu")
    assert bench.selection.nodes == {"log"}

    next(each for each in menu.actions() if each.text().startswith("Delete")).trigger()

    assert "log" not in bench.graph.nodes
    menu.close()


def test_an_undo_while_a_wire_is_in_hand_drops_the_wire(bench):
    """The graph under the pointer may go away in mid-drag; nothing breaks."""
    bench.controller.add("chunker", (300, 300))
    bench.press_and_move(bench.at_port("chunker", "out", is_input=False), bench.at(700, 400))

    bench.document.undo_stack.undo()
    QTest.mouseMove(bench.viewport, bench.at_card("voice"))
    QTest.mouseRelease(bench.viewport, Qt.MouseButton.LeftButton, pos=bench.at_card("voice"))

    assert "chunker" not in bench.canvas.shown_nodes()
    assert set(bench.graph.edges) == {"model.out>router.in"}
    assert bench.card("voice").dot("in", is_input=True).opacity() == 1.0


def test_another_button_does_not_end_a_drag(bench):
    """A right click in mid-drag is ignored; the left button's release counts."""
    start = bench.at_card("chunks")
    bench.press_and_move(start, start + QPoint(30, 30))

    QTest.mouseClick(bench.viewport, Qt.MouseButton.RightButton, pos=start + QPoint(30, 30))
    assert bench.document.undo_stack.count() == 0
    QTest.mouseRelease(bench.viewport, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 30))

    assert bench.document.undo_stack.count() == 1
