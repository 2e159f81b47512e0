"""The search popup of the canvas: type, Enter, and the operator is there.

A frameless tool window and no popup, because input methods do not reach a `Qt.Popup` on
every platform. It goes when it loses the focus.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from aiflow.operators.registry import Catalog
from aiflow.types import PortType
from aiflow_studio.palette.model import Entry, entries_of, fitting, search
from aiflow_studio.palette.panel import MOVES, OperatorList, nothing_found, search_box
from aiflow_studio.palette.rows import RowModel, RowPainter
from aiflow_studio.ui.theme import Theme

_LETTERS, _LINES = 40, 12


class OperatorSearch(QFrame):
    """A line to type into, and the operators that fit below it.

    Signals:
        chosen(operator): the person wants that operator; the popup has closed.
        dismissed(): it closed without a choice.
    """

    chosen = Signal(str)
    dismissed = Signal()

    def __init__(self, catalog: Catalog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Tool | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("operator-search")
        self.setAccessibleName("Add an operator")
        self._theme = theme
        self._all = entries_of(catalog)
        self._offered: tuple[Entry, ...] = self._all
        self._model = RowModel()
        self._painter = RowPainter(lambda: self._theme)
        self.box = search_box("operator-search.box")
        self.list = OperatorList(self._model, self._painter)
        self.list.setObjectName("operator-search.list")
        # The search keeps the focus; the list follows its keys.
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._nothing = nothing_found()
        self._note = QLabel()
        self._note.setProperty("role", "muted")
        self._note.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        for widget in (self.box, self._nothing, self.list, self._note):
            column.addWidget(widget)
        self.box.textChanged.connect(self._on_query)
        self.box.installEventFilter(self)
        self.list.clicked.connect(self._choose)

    def set_theme(self, theme: Theme) -> None:
        """Draw with other colours."""
        self._theme = theme

    def open_at(
        self, place: QPoint, *, source: PortType | None = None, target: PortType | None = None
    ) -> None:
        """Show the popup.

        Args:
            place: top left corner, in global coordinates; moved so that all of it is seen.
            source: only operators that take this type; None for no such limit.
            target: only operators that give what this type accepts; None for no such limit.
        """
        self._offered = fitting(self._all, source=source, target=target)
        hidden = len(self._all) - len(self._offered)
        wanted = source or target
        verb = "take" if source is not None else "give"
        self._note.setText(f"{hidden} more do not {verb} {wanted}." if wanted and hidden else "")
        self._note.setVisible(bool(self._note.text()))
        self.box.clear()
        self._on_query("")
        self.resize(self.sizeHint())
        self.move(self._seen(place))
        self.show()
        self.raise_()
        self.activateWindow()
        self.box.setFocus(Qt.FocusReason.PopupFocusReason)

    def sizeHint(self) -> QSize:
        """Be wide enough for titles and high enough for a dozen of them."""
        metrics = self.fontMetrics()
        return QSize(
            metrics.averageCharWidth() * _LETTERS, metrics.height() * (_LINES * 7 // 5 + 3)
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Serve the keys of the search box: up, down, Enter, Esc."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        if event.key() in MOVES:
            self.list.keyPressEvent(event)
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._choose(self.list.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            self._dismiss()
        else:
            return super().eventFilter(watched, event)
        return True

    def event(self, event: QEvent) -> bool:
        """Go when another window is used."""
        if event.type() == QEvent.Type.WindowDeactivate and self.isVisible():
            self._dismiss()
        return super().event(event)

    def _on_query(self, query: str) -> None:
        found = search(self._offered, query)
        self._model.show_rows(found)
        self.list.setCurrentIndex(self._model.first())
        self._nothing.setVisible(not found)

    def _choose(self, index: QModelIndex) -> None:
        entry = self._model.entry(index)
        if entry is not None:
            self.hide()
            self.chosen.emit(entry.id)

    def _dismiss(self) -> None:
        self.hide()
        self.dismissed.emit()

    def _seen(self, place: QPoint) -> QPoint:
        screen = QGuiApplication.screenAt(place) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry().adjusted(0, 0, -self.width(), -self.height())
        return QPoint(
            max(room.left(), min(place.x(), room.left() + max(0, room.width()))),
            max(room.top(), min(place.y(), room.top() + max(0, room.height()))),
        )
