"""Pieces that the inspector's pages are made of: headings, live figures, the bar of the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from aiflow.operators.registry import Catalog
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.labels import GAP_PX, text_label
from aiflow_studio.inspector.steps import Steps
from aiflow_studio.ui.theme import Theme


@dataclass(slots=True)
class Desk:
    """What every page works with.

    Attributes:
        base: folder that relative paths start from, None while the graph has no file.
        wants_key: called with the name of a key that a person wants to store.
        ask_run: asks the run by a call's name and arguments, and hands on what it answers.
    """

    document: Document
    selection: Selection
    catalog: Catalog
    theme: Theme
    steps: Steps
    base: Path | None = None
    wants_key: Callable[[str], None] = field(default=lambda name: None)
    ask_run: Callable[[str, dict[str, Any], Callable[[Any], None]], None] = field(
        default=lambda call, arguments, then: None
    )


class Section(QWidget):
    """A heading with what stands below it.

    Args:
        title: the heading; shown in capitals.
        parent: where it will stand. To move a widget with all that is in it costs as much as
            to make it anew, so whatever holds others is made in its place.
    """

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 8, 0, 0)
        self._column.setSpacing(6)
        heading = text_label(title.upper(), "section")
        heading.setAccessibleName(title)
        self._column.addWidget(heading)

    def add(self, widget: QWidget) -> None:
        """Append a widget."""
        self._column.addWidget(widget)


class Fold(QWidget):
    """A widget that opens and closes under a button.

    Args:
        title: the button's text. `name`: its object name.
    """

    def __init__(self, title: str, name: str, inside: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        self._inside = inside
        self.button = QToolButton()
        self.button.setObjectName(name)
        self.button.setProperty("role", "fold")
        self.button.setCheckable(True)
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.button.setMinimumWidth(1)
        self.button.toggled.connect(self.open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.button)
        column.addWidget(inside)
        self.open(False)

    def open(self, is_open: bool) -> None:
        """Show or hide what is inside."""
        self.button.setChecked(is_open)
        self.button.setText(f"{'▾' if is_open else '▸'} {self._title}")
        self.button.setAccessibleName(self._title)
        self._inside.setVisible(is_open)


class Figures(QWidget):
    """Two columns: what is measured, and how much it is."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._grid.setHorizontalSpacing(GAP_PX)
        self._grid.setColumnStretch(1, 1)
        self._shown: dict[str, QLabel] = {}

    def show_rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Show (what, figure) pairs; the same pairs keep their labels."""
        for what, figure in rows:
            label = self._shown.get(what)
            if label is None:
                label = self._shown[what] = text_label(figure, "figure", wraps=True)
                label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                label.setAccessibleName(what)
                line = self._grid.rowCount()
                self._grid.addWidget(text_label(what, "muted"), line, 0)
                self._grid.addWidget(label, line, 1)
            label.setText(figure)


class BoundBar(QWidget):
    """A bar that is full when as many events are in flight as there may be."""

    def __init__(self, theme_of: Callable[[], Theme]) -> None:
        super().__init__()
        self._theme_of = theme_of
        self._share = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_share(self, share: float) -> None:
        """Show a share of the bound, 0 to 1."""
        if share != self._share:
            self._share = share
            self.update()

    def sizeHint(self) -> QSize:
        """Be as high as half a line of text."""
        return QSize(64, max(6, self.fontMetrics().height() // 2))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the whole and the part."""
        theme, painter = self._theme_of(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = self.height() / 2
        for share, color in ((1.0, theme.empty_cell), (min(1.0, self._share), theme.ok)):
            painter.setBrush(QColor(color))
            width = max(self.width() * share, self.height() if share else 0)
            painter.drawRoundedRect(QRectF(0, 0, width, self.height()), radius, radius)
        painter.end()
