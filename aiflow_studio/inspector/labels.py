"""Labels whose look the stylesheet knows by their role."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def text_label(text: str, role: str, *, wraps: bool = False, name: str = "") -> QLabel:
    """Return a label of plain text; the stylesheet knows its role."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", role)
    label.setWordWrap(wraps)
    label.setObjectName(name)
    return label
