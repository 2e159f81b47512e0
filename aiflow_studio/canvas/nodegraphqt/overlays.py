"""What lies over the canvas and does not zoom with it: refusal, name editor, legend."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import (
    QEasingCurve,
    QPoint,
    QPointF,
    QPropertyAnimation,
    QRect,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsOpacityEffect, QLabel, QLineEdit, QWidget

from aiflow_studio.canvas.nodegraphqt.style import Style, glyph_path, is_hollow

_SHOWN_MS = 4500
_FADE_MS = 400
_MAX_WIDTH = 360
_LEGEND_MIN_HEIGHT = 160

_ACTIVITIES = ("busy", "backpressured", "window_blocked", "idle")
_TYPES = ("token", "chunk", "tool", "retrieval", "safety", "any")


class RefusalLabel(QLabel):
    """A sentence near the pointer that fades after some seconds.

    Args:
        parent: the view.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("refusal")
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        effect = QGraphicsOpacityEffect(self)
        self.setGraphicsEffect(effect)
        self._fade = QPropertyAnimation(effect, b"opacity", self)
        self._fade.setDuration(_FADE_MS)
        self._fade.setEasingCurve(QEasingCurve.Type.InQuad)
        self._fade.setStartValue(1.0)
        self._fade.setEndValue(0.0)
        self._fade.finished.connect(self.hide)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOWN_MS)
        self._timer.timeout.connect(self._fade.start)
        self._effect = effect
        self._view = parent
        self.hide()

    def show_sentence(self, sentence: str, near: QPoint, style: Style) -> None:
        """Show a sentence beside a point of the viewport, and inside the viewport."""
        self._fade.stop()
        self._effect.setOpacity(1.0)
        theme = style.theme
        self.setStyleSheet(
            f"#refusal {{ background: {theme.panel}; color: {theme.text};"
            f" border: 1px solid {theme.error}; border-left: 4px solid {theme.error};"
            " border-radius: 6px; padding: 7px 10px; }"
        )
        self.setText(sentence)
        self.setFixedWidth(min(_MAX_WIDTH, self._view.width() - 16))
        self.setFixedHeight(self.heightForWidth(self.width()))
        room = self._view.size() - self.size()
        at = near + QPoint(14, 16)
        self.move(max(8, min(at.x(), room.width() - 8)), max(8, min(at.y(), room.height() - 8)))
        self.show()
        self.raise_()
        self._timer.start()

    def dismiss(self) -> None:
        """Take it away at once."""
        self._timer.stop()
        self._fade.stop()
        self.hide()


class NameEditor(QLineEdit):
    """A node's name, typed in place.

    Enter offers the name, Esc leaves it, losing the focus offers it once. A refused name stays
    in the editor, marked, so that nothing typed is lost.

    Args:
        parent: the view.
        node: the node that is renamed.
        offer: takes the new name; returns whether it was accepted.
    """

    def __init__(self, parent: QWidget, node: str, offer: Callable[[str], bool]) -> None:
        super().__init__(node, parent)
        self.setObjectName("name-editor")
        self.setAccessibleName(f"Name of node {node}")
        self._node = node
        self._offer = offer
        self._is_over = False
        self.returnPressed.connect(self._accept)

    def open_at(self, rect: QRect, zoom: float, style: Style) -> None:
        """Show the editor over a name."""
        font = QFont(style.name_font)
        font.setPixelSize(max(11, round(13 * zoom)))
        self.setFont(font)
        self._style_with(style.theme.accent, style)
        self.setGeometry(rect.adjusted(-5, -3, 5, 3).united(QRect(rect.topLeft(), QSize(130, 1))))
        self.show()
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.selectAll()
        self._style = style

    def finish(self) -> None:
        """Offer what is typed, then go, accepted or not."""
        if not self._is_over:
            self._is_over = True
            self._try()
            self._leave()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take every key."""
        if event.key() == Qt.Key.Key_Escape:
            self._is_over = True
            self._leave()
        else:
            super().keyPressEvent(event)
        # Nothing typed here may reach the canvas: there, Backspace deletes nodes.
        event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Offer what is typed."""
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self.finish()

    def _accept(self) -> None:
        if self._is_over:
            return
        if self._try():
            self._is_over = True
            self._leave()
        else:
            self._style_with(self._style.theme.error, self._style)

    def _try(self) -> bool:
        name = self.text().strip()
        return name == self._node or self._offer(name)

    def _leave(self) -> None:
        parent = self.parentWidget()
        had_focus = self.hasFocus()
        self.hide()
        self.deleteLater()
        if had_focus and parent is not None:
            parent.setFocus(Qt.FocusReason.OtherFocusReason)

    def _style_with(self, border: str, style: Style) -> None:
        theme = style.theme
        self.setStyleSheet(
            f"#name-editor {{ background: {theme.background}; color: {theme.text};"
            f" border: 2px solid {border}; border-radius: 4px; padding: 0 3px; }}"
        )


class Legend(QWidget):
    """What colours and shapes mean, in the lower left corner.

    Args:
        parent: the view.
        style: the colours.
    """

    def __init__(self, parent: QWidget, style: Style) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._style = style
        self._scale = 1.0
        self.show_in(style, 1.0)

    def show_in(self, style: Style, scale: float) -> None:
        """Draw in other colours, or larger."""
        self._style, self._scale = style, scale
        metrics = style.small_metrics
        words = [*_ACTIVITIES, *_TYPES]
        width = sum(metrics.horizontalAdvance(word) + 30 for word in words) + 20
        self.resize(round(width * scale), round((metrics.height() + 6) * scale))
        self.update()

    def place(self, area: QSize) -> None:
        """Stand in the lower left corner of an area; hidden where there is no room."""
        self.move(14, area.height() - self.height() - 8)
        self.setVisible(area.width() > self.width() + 20 and area.height() > _LEGEND_MIN_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._style.small_font)
        painter.scale(self._scale, self._scale)
        middle = self.height() / self._scale / 2
        x = 4.0
        for activity in _ACTIVITIES:
            painter.fillRect(
                round(x), round(middle - 2), 12, 4, self._style.activity_color(activity)
            )
            x = self._word(painter, QPointF(x + 17, middle), activity.replace("_", "-"))
        x += 8
        for type_name in _TYPES:
            self._glyph(painter, QPointF(x + 5, middle), type_name)
            x = self._word(painter, QPointF(x + 14, middle), type_name)
        painter.end()

    def _word(self, painter: QPainter, at: QPointF, word: str) -> float:
        """Write a word; return where the next one may start."""
        metrics = self._style.small_metrics
        painter.setPen(self._style.muted)
        painter.drawText(at + QPointF(0, metrics.ascent() / 2 - 1), word)
        return at.x() + metrics.horizontalAdvance(word) + 13

    def _glyph(self, painter: QPainter, at: QPointF, type_name: str) -> None:
        mark = self._style.theme.type_mark(type_name)
        color = self._style.type_color(type_name)
        is_open = is_hollow(mark.glyph)
        painter.setPen(QPen(color, 1.6) if is_open else Qt.PenStyle.NoPen)
        painter.setBrush(Qt.BrushStyle.NoBrush if is_open else color)
        painter.drawPath(glyph_path(mark.glyph, 8).translated(at))
