"""How a card is laid out and drawn: name, policy, queue, ports, figures, state, time shares.

Two steps: `lay_out` measures once per face, `CardPainter` draws from it many times a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from aiflow_studio.canvas.faces import NodeFace, PortFace
from aiflow_studio.canvas.figures import NodeFigures, ms_text, rate_text
from aiflow_studio.canvas.nodegraphqt.style import Style

RADIUS = 8.0
#: Room around the card for shadow, selection ring and badge.
MARGIN = 14.0
MAX_NAME_CHARS = 28
#: Below this zoom only the name can be read, so only the name is drawn.
FAR_AWAY = 0.42

_MIN_WIDTH = 192.0
_MAX_WIDTH = 264.0
_PAD = 11.0
_GAP = 10.0
_FOOT = 4.0
_CELL_GAP = 3.0
_CELL_HEIGHT = 10.0
_MAX_CELLS = 16
_SHADOW = ((7.0, 14), (4.0, 22), (2.0, 30))
_WORDS = {"window_blocked": "window-blocked"}

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class CardLayout:
    """Where everything of one card stands; the card's corner is the origin."""

    width: float
    height: float
    name: str
    name_rect: QRectF
    title: str
    lines: tuple[tuple[str, QRectF], ...]
    queue_rect: QRectF | None
    figures_rect: QRectF
    ports_top: float
    port_step: float
    fault_rect: QRectF | None
    state_rect: QRectF

    @property
    def rect(self) -> QRectF:
        """The card itself."""
        return QRectF(0, 0, self.width, self.height)

    def port_y(self, index: int) -> float:
        """Return the height of the port of that row."""
        return self.ports_top + (index + 0.5) * self.port_step


def lay_out(face: NodeFace, style: Style) -> CardLayout:
    """Measure a card for its face."""
    names = style.name_metrics
    name = face.id if len(face.id) <= MAX_NAME_CHARS else face.id[: MAX_NAME_CHARS - 1] + "…"
    name_width = names.horizontalAdvance(name)
    width = _width(face, name_width, style)
    inner = width - 2 * _PAD
    row = style.small_metrics.height() + 3

    name_rect = QRectF(_PAD, 7, inner, names.height())
    title = style.elided(face.title, inner - name_width - _GAP)
    y = name_rect.bottom() + 2
    lines = []
    for text in style.wrapped(face.lines, inner):
        lines.append((text, QRectF(_PAD, y, inner, row)))
        y += row
    queue_rect = None
    if face.capacity is not None:
        queue_rect = QRectF(_PAD, y + 2, inner, row)
        y += row + 5
    ports_top, port_step = y, row + 1
    y += max(len(face.inputs), len(face.outputs)) * port_step
    fault_rect = None
    if face.faults:
        fault_rect = QRectF(_PAD, y, inner, row)
        y += row
    figures_rect = QRectF(_PAD, y + 1, inner, row)
    state_rect = QRectF(_PAD, y + 1 + row, inner, row)
    return CardLayout(
        width=width,
        height=round(state_rect.bottom() + 4 + _FOOT),
        name=name,
        name_rect=name_rect,
        title=title,
        lines=tuple(lines),
        queue_rect=queue_rect,
        figures_rect=figures_rect,
        ports_top=ports_top,
        port_step=port_step,
        fault_rect=fault_rect,
        state_rect=state_rect,
    )


def _width(face: NodeFace, name_width: float, style: Style) -> float:
    heading = name_width + _GAP + style.width(face.title)
    longest_in = max((style.width(port.name) for port in face.inputs), default=0.0)
    longest_out = max((style.width(port.name) for port in face.outputs), default=0.0)
    ports = longest_in + longest_out + 2 * _GAP
    return round(min(max(_MIN_WIDTH, heading + 2 * _PAD, ports + 2 * _PAD), _MAX_WIDTH))


class CardPainter:
    """Draws one card; made anew for every paint, keeps nothing.

    Args:
        painter: at the card's corner.
        figures: None where no run is shown.
    """

    def __init__(
        self,
        painter: QPainter,
        style: Style,
        face: NodeFace,
        layout: CardLayout,
        figures: NodeFigures | None,
    ) -> None:
        self._painter = painter
        self._style = style
        self._face = face
        self._layout = layout
        self._figures = figures
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def body(self, is_selected: bool, *, has_shadow: bool) -> None:
        """Draw shadow, ground, border and selection ring."""
        painter, style, rect = self._painter, self._style, self._layout.rect
        painter.setPen(Qt.PenStyle.NoPen)
        for spread, alpha in _SHADOW if has_shadow else ():
            painter.setBrush(QColor(0, 0, 0, alpha))
            shadow = rect.adjusted(-spread / 2, -spread / 4, spread / 2, spread)
            painter.drawRoundedRect(shadow, RADIUS + spread / 2, RADIUS + spread / 2)
        if is_selected:
            ring = QColor(style.accent)
            ring.setAlpha(85)
            painter.setBrush(ring)
            painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), RADIUS + 3, RADIUS + 3)
        color = style.accent if is_selected else style.error if self._is_broken else style.border
        pen = QPen(color, 1.4 if is_selected else 1.0)
        if self._face.is_unknown:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(style.card)
        painter.drawRoundedRect(rect, RADIUS, RADIUS)

    def far(self, zoom: float) -> None:
        """Draw what can be read from far away: the name, large, and the time shares."""
        layout = self._layout
        pixels = int(min(13 / max(zoom, 0.1), layout.height * 0.42, 44))
        font, metrics = self._style.far_font(pixels)
        self._painter.setFont(font)
        self._painter.setPen(self._ink(self._style.text))
        area = layout.rect.adjusted(6, 4, -6, -8)
        name = metrics.elidedText(self._face.id, Qt.TextElideMode.ElideRight, area.width())
        self._painter.drawText(area, Qt.AlignmentFlag.AlignCenter, name)
        # The round corners are a pixel or two here: a foot that ends before them needs no clip.
        self._shares(RADIUS / 2)

    def near(self) -> None:
        """Draw everything."""
        self._heading()
        self._queue()
        self._numbers()
        self._ports(self._face.inputs, is_left=True)
        self._ports(self._face.outputs, is_left=False)
        self._faults()
        self._state()
        self.foot()

    def foot(self) -> None:
        """Draw the time shares of the last second as a thin line along the lower edge."""
        edge = QPainterPath()
        edge.addRoundedRect(self._layout.rect.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        self._painter.save()
        self._painter.setClipPath(edge)
        self._shares(0.0)
        self._painter.restore()

    def _shares(self, inset: float) -> None:
        layout, figures, painter = self._layout, self._figures, self._painter
        top, whole = layout.height - _FOOT, layout.width - 2 * inset
        painter.fillRect(QRectF(inset, top, whole, _FOOT), self._style.empty_cell)
        if figures is None:
            return
        x = inset
        for activity in ("busy", "backpressured", "window_blocked", "idle"):
            width = whole * getattr(figures.shares, activity)
            color = self._style.activity_color(activity)
            painter.fillRect(QRectF(x, top, width, _FOOT), color)
            x += width

    def badge(self, count: int, is_error: bool) -> None:
        """Draw the mark of a card that has findings, at its upper right corner."""
        painter, style = self._painter, self._style
        centre = QPointF(self._layout.width - 3, 2)
        painter.setPen(QPen(style.background, 2))
        painter.setBrush(style.error if is_error else style.warning)
        painter.drawEllipse(centre, 9, 9)
        painter.setFont(style.strong_font)
        painter.setPen(style.background)
        mark = "!" if count == 1 else str(min(count, 9))
        area = QRectF(centre.x() - 9, centre.y() - 9, 18, 18)
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, mark)

    @property
    def _is_broken(self) -> bool:
        return self._face.is_unknown or bool(self._face.faults)

    def _ink(self, color: QColor) -> QColor:
        """Return the colour for text, fainter on a disabled node."""
        if not self._face.is_disabled:
            return color
        faint = QColor(color)
        faint.setAlpha(110)
        return faint

    def _text(
        self, rect: QRectF, text: str, color: QColor, align: Qt.AlignmentFlag = _LEFT
    ) -> None:
        self._painter.setPen(self._ink(color))
        self._painter.drawText(rect, align, text)

    def _heading(self) -> None:
        style, layout = self._style, self._layout
        self._painter.setFont(style.name_font)
        self._text(layout.name_rect, layout.name, style.text)
        self._painter.setFont(style.small_font)
        title_color = style.error if self._face.is_unknown else style.muted
        self._text(layout.name_rect, layout.title, title_color, _RIGHT)
        for text, rect in layout.lines:
            self._text(rect, text, style.muted)

    def _queue(self) -> None:
        rect = self._layout.queue_rect
        if rect is None:
            return
        figures = self._figures
        capacity = figures.capacity if figures is not None else self._face.capacity
        depth = figures.depth if figures is not None else 0
        label = f"{depth}/{capacity}" if capacity is not None else f"{depth}/∞"
        room = max(
            self._style.width(label),
            self._style.width("88/88"),
        )
        self._painter.setFont(self._style.small_font)
        self._text(rect, label, self._style.text if depth else self._style.muted, _RIGHT)
        cells = QRectF(
            rect.left(),
            rect.center().y() - _CELL_HEIGHT / 2,
            rect.width() - room - 6,
            _CELL_HEIGHT,
        )
        if capacity is not None and capacity <= _MAX_CELLS:
            self._cells(cells, depth, capacity)
        else:
            self._bar(cells, depth, capacity)

    def _cells(self, rect: QRectF, depth: int, capacity: int) -> None:
        painter = self._painter
        width = (rect.width() - _CELL_GAP * (capacity - 1)) / capacity
        full = self._queue_color()
        painter.setPen(Qt.PenStyle.NoPen)
        for index in range(capacity):
            painter.setBrush(full if index < depth else self._style.empty_cell)
            x = rect.left() + index * (width + _CELL_GAP)
            painter.drawRoundedRect(QRectF(x, rect.top(), width, rect.height()), 2, 2)

    def _bar(self, rect: QRectF, depth: int, capacity: int | None) -> None:
        painter = self._painter
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._style.empty_cell)
        painter.drawRoundedRect(rect, 3, 3)
        # An unlimited queue has no full mark; its bar only says that something waits.
        share = depth / capacity if capacity else depth / (depth + 64)
        if share > 0:
            painter.setBrush(self._queue_color())
            painter.drawRoundedRect(
                QRectF(
                    rect.left(), rect.top(), max(3.0, rect.width() * min(share, 1.0)), rect.height()
                ),
                3,
                3,
            )

    def _queue_color(self) -> QColor:
        activity = self._figures.activity if self._figures is not None else "idle"
        # Waiting events of an idle node are about to be taken: they are drawn as its work.
        return self._style.activity_color("busy" if activity == "idle" else activity)

    def _numbers(self) -> None:
        """Draw rate and time: `out 4.0/s` on the left, `p50 250 ms` on the right."""
        figures = self._figures
        if figures is None:
            return
        rect = self._layout.figures_rect
        self._pair(
            rect, "out" if self._face.outputs else "done", rate_text(figures.rate), is_left=True
        )
        if self._face.capacity is None:
            if figures.first_ms is not None:
                self._pair(rect, "TTFT", ms_text(figures.first_ms), is_left=False)
        elif figures.service_ms is not None:
            self._pair(rect, "p50", ms_text(figures.service_ms), is_left=False)

    def _pair(self, rect: QRectF, word: str, value: str, *, is_left: bool) -> None:
        style, painter = self._style, self._painter
        space = style.width("  ")
        word_width = style.width(word)
        value_width = style.strong_metrics.horizontalAdvance(value)
        x = rect.left() if is_left else rect.right() - word_width - space - value_width
        painter.setFont(style.small_font)
        self._text(QRectF(x, rect.top(), word_width + 2, rect.height()), word, style.muted)
        painter.setFont(style.strong_font)
        x += word_width + space
        self._text(QRectF(x, rect.top(), value_width + 2, rect.height()), value, style.text)

    def _ports(self, ports: tuple[PortFace, ...], *, is_left: bool) -> None:
        layout, style = self._layout, self._style
        self._painter.setFont(style.small_font)
        align = _LEFT if is_left else _RIGHT
        for index, port in enumerate(ports):
            rect = QRectF(
                _PAD,
                layout.ports_top + index * layout.port_step,
                layout.width - 2 * _PAD,
                layout.port_step,
            )
            self._text(rect, port.name, style.error if port.is_missing else style.muted, align)

    def _faults(self) -> None:
        rect = self._layout.fault_rect
        if rect is not None:
            count = len(self._face.faults)
            words = "1 broken edge" if count == 1 else f"{count} broken edges"
            self._painter.setFont(self._style.small_font)
            self._text(rect, words, self._style.error)

    def _state(self) -> None:
        """Say in words what the foot line shows in colours."""
        style, figures, rect = self._style, self._figures, self._layout.state_rect
        self._painter.setFont(style.small_font)
        if self._face.is_disabled:
            self._text(rect, "disabled", style.muted)
            return
        if figures is None:
            return
        word = _WORDS.get(figures.activity, figures.activity)
        if figures.has_failed or figures.is_paused:
            word = "failed" if figures.has_failed else "held by a breakpoint"
        is_marked = figures.has_failed or figures.is_paused
        color = style.error if is_marked else style.activity_color(figures.activity)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(color)
        middle = QPointF(rect.left() + 3.5, rect.center().y())
        self._painter.drawEllipse(middle, 3.5, 3.5)
        self._text(rect.adjusted(13, 0, 0, 0), word, style.text)
        share = getattr(figures.shares, figures.activity)
        spent = f"time {share:.0%}" if share and not figures.is_paused else ""
        note = f"{figures.dropped} dropped" if figures.dropped else spent
        self._text(rect, note, style.warning if figures.dropped else style.muted, _RIGHT)
