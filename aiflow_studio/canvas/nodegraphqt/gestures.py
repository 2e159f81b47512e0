"""Gestures: what a pressed mouse button does until it is let go.

Each shows something while it lasts and at its end says what is asked for. None changes the
document or the picture of it for good; `cancel` leaves all as it was.
"""

from __future__ import annotations

from typing import Protocol

from NodeGraphQt.constants import Z_VAL_NODE_WIDGET
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPen
from PySide6.QtWidgets import QGraphicsPathItem, QGraphicsScene, QRubberBand, QWidget

from aiflow.graph.model import PortRef
from aiflow_studio.canvas.intents import Connect, Disconnect, Intent, LooseWire, MoveNodes
from aiflow_studio.canvas.nodegraphqt.card import Card
from aiflow_studio.canvas.nodegraphqt.dot import Dot
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.canvas.nodegraphqt.wire import Wire, wire_path
from aiflow_studio.canvas.rules import WireRules

#: So far the pointer must go, in pixels, before a press becomes a drag.
DRAG_START_PX = 4


class Board(Protocol):
    """What a gesture needs of the view it happens on."""

    def scene(self) -> QGraphicsScene:
        """Return the scene."""
        ...

    def viewport(self) -> QWidget:
        """Return the widget that the pointer is over."""
        ...

    def to_scene(self, at: QPoint) -> QPointF:
        """Return a viewport position in scene coordinates."""
        ...

    def pan_by(self, delta: QPoint) -> None:
        """Move the picture by pixels."""
        ...

    def cards(self) -> list[Card]:
        """Return all cards."""
        ...

    def dot_at(self, at: QPoint) -> Dot | None:
        """Return the port under or near a viewport position."""
        ...

    def card_at(self, at: QPoint) -> Card | None:
        """Return the card under a viewport position."""
        ...

    def wire_rules(self) -> WireRules:
        """Return what may be connected now."""
        ...

    def pick(self, nodes: frozenset[str], edges: frozenset[str] = frozenset()) -> None:
        """Select these because a person asked for it."""
        ...

    def picked_nodes(self) -> frozenset[str]:
        """Return the selected nodes."""
        ...

    def ask(self, intent: Intent) -> None:
        """Say what a person asks for."""
        ...

    def want_node_for(self, wire: LooseWire, at: QPoint) -> None:
        """Ask for a new node that a wire can end at."""
        ...


class Gesture:
    """One press, its moves, its end.

    Args:
        board: where it happens.
        at: where the button went down, in viewport pixels.
    """

    cursor: Qt.CursorShape | None = None

    def __init__(self, board: Board, at: QPoint) -> None:
        self.board = board
        self.start = at
        self.has_moved = False

    def move(self, at: QPoint) -> None:
        """Follow the pointer; nothing happens before it has gone some way."""
        if not self.has_moved:
            if (at - self.start).manhattanLength() < DRAG_START_PX:
                return
            self.has_moved = True
            self.began()
        self.moved(at)

    def began(self) -> None:
        """Prepare what is shown while the gesture lasts."""

    def moved(self, at: QPoint) -> None:
        """Show where it has got to."""

    def release(self, at: QPoint) -> None:
        """End it: say what is asked for."""

    def cancel(self) -> None:
        """End it as if it had never begun."""


class Pan(Gesture):
    """Move the picture with the pointer."""

    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, board: Board, at: QPoint) -> None:
        super().__init__(board, at)
        self._last = at

    def move(self, at: QPoint) -> None:
        """Follow at once; a pan has no threshold."""
        self.board.pan_by(at - self._last)
        self._last = at


class Band(Gesture):
    """Select the cards that a rectangle touches.

    Args:
        keeps: nodes that stay selected whatever the rectangle touches.
    """

    def __init__(self, board: Board, at: QPoint, keeps: frozenset[str]) -> None:
        super().__init__(board, at)
        self._before = board.picked_nodes()
        self._keeps = keeps
        self._band = QRubberBand(QRubberBand.Shape.Rectangle, board.viewport())

    def began(self) -> None:
        """Show the rectangle."""
        self._band.show()

    def moved(self, at: QPoint) -> None:
        """Stretch the rectangle and select what it touches."""
        rect = QRect(self.start, at).normalized()
        self._band.setGeometry(rect)
        first, last = self.board.to_scene(rect.topLeft()), self.board.to_scene(rect.bottomRight())
        area = QRectF(first, last)
        touched = {
            card.id
            for card in self.board.cards()
            if area.intersects(card.mapRectToScene(card.body))
        }
        self.board.pick(self._keeps | touched)

    def release(self, at: QPoint) -> None:
        """Take the rectangle away; a mere click selects nothing more."""
        if not self.has_moved:
            self.board.pick(self._keeps)
        self._remove()

    def cancel(self) -> None:
        """Select what was selected before."""
        self.board.pick(self._before)
        self._remove()

    def _remove(self) -> None:
        self._band.hide()
        self._band.deleteLater()


class DragCards(Gesture):
    """Move the selected cards.

    Args:
        card: the card that was pressed; a mere click selects it alone.
    """

    cursor = Qt.CursorShape.SizeAllCursor

    def __init__(self, board: Board, at: QPoint, card: Card) -> None:
        super().__init__(board, at)
        self._pressed = card.id
        picked = board.picked_nodes()
        self._from = {each: each.pos() for each in board.cards() if each.id in picked}

    def moved(self, at: QPoint) -> None:
        """Put the cards where the pointer has carried them."""
        delta = self.board.to_scene(at) - self.board.to_scene(self.start)
        for card, pos in self._from.items():
            card.place(round(pos.x() + delta.x()), round(pos.y() + delta.y()))

    def release(self, at: QPoint) -> None:
        """Ask for the new places."""
        if not self.has_moved:
            self.board.pick(frozenset({self._pressed}))
            return
        places = {card.id: (card.pos().x(), card.pos().y()) for card in self._from}
        self.board.ask(MoveNodes(places))

    def cancel(self) -> None:
        """Put the cards back."""
        for card, pos in self._from.items():
            card.place(pos.x(), pos.y())


class DragWire(Gesture):
    """Draw a wire from a port, or carry the end of one that is there.

    Args:
        dot: where the wire starts and stays.
        lifted: the wire whose other end was picked up; None draws a new one.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(
        self, board: Board, at: QPoint, dot: Dot, lifted: Wire | None, style: Style
    ) -> None:
        super().__init__(board, at)
        self._dot = dot
        self._lifted = lifted
        self._style = style
        self._rules = board.wire_rules()
        self._target: Dot | None = None
        self._path = QGraphicsPathItem()
        self._path.setZValue(Z_VAL_NODE_WIDGET + 1)

    @property
    def _instead_of(self) -> str | None:
        return self._lifted.face.id if self._lifted is not None else None

    def began(self) -> None:
        """Show the wire in hand and dim every port where it cannot end."""
        if self._lifted is not None:
            self._lifted.lift(True)
        self.board.scene().addItem(self._path)
        for card in self.board.cards():
            for dot in card.dots():
                dot.dim(dot is not self._dot and not self._may_end_at(dot))

    def moved(self, at: QPoint) -> None:
        """Draw the wire to the pointer, or to the port that it would end at."""
        self._mark(self._end_at(at))
        end = self._target.anchor if self._target is not None else self.board.to_scene(at)
        start = self._dot.anchor
        self._path.setPath(wire_path(end, start) if self._dot.is_input else wire_path(start, end))
        color = self._style.type_color(self._dot.face.shown.name)
        if self._target is not None and not self._may_end_at(self._target):
            color = self._style.error
        pen = QPen(color, 2.6)
        pen.setDashPattern([3.0, 2.0])
        self._path.setPen(pen)

    def release(self, at: QPoint) -> None:
        """Ask for the edge; a lifted wire let go over nothing is taken away."""
        target = self._end_at(at)
        card = self.board.card_at(at)
        self._clear()
        if not self.has_moved:
            self.board.pick(frozenset({self._dot.node.id if card is None else card.id}))
        elif target is not None and target is not self._dot:
            self._ask_for(target.ref)
        elif card is not None and card is not self._dot.node:
            # A card without a port on the side that is needed: the refusal says so.
            self._ask_for(PortRef(card.id, ""))
        elif self._lifted is not None and card is None:
            self.board.ask(Disconnect(self._lifted.face.id))
        elif card is None:
            self.board.want_node_for(LooseWire(self._dot.ref, self._dot.is_input), at)

    def cancel(self) -> None:
        """Put everything back."""
        self._clear()

    def _ask_for(self, end: PortRef) -> None:
        source, target = (end, self._dot.ref) if self._dot.is_input else (self._dot.ref, end)
        if f"{source}>{target}" != self._instead_of:
            self.board.ask(Connect(source, target, self._instead_of))

    def _end_at(self, at: QPoint) -> Dot | None:
        """Return the port that a wire let go here would end at.

        Over a card that is its first port that fits, so that nobody need aim at a glyph.
        """
        dot = self.board.dot_at(at)
        if dot is not None:
            return dot
        card = self.board.card_at(at)
        if card is None or card is self._dot.node:
            return None
        facing = [each for each in card.dots() if each.is_input != self._dot.is_input]
        fitting = [each for each in facing if self._may_end_at(each)]
        return next(iter([*fitting, *facing]), None)

    def _may_end_at(self, dot: Dot) -> bool:
        if dot.is_input == self._dot.is_input:
            return False
        if self._lifted is not None and f"{self._dot.ref}>{dot.ref}" == self._instead_of:
            return True
        source, target = (
            (dot.ref, self._dot.ref) if self._dot.is_input else (self._dot.ref, dot.ref)
        )
        return not self._rules.refusal(source, target, self._instead_of)

    def _mark(self, target: Dot | None) -> None:
        if target is not self._target:
            if self._target is not None:
                self._target.mark_target(False)
            if target is not None:
                target.mark_target(True)
            self._target = target

    def _clear(self) -> None:
        self._mark(None)
        if self._path.scene() is not None:
            self._path.scene().removeItem(self._path)
        if self._lifted is not None:
            self._lifted.lift(False)
        for card in self.board.cards():
            for dot in card.dots():
                dot.dim(False)
