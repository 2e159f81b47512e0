"""One edge as a wire: colour of its type, thick as its rate, magenta where it is held back."""

from __future__ import annotations

import math

from NodeGraphQt.constants import Z_VAL_NODE_WIDGET, Z_VAL_PIPE
from NodeGraphQt.qgraphics.pipe import PipeItem
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPainterPath,
    QPainterPathStroker,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
    QGraphicsSceneHoverEvent,
    QStyleOptionGraphicsItem,
    QWidget,
)

from aiflow_studio.canvas.faces import EdgeFace
from aiflow_studio.canvas.figures import EdgeFigures
from aiflow_studio.canvas.nodegraphqt.dot import Dot
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.ui.look import headed_tip

_REST_WIDTH = 2.0
_GRAB_WIDTH = 14.0
_LABEL_PAD = 5.0
_FLAT = 40.0
# Of a breakpoint's sign: where on the wire it stands, and half its size.
_STOP_SHARE = 0.88
_STOP_RADIUS = 7.0

_NO_FIGURES = EdgeFigures()


class Wire(PipeItem):
    """A wire between two ports.

    NodeGraphQt's own drawing (arrow, highlight colours) is left out, and with it its
    constructor: an arrow item per wire costs more than the wire.
    """

    # NodeGraphQt's colours a selected wire; ours asks when it paints.
    itemChange = QGraphicsPathItem.itemChange

    def __init__(self, style: Style) -> None:
        QGraphicsPathItem.__init__(self)
        self.setZValue(Z_VAL_PIPE)
        self.setAcceptHoverEvents(True)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIsSelectable)
        self._input_port: Dot | None = None
        self._output_port: Dot | None = None
        self._bounds = QRectF()
        self._style = style
        self._face = EdgeFace("", ("", ""), ("", ""), "any")
        self._figures = _NO_FIGURES
        self._problems: tuple[str, ...] = ()
        self._is_hovered = False
        self._label: _WireLabel | None = None

    @property
    def face(self) -> EdgeFace:
        """What it shows at rest."""
        return self._face

    @property
    def figures(self) -> EdgeFigures:
        """What it shows of a run."""
        return self._figures

    @property
    def tip(self) -> str:
        """What the pointer is told over it."""
        face = self._face
        lines = [face.type_name]
        if face.is_detached:
            overflow = face.overflow.replace("_", " ")
            lines.append(f"detached: never holds its sender back ({overflow})")
        if face.is_broken and not self._problems:
            lines.append("broken: a port is missing or the types do not fit")
        ends = f"{'.'.join(face.source)} → {'.'.join(face.target)}"
        return headed_tip(ends, "", [*lines, *self._problems])

    def join(self, source: Dot, target: Dot) -> None:
        """Lie between two ports from now on."""
        self._output_port, self._input_port = source, target
        source.add_pipe(self)
        target.add_pipe(self)
        self.draw_path(source)

    def show_face(self, face: EdgeFace, style: Style) -> None:
        """Draw this edge."""
        self._face, self._style = face, style
        self._restate()

    def show_problems(self, sentences: tuple[str, ...]) -> None:
        """Mark the wire as one that a finding is about."""
        if sentences != self._problems:
            self._problems = sentences
            self._restate()

    def show_figures(self, figures: EdgeFigures | None) -> None:
        """Draw the numbers of a run; None is no run."""
        figures = figures or _NO_FIGURES
        before, self._figures = self._figures, figures
        if (before.is_held_back, before.label) != (figures.is_held_back, figures.label):
            self._place_label()
            self.update()
        elif (
            _width(before.rate) != _width(figures.rate)
            or before.has_breakpoint != figures.has_breakpoint
        ):
            self.update()

    def lift(self, is_lifted: bool) -> None:
        """Fade, because its end is in a person's hand."""
        self.setOpacity(0.25 if is_lifted else 1.0)

    # NodeGraphQt calls these when ports move, are selected or change; our state is our own.

    def draw_path(
        self, start_port: object, end_port: object = None, cursor_pos: object = None
    ) -> None:
        """Lay the wire between its ports; the arguments are NodeGraphQt's, the ports are known."""
        if self._input_port is not None and self._output_port is not None:
            self.prepareGeometryChange()
            path = wire_path(self._output_port.anchor, self._input_port.anchor)
            self.setPath(path)
            margin = _GRAB_WIDTH / 2
            self._bounds = path.boundingRect().adjusted(-margin, -margin, margin, margin)
            self._place_label()

    def reset(self) -> None:
        """Do nothing; there is no highlight to undo."""

    def activate(self) -> None:
        """Do nothing; hovering is drawn by ourselves."""

    def highlight(self) -> None:
        """Do nothing; a selected node does not colour its wires."""

    def delete(self) -> None:
        """Leave ports and scene."""
        if self._label is not None and self._label.scene() is not None:
            self._label.scene().removeItem(self._label)
        self._label = None
        super().delete()

    def boundingRect(self) -> QRectF:
        """Return the area that is drawn."""
        return self._bounds

    def shape(self) -> QPainterPath:
        """Return the area that can be pressed."""
        stroker = QPainterPathStroker()
        stroker.setWidth(_GRAB_WIDTH)
        return stroker.createStroke(self.path())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw it."""
        width = _width(self._figures.rate) + (1.0 if self._figures.is_held_back else 0.0)
        if self.isSelected() or self._is_hovered:
            halo = QColor(self._style.accent)
            halo.setAlpha(110 if self.isSelected() else 60)
            painter.setPen(_pen(halo, width + 6))
            painter.drawPath(self.path())
        pen = _pen(self._color(), width)
        if self._face.is_broken:
            pen.setDashPattern([2.0, 2.0])
        elif self._face.is_detached:
            pen.setDashPattern([6.0 / width * 1.6, 4.0 / width * 1.6])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(self.path())
        if self._figures.has_breakpoint:
            self._draw_breakpoint(painter)

    def _draw_breakpoint(self, painter: QPainter) -> None:
        """Draw a stop sign on the wire, before the node that is held."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._style.background, 2))
        painter.setBrush(self._style.error)
        centre = self.path().pointAtPercent(_STOP_SHARE)
        corners = [
            centre + QPointF(math.cos(angle), math.sin(angle)) * _STOP_RADIUS
            for angle in (math.pi * (2 * corner + 1) / 8 for corner in range(8))
        ]
        painter.drawPolygon(QPolygonF(corners))

    def hoverEnterEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Show that the pointer is on it."""
        self._is_hovered = True
        self.setToolTip(self.tip)
        self.update()

    def hoverLeaveEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Show that the pointer has left."""
        self._is_hovered = False
        self.update()

    def _color(self) -> QColor:
        if self._face.is_broken or self._problems:
            return self._style.error
        if self.isSelected():
            return self._style.accent
        if self._figures.is_held_back:
            return self._style.activity_color("backpressured")
        return self._style.type_color(self._face.type_name)

    def _restate(self) -> None:
        self._place_label()
        self.update()

    def _place_label(self) -> None:
        text = self._figures.label
        if not text or self.scene() is None:
            if self._label is not None:
                self._label.setVisible(False)
            return
        if self._label is None:
            self._label = _WireLabel()
            self.scene().addItem(self._label)
        self._label.show_text(text, self._style)
        self._label.setPos(self._label_place())
        self._label.setVisible(True)

    def _label_place(self) -> QPointF:
        """Return a place above the wire; of a short flat one, above its ports too."""
        path = self.path()
        start, middle, end = (path.pointAtPercent(share) for share in (0.0, 0.5, 1.0))
        is_flat = abs(end.y() - start.y()) < _FLAT
        top = min(start.y(), end.y()) if is_flat else middle.y()
        return QPointF(middle.x(), top - 15)


class _WireLabel(QGraphicsItem):
    """Text over a wire, in front of the cards beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.setZValue(Z_VAL_NODE_WIDGET)
        self._text = ""
        self._style: Style | None = None
        self._rect = QRectF()

    def show_text(self, text: str, style: Style) -> None:
        """Show `text`, centred about the item's position."""
        if text == self._text and style is self._style:
            return
        self.prepareGeometryChange()
        self._text, self._style = text, style
        metrics = style.strong_metrics
        width = metrics.horizontalAdvance(text) + 2 * _LABEL_PAD
        height = metrics.height() + 2
        self._rect = QRectF(-width / 2, -height / 2, width, height)
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the area that is drawn."""
        return self._rect

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw it."""
        if self._style is None:
            return
        backing = QColor(self._style.background)
        backing.setAlpha(215)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(backing)
        painter.drawRoundedRect(self._rect, 4, 4)
        painter.setFont(self._style.strong_font)
        color = self._style.activity_color("backpressured")
        painter.setPen(color.lighter(140) if self._style.is_dark else color.darker(130))
        painter.drawText(self._rect, Qt.AlignmentFlag.AlignCenter, self._text)


def wire_path(start: QPointF, end: QPointF) -> QPainterPath:
    """Return the curve from an out-port to an in-port."""
    reach = min(max(abs(end.x() - start.x()) * 0.5, 28.0), 150.0)
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(reach, 0), end - QPointF(reach, 0), end)
    return path


def _width(rate: float) -> float:
    """Return the width for a rate: 2 at rest, 3.2 at 10/s, 4.3 at 100/s, in steps of a tenth."""
    return round(_REST_WIDTH + min(3.0, 1.15 * math.log10(1 + rate)), 1)


def _pen(color: QColor, width: float) -> QPen:
    pen = QPen(color, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen
