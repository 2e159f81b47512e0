"""The problems panel: what the compiler found; a click leads to the culprit."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QMenu,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from aiflow.compiler.compile import Compiled
from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.errors import EditError
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.problems.model import Column, ProblemModel, as_text
from aiflow_studio.ui.debounce import Debounce
from aiflow_studio.ui.theme import Theme

# Share of the room for the two texts that "what is wrong" gets.
_MESSAGE_SHARE = 0.55
# Letters that fit beside each other in a column of text at least; below that it is scrolled.
_LEAST_LETTERS = 28
# Rows from whose texts the width of a column is told.
_MEASURED_ROWS = 100
# A button is a widget of its own; beyond these the context menu has the fix too.
_MOST_BUTTONS = 200


class ProblemsPanel(QWidget):
    """One of the lower docks.

    Signals:
        reveal(id): show that node or edge on the canvas.
        title_changed(title): what the tab should say, such as `Problems 2`.
    """

    reveal = Signal(str)
    title_changed = Signal(str)

    def __init__(
        self,
        document: Document,
        selection: Selection,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("problems")
        self.setAccessibleName("Problems")
        self._document = document
        self._selection = selection
        self._theme = theme
        self._title = "Problems"
        self._summary = QLabel("Not checked yet.")
        self._summary.setObjectName("problems.summary")
        self._summary.setTextFormat(Qt.TextFormat.PlainText)
        self._summary.setWordWrap(True)
        self._model = ProblemModel(lambda: self._theme)
        self.table = _ProblemTable(self._model)
        self.table.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 4)
        column.addWidget(self._summary)
        column.addWidget(self.table, 1)
        column.addStretch(0)
        self.table.clicked.connect(self._go)
        self.table.activated.connect(self._go)
        self.table.customContextMenuRequested.connect(self._open_menu)
        self.table.copy_asked.connect(self._copy_current)

    def set_theme(self, theme: Theme) -> None:
        """Draw with other colours."""
        self._theme = theme
        self.table.viewport().update()

    def show_compiled(self, compiled: Compiled) -> None:
        """List the findings, or say that there are none."""
        findings = compiled.diagnostics
        if self._model.show_findings(findings):
            self._add_buttons()
        self.table.setVisible(bool(findings))
        self._summary.setText(_summary(compiled))
        count = sum(each.severity is not Severity.HINT for each in findings)
        title = f"Problems {count}"
        if title != self._title:
            self._title = title
            self.title_changed.emit(title)

    def _go(self, index: QModelIndex) -> None:
        finding = self._model.rows[index.row()]
        graph = self._document.graph
        if finding.edge is not None and finding.edge in graph.edges:
            self._selection.set(edges=frozenset({finding.edge}))
            self.reveal.emit(finding.edge)
        elif finding.node is not None and finding.node in graph.nodes:
            self._selection.set(nodes=frozenset({finding.node}))
            self.reveal.emit(finding.node)

    def _add_buttons(self) -> None:
        with_fix = [at for at, each in enumerate(self._model.rows) if each.fix is not None]
        for row in with_fix[:_MOST_BUTTONS]:
            finding = self._model.rows[row]
            assert finding.fix is not None, "only rows with a fix were taken"
            button = QPushButton(finding.fix.label)
            button.setObjectName(f"problems.fix.{row}")
            button.setAccessibleDescription(finding.message)
            button.clicked.connect(lambda _=False, row=row: self._fix(row))
            self.table.setIndexWidget(self._model.index(row, Column.FIX), _centred(button))
        self.table.setColumnHidden(Column.FIX, not with_fix)
        self.table.fit()

    def _fix(self, row: int) -> None:
        fix = self._model.rows[row].fix
        if fix is None:
            return
        try:
            after = fix.apply(self._document.graph)
        except EditError as error:
            # The graph has moved on since it was compiled; the next findings are on their way.
            self._summary.setText(f"This can no longer be done: {error}.")
            return
        self._document.replace(after, fix.label)

    def _copy_current(self) -> None:
        index = self.table.currentIndex()
        if index.isValid():
            _copy([self._model.rows[index.row()]])

    def _open_menu(self, place: QPoint) -> None:
        index = self.table.indexAt(place)
        if not index.isValid():
            return
        finding = self._model.rows[index.row()]
        menu = QMenu(self.table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy").triggered.connect(lambda: _copy([finding]))
        menu.addAction("Copy all").triggered.connect(lambda: _copy(self._model.rows))
        if finding.fix is not None:
            menu.addSeparator()
            fix = menu.addAction(finding.fix.label)
            fix.triggered.connect(lambda: self._fix(index.row()))
        menu.popup(self.table.viewport().mapToGlobal(place))


class _Spaced(QStyledItemDelegate):
    """Leaves room between rows and between columns."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the size of the text and some air."""
        return super().sizeHint(option, index) + QSize(12, 8)


class _ProblemTable(QTableView):
    """A quiet table of whole rows, whose texts wrap.

    Signals:
        copy_asked(): the chosen row is wanted as text.
    """

    copy_asked = Signal()

    def __init__(self, model: ProblemModel) -> None:
        super().__init__()
        self.setObjectName("problems.table")
        self.setAccessibleName("Findings of the compiler")
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._delegate = _Spaced(self)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        for column in Column:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        for column in (Column.MESSAGE, Column.HINT):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._refit = Debounce(0, self._fit_now, self)
        header.setResizeContentsPrecision(_MEASURED_ROWS)
        header.sectionResized.connect(self.fit)
        self.verticalHeader().setResizeContentsPrecision(_MEASURED_ROWS)
        self.verticalScrollBar().valueChanged.connect(self.fit)

    def fit(self) -> None:
        """Give every row the height of its text, once the columns have their widths."""
        self._refit.call()

    def _fit_now(self) -> None:
        # Thousands of findings are measured only where they can be seen.
        if not self.isVisible():
            return
        others = sum(
            self.columnWidth(column)
            for column in Column
            if column not in (Column.MESSAGE, Column.HINT) and not self.isColumnHidden(column)
        )
        least = _LEAST_LETTERS * self.fontMetrics().averageCharWidth()
        room = max(self.viewport().width() - others, 2 * least)
        message = max(least, round(room * _MESSAGE_SHARE))
        self.setColumnWidth(Column.MESSAGE, message)
        self.setColumnWidth(Column.HINT, max(least, room - message))
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Give the rows in sight, and those that come into it, the height of their texts."""
        room, row = self.viewport().height(), max(0, self.rowAt(0))
        while row < self.model().rowCount() and self.rowViewportPosition(row) < room:
            self.resizeRowToContents(row)
            row += 1

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what came while the table was hidden."""
        super().showEvent(event)
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the room among the columns anew."""
        super().resizeEvent(event)
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy a finding, not the cell that the cursor is in."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the size of the text."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self.fit()


def _centred(button: QPushButton) -> QWidget:
    """Return a cell in which a button is as high as a button, however high the row."""
    cell = QWidget()
    column = QVBoxLayout(cell)
    column.setContentsMargins(4, 0, 4, 0)
    column.addWidget(button, 0, Qt.AlignmentFlag.AlignCenter)
    return cell


def _summary(compiled: Compiled) -> str:
    counts = {
        severity: sum(each.severity is severity for each in compiled.diagnostics)
        for severity in Severity
    }
    found = ", ".join(
        f"{number} {severity.value}{'' if number == 1 else 's'}"
        for severity, number in counts.items()
        if number
    )
    bound = "" if compiled.bound is None else f" At most {compiled.bound:,} events in flight."
    if counts[Severity.ERROR]:
        return f"{found}. Errors keep the graph from running."
    return f"{found}.{bound}" if found else f"No problems.{bound}"


def _copy(findings: list[Diagnostic] | tuple[Diagnostic, ...]) -> None:
    QGuiApplication.clipboard().setText("\n".join(as_text(each) for each in findings))
