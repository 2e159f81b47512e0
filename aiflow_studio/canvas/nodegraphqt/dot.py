"""The mark of one port: a glyph in the colour of its type, and where wires begin and end.

The card draws it with itself: at 1,000 nodes a picture of its own for each port is what opening
and panning would cost most.
"""

from __future__ import annotations

from NodeGraphQt.constants import Z_VAL_PORT, PortTypeEnum
from NodeGraphQt.qgraphics.pipe import PipeItem
from NodeGraphQt.qgraphics.port import PortItem
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsSceneHoverEvent

from aiflow.graph.model import PortRef
from aiflow_studio.canvas.faces import PortFace
from aiflow_studio.canvas.nodegraphqt.style import Style, is_hollow
from aiflow_studio.ui.look import headed_tip

GLYPH_PX = 10.0
_REACH = 11.0
_DIMMED = 0.22

_NO_CONTENTS = QGraphicsItem.GraphicsItemFlag.ItemHasNoContents
# Qt asks for it tens of thousands of times while a picture of 500 nodes is panned.
_BOUNDS = QRectF(-_REACH, -_REACH, 2 * _REACH, 2 * _REACH)


class Dot(PortItem):
    """A port on the edge of a card; its own origin is the middle of the glyph.

    Args:
        card: the card it sits on, which draws it.
        name: the port's name.
        port_type: NodeGraphQt's word for in or out.
    """

    # Cards redraw their wires when they are placed; a Python call per change costs more.
    itemChange = QGraphicsItem.itemChange

    def __init__(self, card: QGraphicsItem, name: str, port_type: str) -> None:
        QGraphicsItem.__init__(self, card)
        self.setFlag(_NO_CONTENTS)
        self.setAcceptHoverEvents(True)
        self.setZValue(Z_VAL_PORT)
        # What NodeGraphQt's methods read; the rest of its constructor is its own picture.
        self._pipes: list[PipeItem] = []
        self._name = name
        self._port_type = port_type
        self._hovered = self._locked = False
        self._multi_connection = True
        self._face = PortFace("")
        self._style: Style | None = None
        self._glyph = ""
        self._is_target = False

    def show_face(self, face: PortFace, style: Style) -> None:
        """Be this port; the card draws it next."""
        self._face, self._style = face, style
        self._glyph = style.theme.type_mark(face.shown.name).glyph

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
        if (self.opacity() < 1.0) != is_dimmed:
            self.setOpacity(_DIMMED if is_dimmed else 1.0)
            self._redraw()

    def mark_target(self, is_target: bool) -> None:
        """Grow, because a wire in hand would end here."""
        if self._is_target != is_target:
            self._is_target = is_target
            self._redraw()

    def hoverEnterEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Grow, and have the tip ready."""
        self._hovered = True
        self.setToolTip(self.tip)
        self._redraw()

    def hoverLeaveEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Be as before."""
        self._hovered = False
        self._redraw()

    def boundingRect(self) -> QRectF:
        """Return the area that is drawn."""
        return _BOUNDS

    def draw(self, painter: QPainter, *, has_rim: bool = True) -> None:
        """Draw it, in the coordinates of its card.

        Args:
            painter: where.
            has_rim: set it off from wire and card, which from far away is less than a pixel.
        """
        style, face = self._style, self._face
        if style is None:
            return
        color = style.error if face.is_missing else style.type_color(face.shown.name)
        size = GLYPH_PX + (4 if self._is_target else 2 if self._hovered else 0)
        path = style.glyph(self._glyph, size).translated(self.pos())
        opacity = self.opacity()
        if opacity < 1.0:
            painter.setOpacity(opacity)
        if has_rim:
            painter.setPen(style.rim)
            painter.setBrush(style.background)
            painter.drawPath(path)
        is_open = is_hollow(self._glyph)
        painter.setPen(QPen(color, 2) if is_open or face.is_missing else Qt.PenStyle.NoPen)
        painter.setBrush(style.card if is_open else color)
        painter.drawPath(path)
        if opacity < 1.0:
            painter.setOpacity(1.0)

    def _redraw(self) -> None:
        # Asked for and not kept: Python's collector should find no ring of items that Qt owns.
        self.parentItem().update()
