"""The sheet: what is seen of the graph and from where. Zoom, pan, fit, ground, what is where.

Knows nothing of gestures; those are `viewer`'s. NodeGraphQt's zoom has no bound and its pan
resizes the scene, so both are replaced.
"""

from __future__ import annotations

import math

from NodeGraphQt.widgets.viewer import NodeViewer
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QResizeEvent, QShowEvent, QTransform
from PySide6.QtWidgets import QGraphicsItem, QGraphicsView

from aiflow_studio.canvas.nodegraphqt.card import Card
from aiflow_studio.canvas.nodegraphqt.dot import Dot
from aiflow_studio.canvas.nodegraphqt.overlays import Legend
from aiflow_studio.canvas.nodegraphqt.style import GRID_STEP, Style
from aiflow_studio.canvas.nodegraphqt.wire import Wire

MIN_ZOOM, MAX_ZOOM = 0.1, 4.0

_WORLD = 100_000.0
_DOT_REACH_PX = 13
_WIRE_REACH_PX = 5
_FIT_MARGIN = 16
_MIN_GRID_PX = 18
_EMPTY = "Double-click or press Tab to add a node,\nor drag one here from the list."


class Sheet(NodeViewer):
    """A pannable, zoomable picture of cards and wires.

    Signals:
        zoom_changed(float): the zoom is another now.
    """

    zoom_changed = Signal(float)

    def __init__(self, style: Style) -> None:
        self._style = style
        self._zoom = self._text_scale = 1.0
        self._is_fit_pending = False
        super().__init__()
        self._strip()
        self.setObjectName("canvas")
        self.setAccessibleName("Graph")
        self.setFrameShape(QGraphicsView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSceneRect(QRectF(-_WORLD, -_WORLD, 2 * _WORLD, 2 * _WORLD))
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        # A child of the view, not of its viewport: Qt scrolls the viewport's children along.
        self._legend = Legend(self, style)
        self.set_style(style)

    @property
    def zoom(self) -> float:
        """The zoom without the text scale; 1.0 is 100 %."""
        return self._zoom

    def set_style(self, style: Style) -> None:
        """Draw ground, grid and overlays in other colours."""
        self._style = style
        self._show_legend()
        self.resetCachedContent()
        self.viewport().update()

    def set_text_scale(self, factor: float) -> None:
        """Draw everything larger, about the middle, without calling it zoom."""
        self._scale_about(self.viewport().rect().center(), self._zoom, factor)
        self._show_legend()

    def set_zoom_about(self, at: QPoint, zoom: float) -> None:
        """Zoom within bounds; what is at `at` stays there."""
        self._scale_about(at, zoom, self._text_scale)

    def fit_to(self, rect: QRectF | None) -> None:
        """Show a scene rectangle, at 100 % at most; before the first show it waits for that."""
        if not self.isVisible():
            self._is_fit_pending = True
            return
        area = self.viewport().size() - QSize(2 * _FIT_MARGIN, 2 * _FIT_MARGIN)
        if rect is None or rect.isEmpty() or area.isEmpty():
            self._scale_about(QPoint(0, 0), 1.0, self._text_scale)
            self.centerOn(area.width() / 2 / self._text_scale, area.height() / 2 / self._text_scale)
            return
        room = min(area.width() / rect.width(), area.height() / rect.height())
        self._scale_about(QPoint(0, 0), min(room / self._text_scale, 1.0), self._text_scale)
        self.centerOn(rect.center())

    def contents(self) -> QRectF | None:
        """Return the rectangle that holds all cards; None without any."""
        rect = QRectF()
        for card in self.cards():
            rect = rect.united(card.mapRectToScene(card.body))
        return None if rect.isEmpty() else rect

    def to_scene(self, at: QPoint) -> QPointF:
        """Return a viewport position in scene coordinates."""
        return self.mapToScene(at)

    def pan_by(self, delta: QPoint) -> None:
        """Move the picture by pixels."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setValue(across.value() - delta.x())
        down.setValue(down.value() - delta.y())

    def cards(self) -> list[Card]:
        """Return all cards."""
        return [item for item in self.scene().items() if isinstance(item, Card)]

    def dot_at(self, at: QPoint) -> Dot | None:
        """Return the nearest port within reach of a viewport position."""
        where = self.mapToScene(at)
        near = [item for item in self._items_about(at, _DOT_REACH_PX) if isinstance(item, Dot)]
        # A fixed distance on the screen counts, and from far away no less than the port itself.
        reach = max(_DOT_REACH_PX / self.transform().m11(), 9.0)
        in_reach = [dot for dot in near if _distance(dot.anchor, where) <= reach]
        return min(in_reach, key=lambda dot: _distance(dot.anchor, where), default=None)

    def card_at(self, at: QPoint) -> Card | None:
        """Return the uppermost card under a viewport position."""
        items = self.scene().items(self.mapToScene(at))
        return next((item for item in items if isinstance(item, Card)), None)

    def wire_at(self, at: QPoint) -> Wire | None:
        """Return the uppermost wire near a viewport position."""
        items = self._items_about(at, _WIRE_REACH_PX)
        return next((item for item in items if isinstance(item, Wire)), None)

    def picked_nodes(self) -> frozenset[str]:
        """Return the selected nodes."""
        return frozenset(card.id for card in self.scene().selectedItems() if isinstance(card, Card))

    def picked_edges(self) -> frozenset[str]:
        """Return the selected edges."""
        return frozenset(
            wire.face.id for wire in self.scene().selectedItems() if isinstance(wire, Wire)
        )

    def lay_wire(self, wire: Wire, source: Dot, target: Dot) -> None:
        """Show a new wire between two ports."""
        wire.join(source, target)
        self.scene().addItem(wire)

    def showEvent(self, event: QShowEvent) -> None:
        """Fit what waited for the first show."""
        super().showEvent(event)
        self._run_pending_fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep overlays in their corners; NodeGraphQt would zoom."""
        QGraphicsView.resizeEvent(self, event)
        self._legend.place(self.viewport().size())
        self._run_pending_fit()

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Draw ground and dot grid; Qt keeps the result until the picture moves."""
        area = QRectF(rect)
        painter.fillRect(area, self._style.background)
        step = float(GRID_STEP)
        while step * self.transform().m11() < _MIN_GRID_PX:
            step *= 2
        pen = QPen(self._style.grid, 2.0)
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(pen)
        left, top = math.floor(area.left() / step), math.floor(area.top() / step)
        right, bottom = math.ceil(area.right() / step), math.ceil(area.bottom() / step)
        painter.drawPoints(
            [
                QPointF(column * step, row * step)
                for column in range(left, right + 1)
                for row in range(top, bottom + 1)
            ]
        )

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        """Say how to begin while there is nothing to see."""
        if self.scene().items():
            return
        painter.save()
        painter.resetTransform()
        painter.setFont(self._style.name_font)
        painter.setPen(self._style.muted)
        painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, _EMPTY)
        painter.restore()

    def _update_scene(self) -> None:
        """Do nothing; the scene's rectangle stays and the transform is ours."""

    def _strip(self) -> None:
        """Take away what NodeGraphQt's view makes and this one never uses."""
        for item in (self._cursor_text, self._LIVE_PIPE, self._SLICER_PIPE):
            self.scene().removeItem(item)
        # A menu without a parent would outlive the view.
        self._search_widget.setParent(self)
        self._search_widget.hide()
        self._ctx_menu_bar.clear()
        self._ctx_menu_bar.hide()
        self._rubber_band.hide()

    def _show_legend(self) -> None:
        self._legend.show_in(self._style, self._text_scale)
        self._legend.place(self.viewport().size())

    def _run_pending_fit(self) -> None:
        if self._is_fit_pending and self.isVisible() and self.viewport().width() > 1:
            self._is_fit_pending = False
            self.fit_to(self.contents())

    def _scale_about(self, at: QPoint, zoom: float, text_scale: float) -> None:
        before = self.mapToScene(at)
        self._zoom = min(max(zoom, MIN_ZOOM), MAX_ZOOM)
        self._text_scale = text_scale
        factor = self._zoom * text_scale
        if not math.isclose(factor, self.transform().m11()):
            self.setTransform(QTransform.fromScale(factor, factor))
            moved = self.mapFromScene(before) - at
            self.pan_by(-moved)
            self.resetCachedContent()
        self.zoom_changed.emit(self._zoom)

    def _items_about(self, at: QPoint, reach: int) -> list[QGraphicsItem]:
        where = self.mapToScene(at)
        half = reach / self.transform().m11()
        return list(
            self.scene().items(QRectF(where.x() - half, where.y() - half, 2 * half, 2 * half))
        )


def _distance(one: QPointF, other: QPointF) -> float:
    return math.hypot(one.x() - other.x(), one.y() - other.y())
