"""The mark of one port: a glyph in the colour of its type, and where wires begin and end."""

from __future__ import annotations

from NodeGraphQt.constants import Z_VAL_PORT, PortTypeEnum
from NodeGraphQt.qgraphics.pipe import PipeItem
from NodeGraphQt.qgraphics.port import PortItem
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsSceneHoverEvent,
    QStyleOptionGraphicsItem,
    QWidget,
)

from aiflow.graph.model import PortRef
from aiflow_studio.canvas.faces import PortFace
from aiflow_studio.canvas.nodegraphqt.style import Style, glyph_path, is_hollow
from aiflow_studio.ui.look import headed_tip

GLYPH_PX = 10.0
_REACH = 11.0
_DIMMED = 0.22

# Qt asks for it tens of thousands of times while a picture of 500 nodes is panned.
_BOUNDS = QRectF(-_REACH, -_REACH, 2 * _REACH, 2 * _REACH)


class Dot(PortItem):
    """A port on the edge of a card; its own origin is the middle of the glyph.

    Args:
        card: the card it sits on.
    """

    # Cards redraw their wires when they are placed; a Python call per change costs more.
    itemChange = QGraphicsItem.itemChange

    def __init__(self, card: QGraphicsItem) -> None:
        QGraphicsItem.__init__(self, card)
        self.setAcceptHoverEvents(True)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setZValue(Z_VAL_PORT)
        # What NodeGraphQt's methods read; the rest of its constructor is its own picture.
        self._pipes: list[PipeItem] = []
        self._name = ""
        self._port_type: str | None = None
        self._hovered = self._locked = False
        self._multi_connection = True
        self._face = PortFace("")
        self._style: Style | None = None
        self._is_target = False

    def show_face(self, face: PortFace, style: Style) -> None:
        """Draw this port."""
        self._face, self._style = face, style
        self.update()

    @property
    def is_input(self) -> bool:
        """Whether wires end here."""
        return bool(self.port_type == PortTypeEnum.IN.value)

    @property
    def face(self) -> PortFace:
        """What it shows."""
        return self._face

    @property
    def ref(self) -> PortRef:
        """Which port of which node it is."""
        return PortRef(self.node.id, self.name)

    @property
    def anchor(self) -> QPointF:
        """Where wires meet it, in scene coordinates."""
        return self.scenePos()

    @property
    def tip(self) -> str:
        """What the pointer is told over it."""
        face = self._face
        kind = "takes" if self.is_input else "gives"
        lines = [face.help]
        if face.is_missing:
            lines.append("The operator has no such port; an edge names it.")
        return headed_tip(face.name, f"{kind} {face.type}", lines)

    def dim(self, is_dimmed: bool) -> None:
        """Fade, because a wire in hand cannot end here."""
        self.setOpacity(_DIMMED if is_dimmed else 1.0)

    def mark_target(self, is_target: bool) -> None:
        """Grow, because a wire in hand would end here."""
        if self._is_target != is_target:
            self._is_target = is_target
            self.update()

    def hoverEnterEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Grow, and have the tip ready."""
        self._hovered = True
        self.setToolTip(self.tip)
        self.update()

    def hoverLeaveEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Be as before."""
        self._hovered = False
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the area that is drawn."""
        return _BOUNDS

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw it."""
        style = self._style
        if style is None:
            return
        mark = style.theme.type_mark(self._face.shown.name)
        color = style.error if self._face.is_missing else QColor(mark.color)
        size = GLYPH_PX + (4 if self._is_target else 2 if self.hovered else 0)
        path = glyph_path(mark.glyph, size)
        # A rim of the canvas colour keeps the glyph apart from wire and card.
        painter.setPen(QPen(style.background, 5))
        painter.setBrush(style.background)
        painter.drawPath(path)
        is_open = is_hollow(mark.glyph)
        painter.setPen(QPen(color, 2) if is_open or self._face.is_missing else Qt.PenStyle.NoPen)
        painter.setBrush(style.card if is_open else color)
        painter.drawPath(path)
