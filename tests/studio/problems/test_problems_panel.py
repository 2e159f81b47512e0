"""What a person reads and does in the problems panel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu, QPushButton

from aiflow.compiler.compile import Compiled
from aiflow.compiler.diagnostics import Diagnostic, Fix, Severity
from aiflow.errors import EditError
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.problems.model import Column, as_text
from aiflow_studio.problems.panel import ProblemsPanel
from aiflow_studio.ui.theme import DARK


def _graph() -> Graph:
    graph = edits.add_node(Graph(), "synthetic", id="source")
    graph = edits.add_node(graph, "screen")
    return edits.connect(graph, "source.out", "screen.in")


HINT = Diagnostic("AF601", Severity.HINT, "screen may be slow", "declare its time", node="screen")
ERROR = Diagnostic(
    "AF203", Severity.ERROR, "screen has no field x", "remove it", node="screen", field="x"
)
WARNING = Diagnostic(
    "AF110",
    Severity.WARNING,
    "nothing is measured",
    edge="source.out>screen.in",
    fix=Fix("Measure at screen", lambda graph: edits.set_measure(graph, ["screen"])),
)


@pytest.fixture
def document(qapp):
    """Return a document of two nodes and an edge."""
    return Document(_graph())


@pytest.fixture
def selection(qapp):
    """Return an empty selection."""
    return Selection()


@pytest.fixture
def panel(qtbot, document, selection):
    """Return the panel with a hint, an error and a warning."""
    panel = ProblemsPanel(document, selection, DARK)
    qtbot.addWidget(panel)
    panel.resize(900, 240)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.show_compiled(Compiled(None, (HINT, ERROR, WARNING), {}, None))
    return panel


def _cell(panel, row: int, column: Column) -> str:
    return str(panel.table.model().index(row, column).data())


def _summary(panel) -> str:
    label = panel.findChild(QLabel, "problems.summary")
    return str(label.text())


def _click(qtbot, panel, row: int) -> None:
    place = panel.table.visualRect(panel.table.model().index(row, Column.MESSAGE)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_the_worst_comes_first_with_word_and_sign(panel):
    """Never by colour alone."""
    assert [_cell(panel, row, Column.SEVERITY) for row in range(3)] == [
        "✕ error",
        "▲ warning",
        "○ hint",
    ]
    assert _cell(panel, 0, Column.CODE) == "AF203"
    assert _cell(panel, 0, Column.WHERE) == "screen, x"
    assert _cell(panel, 0, Column.HINT) == "remove it"


def test_the_tab_counts_problems_and_hints_are_none(qtbot, panel):
    """As the command line counts."""
    titles: list[str] = []
    panel.title_changed.connect(titles.append)

    panel.show_compiled(Compiled(None, (HINT,), {}, 9))
    panel.show_compiled(Compiled(None, (HINT, ERROR, WARNING), {}, None))

    assert titles == ["Problems 0", "Problems 2"]


def test_a_click_leads_to_the_node(qtbot, panel, selection):
    """And selects it, so that the inspector shows it."""
    with qtbot.waitSignal(panel.reveal) as asked:
        _click(qtbot, panel, 0)

    assert asked.args == ["screen"]
    assert selection.nodes == {"screen"}


def test_enter_leads_to_the_edge(qtbot, panel, selection):
    """By the keyboard too."""
    index = panel.table.model().index(1, 0)
    panel.table.selectionModel().setCurrentIndex(
        index,
        QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows,
    )

    with qtbot.waitSignal(panel.reveal) as asked:
        qtbot.keyClick(panel.table, Qt.Key.Key_Return)

    assert asked.args == ["source.out>screen.in"]
    assert selection.edges == {"source.out>screen.in"}


def test_a_fix_is_a_button_and_one_undo_step(qtbot, panel, document):
    """The step is called what the button is called."""
    button = panel.findChild(QPushButton, "problems.fix.1")
    assert button.text() == "Measure at screen"

    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    assert document.graph.measure == ("screen",)
    assert document.undo_stack.undoText() == "Measure at screen"


def test_a_fix_that_no_longer_applies_says_so(qtbot, panel, document):
    """The graph may have moved on since it was compiled."""

    def fail(graph: Graph) -> Graph:
        raise EditError("there is no node screen in this graph")

    stale = Diagnostic("AF110", Severity.WARNING, "old.", fix=Fix("Do it", fail))
    panel.show_compiled(Compiled(None, (stale,), {}, None))

    qtbot.mouseClick(panel.findChild(QPushButton, "problems.fix.0"), Qt.MouseButton.LeftButton)

    assert _summary(panel).startswith("This can no longer be done: there is no node screen")
    assert document.undo_stack.count() == 0


def test_what_is_gone_is_not_selected(qtbot, panel, document, selection):
    """Between an edit and the next findings."""
    document.replace(edits.remove(document.graph, ["screen"]), "x")

    with qtbot.assertNotEmitted(panel.reveal):
        _click(qtbot, panel, 0)

    assert selection.nodes == frozenset()


@pytest.mark.parametrize(
    ("findings", "bound", "sentence"),
    [
        ((), 107, "No problems. At most 107 events in flight."),
        ((), None, "No problems."),
        ((HINT,), 9, "1 hint. At most 9 events in flight."),
        ((ERROR, ERROR, HINT), None, "2 errors, 1 hint. Errors keep the graph from running."),
    ],
)
def test_the_summary_is_one_line(panel, findings, bound, sentence):
    """What there is, and the bound where there is one."""
    panel.show_compiled(Compiled(None, findings, {}, bound))

    assert _summary(panel) == sentence
    assert panel.table.isVisible() is bool(findings)


def test_findings_can_be_copied_as_text(qtbot, panel):
    """From the context menu, to be pasted into a mail."""
    place = panel.table.visualRect(panel.table.model().index(0, Column.CODE)).center()
    panel.table.customContextMenuRequested.emit(place)
    menu = panel.table.findChild(QMenu)
    assert [each.text() for each in menu.actions()] == ["Copy", "Copy all"]

    menu.actions()[0].trigger()
    menu.close()

    assert QGuiApplication.clipboard().text() == as_text(ERROR)
    assert as_text(ERROR) == "error AF203 at screen, x: screen has no field x; remove it"


def test_the_same_findings_again_keep_the_row_that_was_chosen(qtbot, panel):
    """Compiling after every edit must not throw the reader out."""
    _click(qtbot, panel, 1)

    panel.show_compiled(Compiled(None, (HINT, ERROR, WARNING), {}, None))

    assert panel.table.currentIndex().row() == 1


def test_ctrl_c_copies_the_finding_and_not_a_cell(qtbot, panel):
    """Whatever column the cursor is in."""
    _click(qtbot, panel, 0)

    qtbot.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)

    assert QGuiApplication.clipboard().text() == as_text(ERROR)


def test_texts_keep_a_readable_width_in_a_narrow_window(qtbot, panel):
    """They are scrolled rather than broken into syllables, from the first moment on."""
    letter = panel.table.fontMetrics().averageCharWidth()
    panel.resize(420, 240)

    def texts() -> list[int]:
        return [panel.table.columnWidth(column) for column in (Column.MESSAGE, Column.HINT)]

    qtbot.waitUntil(lambda: min(texts()) >= 28 * letter)
    assert panel.table.horizontalScrollBar().maximum() > 0

    panel.resize(2000, 240)
    qtbot.waitUntil(lambda: min(texts()) > 28 * letter)
    assert panel.table.horizontalScrollBar().maximum() == 0


def test_a_thousand_findings_are_measured_only_where_they_are_seen(
    qtbot, panel, document, monkeypatch
):
    """An edit of a large graph must not wait for rows that nobody looks at."""
    measured: list[int] = []
    resize = type(panel.table).resizeRowToContents

    def count(table, row: int) -> None:
        measured.append(row)
        resize(table, row)

    monkeypatch.setattr(type(panel.table), "resizeRowToContents", count)
    many = tuple(replace(ERROR, message=f"{at} is wrong") for at in range(1000))

    panel.hide()
    panel.show_compiled(Compiled(None, many, {}, None))
    qtbot.wait(1)
    while_hidden = len(measured)
    panel.show()
    qtbot.waitUntil(lambda: bool(measured))

    assert while_hidden == 0
    assert max(measured) < 100

    panel.table.scrollToBottom()
    qtbot.waitUntil(lambda: 999 in measured)
    assert len(set(measured)) < 200
