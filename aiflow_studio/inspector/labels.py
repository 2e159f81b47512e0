"""Labels whose look the stylesheet knows by their role, and the columns that they stand in."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGridLayout, QLabel


def text_label(text: str, role: str, *, wraps: bool = False, name: str = "") -> QLabel:
    """Return a label of plain text; the stylesheet knows its role."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", role)
    label.setWordWrap(wraps)
    label.setObjectName(name)
    return label


def set_columns(grid: QGridLayout, metrics: QFontMetrics) -> None:
    """Give a grid the columns of every form: badge, label, field, unit.

    They are the same everywhere, so that all fields of a page stand in one line.
    """
    gap = metrics.averageCharWidth()
    grid.setHorizontalSpacing(gap)
    grid.setVerticalSpacing(max(4, gap // 2))
    grid.setColumnStretch(2, 1)
    for column, widest in enumerate(("MM", "Queue capacity", "", "events")):
        grid.setColumnMinimumWidth(column, metrics.horizontalAdvance(widest))
