"""What keys do on the canvas, and that they do nothing elsewhere."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def test_delete_removes_what_is_selected_in_one_step(bench):
    """A node goes with its edges, and one undo brings all back."""
    bench.click(bench.at_card("router"))

    bench.key(Qt.Key.Key_Delete)

    assert "router" not in bench.graph.nodes
    assert not bench.graph.edges
    assert not bench.canvas.shown_edges()
    bench.document.undo_stack.undo()
    assert bench.canvas.shown_edges() == {"model.out>router.in"}


def test_backspace_in_a_text_field_deletes_no_node(qtbot, bench):
    """With the focus in a line edit beside the canvas, keys are text."""
    bench.click(bench.at_card("router"))
    window = QWidget()
    qtbot.addWidget(window)
    field = QLineEdit("abc")
    layout = QVBoxLayout(window)
    layout.addWidget(field)
    layout.addWidget(bench.view)
    window.show()
    field.setFocus()

    for key in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
        QTest.keyClick(field, key)

    assert field.text() == "a"
    assert len(bench.graph.nodes) == 5
    bench.view.setParent(None)


def test_f2_renames_in_place_and_carries_the_edges(bench):
    """Type another name and press Enter: one step, the edge goes along, the node stays selected."""
    bench.click(bench.at_card("router"))

    bench.key(Qt.Key.Key_F2)
    _type(bench, "splitter")
    QTest.keyClick(_editor(bench), Qt.Key.Key_Return)

    assert "splitter" in bench.graph.nodes
    assert set(bench.graph.edges) == {"model.out>splitter.in"}
    assert bench.canvas.shown_edges() == {"model.out>splitter.in"}
    assert bench.selection.nodes == {"splitter"}
    assert bench.card("splitter").isSelected()
    assert bench.document.undo_stack.count() == 1


def test_escape_leaves_the_name(bench):
    """Esc in the name editor changes nothing."""
    bench.click(bench.at_card("router"))
    bench.key(Qt.Key.Key_F2)
    _type(bench, "splitter")

    QTest.keyClick(_editor(bench), Qt.Key.Key_Escape)

    assert "router" in bench.graph.nodes
    assert bench.document.undo_stack.count() == 0


def test_a_name_that_is_taken_stays_in_the_editor(bench):
    """A refused name is told and not lost; the editor stays open with it."""
    bench.click(bench.at_card("router"))
    bench.key(Qt.Key.Key_F2)
    _type(bench, "voice")

    QTest.keyClick(_editor(bench), Qt.Key.Key_Return)

    assert len(bench.refusals) == 1
    assert "voice" in bench.refusals[0]
    assert _editor(bench).text() == "voice"
    assert _editor(bench).isVisible()
    QTest.keyClick(_editor(bench), Qt.Key.Key_Escape)


def test_keys_in_the_name_editor_stay_there(bench):
    """Backspace, Delete and arrows edit the name and never reach the canvas."""
    bench.click(bench.at_card("router"))
    bench.key(Qt.Key.Key_F2)
    before = bench.graph

    for key in (Qt.Key.Key_Backspace, Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_Up):
        QTest.keyClick(_editor(bench), key)

    assert bench.graph is before
    QTest.keyClick(_editor(bench), Qt.Key.Key_Escape)


def test_a_click_beside_the_editor_offers_the_name(bench):
    """What was typed is kept when the person goes on."""
    bench.click(bench.at_card("router"))
    bench.key(Qt.Key.Key_F2)
    _type(bench, "splitter")

    bench.click(bench.at(100, 400))

    assert "splitter" in bench.graph.nodes


def test_arrows_move_the_selection_as_one_step(bench):
    """Steps in a row are one undo step; a later row is another."""
    bench.click(bench.at_card("router"))

    for _ in range(5):
        bench.key(Qt.Key.Key_Right)
    bench.key(Qt.Key.Key_Down, SHIFT)

    assert bench.graph.layout["router"] == (310, 1)
    assert bench.document.undo_stack.count() == 1
    bench.click(bench.at_card("voice"))
    bench.key(Qt.Key.Key_Up)
    bench.document.undo_stack.undo()
    assert bench.graph.layout["voice"] == (780, 0)
    bench.document.undo_stack.undo()
    assert bench.graph.layout["router"] == (260, 0)


def test_ctrl_a_selects_all_and_escape_nothing(bench):
    """Ctrl+A picks every node, Esc none; neither is an undo step."""
    bench.key(Qt.Key.Key_A, CTRL)
    assert bench.selection.nodes == set(bench.graph.nodes)

    bench.key(Qt.Key.Key_Escape)

    assert bench.selection.nodes == frozenset()
    assert bench.document.undo_stack.count() == 0


def test_tab_asks_for_the_search(bench, qtbot):
    """Tab on the canvas opens the operator search instead of leaving."""
    with qtbot.waitSignal(bench.canvas.search_requested):
        bench.key(Qt.Key.Key_Tab)


def test_copy_and_paste_make_new_nodes_with_inner_edges(bench):
    """Pasted nodes have new names, their own edge, a place beside, and are selected."""
    bench.click(bench.at_card("model"))
    bench.click(bench.at_card("router"), CTRL)

    bench.key(Qt.Key.Key_C, CTRL)
    bench.key(Qt.Key.Key_V, CTRL)

    assert set(bench.graph.edges) == {"model.out>router.in", "model-2.out>router-2.in"}
    assert bench.graph.layout["model-2"] == (32, 32)
    assert bench.selection.nodes == {"model-2", "router-2"}
    assert bench.document.undo_stack.count() == 1
    bench.key(Qt.Key.Key_V, CTRL)
    assert bench.graph.layout["model-3"] == (64, 64)


def test_cut_takes_away_and_paste_brings_back(bench):
    """Cut is undoable, and what was cut can be pasted."""
    bench.click(bench.at_card("voice"))

    bench.key(Qt.Key.Key_X, CTRL)
    assert "voice" not in bench.graph.nodes
    bench.key(Qt.Key.Key_V, CTRL)

    assert "voice" in bench.graph.nodes
    bench.document.undo_stack.undo()
    bench.document.undo_stack.undo()
    assert "voice" in bench.graph.nodes


def test_foreign_text_on_the_clipboard_is_refused_in_words(bench):
    """Pasting something that is no graph says so and changes nothing."""
    QApplication.clipboard().setText('["not", "a", "graph"]')
    before = bench.graph

    bench.key(Qt.Key.Key_V, CTRL)

    assert bench.graph is before
    assert len(bench.refusals) == 1
    assert "clipboard" in bench.refusals[0]


def _editor(bench) -> QLineEdit:
    editor = bench.view.findChild(QLineEdit, "name-editor")
    assert editor is not None
    return editor


def _type(bench, text):
    _editor(bench).selectAll()
    QTest.keyClicks(_editor(bench), text)
