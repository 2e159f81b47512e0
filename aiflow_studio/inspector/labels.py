"""Labels whose look the stylesheet knows by their role, and the columns that they stand in."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

#: Between one column of a form and the next.
GAP_PX = 8
# Width of a symbol's badge as the stylesheet has it, in heights of a letter.
_BADGE = 22 / 13


def text_label(text: str, role: str, *, wraps: bool = False, name: str = "") -> QLabel:
    """Return a label of plain text; the stylesheet knows its role."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", role)
    label.setWordWrap(wraps)
    if wraps:
        # A long word is cut rather than making the whole dock wider.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        label.setSizePolicy(policy)
    label.setObjectName(name)
    return label


def set_columns(grid: QGridLayout, widget: QWidget) -> None:
    """Give a widget's grid the columns of every form: badge, label, field, unit.

    They are the same everywhere, so that all fields of a page stand in one line.
    """
    metrics, letters = widget.fontMetrics(), widget.fontInfo().pixelSize()
    # No spacing of the grid's own: it leaves out what stands beside an empty column.
    grid.setHorizontalSpacing(0)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(2, 1)
    grid.setColumnMinimumWidth(0, round(letters * _BADGE) + GAP_PX)
    # A label wraps a pixel before its text ends.
    grid.setColumnMinimumWidth(1, metrics.horizontalAdvance("Queue capacity") + GAP_PX + 2)
    grid.setColumnMinimumWidth(3, metrics.horizontalAdvance("events") + GAP_PX)
