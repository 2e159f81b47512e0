"""The palette: all operators by category, with a search on top; a drag starts here."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QLabel, QLineEdit, QListView, QVBoxLayout, QWidget

from aiflow.operators.registry import Catalog
from aiflow_studio.palette.model import entries_of, search
from aiflow_studio.palette.rows import RowModel, RowPainter, grouped
from aiflow_studio.ui.theme import Theme

# Keys that move through the list while the search keeps the focus.
MOVES = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


class PalettePanel(QWidget):
    """The left dock.

    Signals:
        add_requested(operator): the person wants a node of that operator, at the canvas centre.
    """

    add_requested = Signal(str)

    def __init__(self, catalog: Catalog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setAccessibleName("Palette")
        self._theme = theme
        self._catalog = catalog
        self._entries = entries_of(catalog)
        self._model = RowModel()
        self._painter = RowPainter(lambda: self._theme)
        self.box = search_box("palette.search")
        self.list = OperatorList(self._model, self._painter)
        self.list.setObjectName("palette.list")
        self.list.setDragEnabled(True)
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self._nothing = nothing_found()
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 0, 0)
        column.setSpacing(4)
        for widget in (self.box, self._nothing):
            column.addWidget(widget)
            widget.setContentsMargins(0, 0, 8, 0)
        column.addWidget(self.list, 1)
        self.box.textChanged.connect(self._on_query)
        self.box.returnPressed.connect(self._add_current)
        self.box.installEventFilter(self)
        self.list.activated.connect(self._add)
        self._on_query("")

    def set_theme(self, theme: Theme) -> None:
        """Draw with other colours."""
        self._theme = theme
        self.list.viewport().update()

    def focus_search(self) -> None:
        """Put the cursor into the search box."""
        self.box.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.box.selectAll()

    def minimumSizeHint(self) -> QSize:
        """Have room for a title and its glyph at this size of text."""
        return QSize(16 * self.fontMetrics().averageCharWidth(), super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        """Ask for room for the longest titles."""
        letter = self.fontMetrics().averageCharWidth()
        return QSize(27 * letter, 60 * letter)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move through the list from the search box; Esc empties the box."""
        if watched is self.box and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress and event.key() in MOVES:
                self.list.keyPressEvent(event)
                return True
            if event.key() == Qt.Key.Key_Escape and self.box.text():
                if event.type() == QEvent.Type.KeyPress:
                    self.box.clear()
                event.accept()
                return True
        return super().eventFilter(watched, event)

    def _on_query(self, query: str) -> None:
        found = search(self._entries, query)
        if query.strip():
            self._model.show_rows(found)
            self.list.setCurrentIndex(self._model.first())
        else:
            self._model.show_rows(grouped(found, self._catalog.broken))
        self._nothing.setVisible(not found)

    def _add_current(self) -> None:
        current = self.list.currentIndex()
        self._add(current if current.isValid() else self._model.first())

    def _add(self, index: QModelIndex) -> None:
        entry = self._model.entry(index)
        if entry is not None:
            self.add_requested.emit(entry.id)


class OperatorList(QListView):
    """A list of operators: one column, no frame, Enter and double-click choose."""

    def __init__(self, model: RowModel, painter: RowPainter) -> None:
        super().__init__()
        self.setModel(model)
        self.setItemDelegate(painter)
        self.setAccessibleName("Operators")
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)


def search_box(name: str) -> QLineEdit:
    """Return the line that a search is typed into."""
    box = QLineEdit()
    box.setObjectName(name)
    box.setPlaceholderText("Search operators")
    box.setAccessibleName("Search operators")
    box.setClearButtonEnabled(True)
    return box


def nothing_found() -> QLabel:
    """Return what stands where a search has found nothing."""
    label = QLabel("No operator fits.")
    label.setProperty("role", "muted")
    label.hide()
    return label
