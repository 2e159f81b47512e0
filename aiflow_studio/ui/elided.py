"""`ElidedLabel`: one line of text that is cut to the room there is, and never asks for more.

A name may be as long as somebody likes, and a window must not grow with it.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from aiflow_studio.ui.look import plain_tip

#: Letters that a label asks room for at most, and that it needs at least.
_MOST, _LEAST = 48, 3
#: What the rounding of widths may take.
_SPARE_PX = 2
_BREAKS = re.compile(r"[\r\n\t\v\f\u2028\u2029]+")


class ElidedLabel(QLabel):
    """A label whose tool tip has the whole text where it is cut.

    Args:
        text: plain text; what looks like markup is shown as it is.
        mode: where it is cut.
        hint: a tool tip for where it is not cut.
    """

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        hint: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._mode = mode
        self._hint = hint
        self._whole = ""
        self.say(text)

    @property
    def whole(self) -> str:
        """The text, also what is cut off."""
        return self._whole

    def say(self, text: str) -> None:
        """Show another text."""
        self._whole = _BREAKS.sub(" ", text)
        self.setAccessibleName(self._whole)
        self.updateGeometry()
        self._cut()

    def sizeHint(self) -> QSize:
        """Ask for room for the whole text, within reason."""
        metrics = self.fontMetrics()
        most = _MOST * metrics.averageCharWidth()
        width = min(metrics.horizontalAdvance(self._whole) + self._frame(), most)
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Need room for some letters."""
        least = _LEAST * self.fontMetrics().averageCharWidth()
        return QSize(min(least, self.sizeHint().width()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut anew."""
        super().resizeEvent(event)
        self._cut()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the size of the text."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self.updateGeometry()
            self._cut()

    def _frame(self) -> int:
        # Only Qt knows the padding that the stylesheet gives a label.
        taken = super().sizeHint().width() - self.fontMetrics().horizontalAdvance(self.text())
        return max(0, taken) + _SPARE_PX

    def _cut(self) -> None:
        room = max(0, self.width() - self._frame() + _SPARE_PX)
        shown = self.fontMetrics().elidedText(self._whole, self._mode, room)
        self.setText(shown)
        self.setToolTip(self._hint if shown == self._whole else plain_tip(self._whole))
