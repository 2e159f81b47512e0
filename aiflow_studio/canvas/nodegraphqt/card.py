"""One node as a card: NodeGraphQt's node item with our own picture on it.

Live figures stand in plain attributes that `paint` reads; nothing here is sent through
NodeGraphQt's properties. What is drawn: `card_painter`.
"""

from __future__ import annotations

from collections import OrderedDict

from NodeGraphQt.constants import Z_VAL_NODE, PortTypeEnum
from NodeGraphQt.qgraphics.node_abstract import AbstractNodeItem
from NodeGraphQt.qgraphics.node_base import NodeItem
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsSceneHoverEvent,
    QStyleOptionGraphicsItem,
    QWidget,
)

from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow_studio.canvas.faces import NodeFace
from aiflow_studio.canvas.figures import NodeFigures
from aiflow_studio.canvas.nodegraphqt.card_painter import (
    FAR_AWAY,
    MARGIN,
    CardLayout,
    CardPainter,
    lay_out,
)
from aiflow_studio.canvas.nodegraphqt.dot import Dot
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.ui.look import headed_tip

# Below this zoom the rim about a port's glyph is less than a pixel.
_RIMLESS = 0.3


class Card(NodeItem):
    """The picture of one node.

    NodeGraphQt's constructor is left out: it loads an icon and makes text, icon and overlay
    items that this card never shows, and at 1,000 nodes they cost seconds.

    Args:
        node_id: the node's id in our document.
    """

    # NodeGraphQt's colours the wires of a selected card; ours asks when it paints.
    itemChange = QGraphicsItem.itemChange

    def __init__(self, node_id: str) -> None:
        self._face: NodeFace | None = None
        self._layout: CardLayout | None = None
        self._style: Style | None = None
        self._bounds = QRectF()
        self._figures: NodeFigures | None = None
        self._drawn: tuple[object, ...] = ()
        self._findings: tuple[Diagnostic, ...] = ()
        self._input_items: OrderedDict[Dot, None] = OrderedDict()
        self._output_items: OrderedDict[Dot, None] = OrderedDict()
        self._widgets: OrderedDict[str, object] = OrderedDict()
        # NodeGraphQt's getters read these; its own table has ten colours and flags besides.
        self._properties = {"id": node_id, "name": node_id, "type_": "", "selected": False}
        self._width = self._height = 0.0
        QGraphicsItem.__init__(self)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIsSelectable)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setZValue(Z_VAL_NODE)
        self.setAcceptHoverEvents(True)

    @property
    def face(self) -> NodeFace | None:
        """What it shows at rest."""
        return self._face

    @property
    def figures(self) -> NodeFigures | None:
        """What it shows of a run."""
        return self._figures

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What its badge is about."""
        return self._findings

    @property
    def body(self) -> QRectF:
        """The card without shadow and ring, in its own coordinates."""
        return self._layout.rect if self._layout is not None else QRectF()

    @property
    def name_rect(self) -> QRectF:
        """Where the name stands, in its own coordinates."""
        return self._layout.name_rect if self._layout is not None else QRectF()

    def show_face(self, face: NodeFace, style: Style) -> None:
        """Measure and draw this node; the ports must be those of the face already."""
        self.prepareGeometryChange()
        self._face, self._style = face, style
        self._layout = layout = lay_out(face, style)
        self._width, self._height = layout.width, layout.height
        self._bounds = layout.rect.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)
        for dots, faces, x in (
            (self._input_items, face.inputs, 0.0),
            (self._output_items, face.outputs, layout.width),
        ):
            for index, (dot, port) in enumerate(zip(dots, faces, strict=True)):
                dot.setPos(x, layout.port_y(index))
                dot.show_face(port, style)
        self._redraw_wires()
        self.update()

    @property
    def tip(self) -> str:
        """What the pointer is told over it: the operator, and every finding."""
        face = self._face
        if face is None:
            return ""
        lines = [face.summary]
        if face.is_unknown:
            lines.append("Install the package that brings it, or take the node away.")
        lines.extend(face.faults)
        lines.extend(f"{each.code} {each.message}" for each in self._findings)
        return headed_tip(face.id, f"· {face.title}", lines)

    def place(self, x: float, y: float) -> None:
        """Put the card's corner somewhere, and its wires along."""
        self.setPos(x, y)
        self._redraw_wires()

    def mark_selected(self, is_selected: bool) -> None:
        """Show it as selected, and before the others."""
        self.setSelected(is_selected)
        self.setZValue(Z_VAL_NODE + (1 if is_selected else 0))

    def show_figures(self, figures: NodeFigures | None, *, is_far: bool = False) -> None:
        """Draw the numbers of a run; None is no run. Redraws only what reads differently."""
        self._figures = figures
        drawn = figures.as_drawn(is_far=is_far) if figures is not None else ()
        if drawn != self._drawn:
            self._drawn = drawn
            self.update()

    def show_findings(self, findings: tuple[Diagnostic, ...]) -> None:
        """Mark the card with what the compiler found about it."""
        if findings != self._findings:
            self._findings = findings
            self.update()

    def dots(self) -> list[Dot]:
        """Return its ports, inputs first."""
        return [*self._input_items, *self._output_items]

    def dot(self, port: str, *, is_input: bool) -> Dot | None:
        """Return a port by name."""
        dots = self._input_items if is_input else self._output_items
        return next((dot for dot in dots if dot.name == port), None)

    def hoverEnterEvent(self, event: QGraphicsSceneHoverEvent) -> None:
        """Have the tip ready."""
        self.setToolTip(self.tip)

    def boundingRect(self) -> QRectF:
        """Return the area that is drawn."""
        return self._bounds

    def shape(self) -> QPainterPath:
        """Return the area that can be pressed."""
        path = QPainterPath()
        path.addRect(self.body)
        return path

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw it."""
        if self._face is None or self._layout is None or self._style is None:
            return
        draw = CardPainter(painter, self._style, self._face, self._layout, self._figures)
        zoom = option.levelOfDetailFromTransform(painter.worldTransform())
        draw.body(self.isSelected(), has_shadow=zoom >= FAR_AWAY)
        if zoom < FAR_AWAY:
            draw.far(zoom)
        else:
            draw.near()
        problems = [each for each in self._findings if each.severity is not Severity.HINT]
        has_rims = zoom >= _RIMLESS
        for dot in self.dots():
            dot.draw(painter, has_rim=has_rims)
        if problems:
            draw.badge(len(problems), any(each.severity is Severity.ERROR for each in problems))

    # NodeGraphQt's ways into the item, reduced to what the card needs.

    def add_dot(self, name: str, *, is_input: bool) -> Dot:
        """Make a port."""
        dots, port_type = (
            (self._input_items, PortTypeEnum.IN.value)
            if is_input
            else (self._output_items, PortTypeEnum.OUT.value)
        )
        dot = Dot(self, name, port_type)
        dots[dot] = None
        return dot

    def draw_node(self) -> None:
        """Do nothing; `show_face` measures."""

    def post_init(self, viewer: object = None, pos: object = None) -> None:
        """Do nothing; the projection has placed the card."""

    def from_dict(self, node_dict: dict[str, object]) -> None:
        """Do nothing; the picture comes from the face, not from NodeGraphQt's model."""

    @AbstractNodeItem.layout_direction.setter
    def layout_direction(self, value: int = 0) -> None:
        """Ignore it; cards read from left to right."""

    @AbstractNodeItem.name.setter
    def name(self, name: str = "") -> None:
        """Keep the name; it is drawn from the face."""
        self._properties["name"] = name

    def _redraw_wires(self) -> None:
        for dot in self.dots():
            for wire in dot.connected_pipes:
                wire.draw_path(None)
