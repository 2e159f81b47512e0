"""The view: which gesture a press begins, what keys, wheel and drops do.

NodeGraphQt's own handling of mouse, keys, wheel and drops is replaced as a whole: it zooms
without bound, deletes and connects before anyone can refuse, merges files that are dropped,
and keeps modifier keys in fields that a dialog leaves stuck. See README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHideEvent,
    QInputDevice,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsView

from aiflow_studio.canvas.intents import AddNode, Intent, LooseWire
from aiflow_studio.canvas.nodegraphqt.card import Card
from aiflow_studio.canvas.nodegraphqt.dot import Dot
from aiflow_studio.canvas.nodegraphqt.gestures import Band, DragCards, DragWire, Gesture, Pan
from aiflow_studio.canvas.nodegraphqt.keys import CanvasKeys
from aiflow_studio.canvas.nodegraphqt.overlays import NameEditor, RefusalLabel
from aiflow_studio.canvas.nodegraphqt.sheet import Sheet
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.canvas.nodegraphqt.wire import Wire
from aiflow_studio.canvas.rules import WireRules
from aiflow_studio.ui.drag import OPERATOR_MIME

_WHEEL_STEP = 1.0015
_PINCH = Qt.NativeGestureType.ZoomNativeGesture
_PICKING_MORE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class Viewer(Sheet):
    """A pannable, zoomable picture that turns what a person does into intents.

    Signals:
        asked(Intent): a gesture or a key asks for something.
        selection_picked(nodes, edges): a gesture selected these.
        search_wanted(x, y): a person wants to add a node there, in scene coordinates.
        wire_let_go(x, y, LooseWire): a wire was let go over empty ground.
        menu_wanted(QPoint, id): a right click at a global position, on a node or edge or "".
    """

    asked = Signal(Intent)
    selection_picked = Signal(frozenset, frozenset)
    search_wanted = Signal(float, float)
    wire_let_go = Signal(float, float, LooseWire)
    menu_wanted = Signal(QPoint, str)

    def __init__(self, style: Style) -> None:
        self._gesture: Gesture | None = None
        self._button = Qt.MouseButton.NoButton
        self._editor: NameEditor | None = None
        self._last_pos = QPoint(-1, -1)
        self.rules: Callable[[], WireRules] | None = None
        super().__init__(style)
        self._keys = CanvasKeys(self)
        self._refusal = RefusalLabel(self)

    # What the adapter asks for.

    def refuse(self, sentence: str) -> None:
        """Show why something was refused, near the pointer or in the middle."""
        inside = self.viewport().rect().contains(self._last_pos)
        near = self._last_pos if inside else self.viewport().rect().center()
        self._refusal.show_sentence(sentence, near, self._style)

    def dismiss_refusal(self) -> None:
        """Take a sentence away that is about a graph that is no more."""
        self._refusal.dismiss()

    def edit_name(self, card: Card, offer: Callable[[str], bool]) -> None:
        """Let a person type another name over a card's."""
        self._close_editor()
        editor = NameEditor(self, card.id, offer)
        rect = self.mapFromScene(card.mapRectToScene(card.name_rect)).boundingRect()
        self._editor = editor
        editor.destroyed.connect(self._forget_editor)
        editor.open_at(rect, self.transform().m11(), self._style)

    def give_up_gesture(self) -> None:
        """Drop what is in a person's hand, because the graph under it is another now."""
        self._cancel_gesture()

    def end_all(self) -> None:
        """End what a person is in the middle of, before the picture is taken down."""
        self._cancel_gesture()
        self._close_editor()
        self._refusal.dismiss()

    def set_rename(self, rename: Callable[[str], None]) -> None:
        """Say what F2 and a double click on a card do."""
        self._keys.rename_wanted = rename

    # What gestures and keys need (`Board`).

    def wire_rules(self) -> WireRules:
        """Return what may be connected now."""
        assert self.rules is not None, "the adapter sets it"
        return self.rules()

    def pick(self, nodes: frozenset[str], edges: frozenset[str] = frozenset()) -> None:
        """Select these because a person asked for it."""
        self.selection_picked.emit(nodes, edges)

    def ask(self, intent: Intent) -> None:
        """Say what a person asks for."""
        self._refusal.dismiss()
        self.asked.emit(intent)

    def want_node_for(self, wire: LooseWire, at: QPoint) -> None:
        """Ask for a new node that a wire can end at."""
        where = self.mapToScene(at)
        self.wire_let_go.emit(where.x(), where.y(), wire)

    def want_search(self) -> None:
        """Ask for the operator search at the pointer, or in the middle."""
        inside = self.viewport().rect().contains(self._last_pos) and self.underMouse()
        at = self.mapToScene(self._last_pos if inside else self.viewport().rect().center())
        self.search_wanted.emit(at.x(), at.y())

    # Qt's events.

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a gesture."""
        at = self._last_pos = event.position().toPoint()
        self._close_editor()
        self._refusal.dismiss()
        if self._gesture is None:
            self._gesture = self._begin(event, at)
            self._button = event.button()
            if self._gesture is not None and self._gesture.cursor is not None:
                self.viewport().setCursor(self._gesture.cursor)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Let the gesture follow the pointer."""
        self._last_pos = event.position().toPoint()
        if self._gesture is not None:
            self._gesture.move(self._last_pos)
        else:
            QGraphicsView.mouseMoveEvent(self, event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the gesture."""
        at = self._last_pos = event.position().toPoint()
        event.accept()
        if self._gesture is not None and event.button() == self._button:
            gesture, self._gesture = self._gesture, None
            self._restore_cursor()
            gesture.release(at)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Rename a card, or ask for a new one on empty ground."""
        at = self._last_pos = event.position().toPoint()
        event.accept()
        if event.button() != Qt.MouseButton.LeftButton or self.dot_at(at) is not None:
            return
        card = self.card_at(at)
        if card is not None:
            self._keys.rename_wanted(card.id)
        elif self.wire_at(at) is None:
            where = self.mapToScene(at)
            self.search_wanted.emit(where.x(), where.y())

    def contextMenuEvent(self, event: QEvent) -> None:
        """Ask for the menu of what is under the pointer."""
        at = event.pos()  # type: ignore[attr-defined]
        card, wire = self.card_at(at), self.wire_at(at)
        item = card.id if card is not None else wire.face.id if wire is not None else ""
        if card is not None and card.id not in self.picked_nodes():
            self.pick(frozenset({card.id}))
        elif card is None and wire is not None:
            self.pick(frozenset(), frozenset({wire.face.id}))
        self._last_pos = at
        self.menu_wanted.emit(event.globalPos(), item)  # type: ignore[attr-defined]
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with a mouse's wheel, pan with a touch pad or with Shift."""
        self._close_editor()
        step, pixels = event.angleDelta(), event.pixelDelta()
        is_pad = event.device().type() == QInputDevice.DeviceType.TouchPad or (
            not pixels.isNull() and event.phase() != Qt.ScrollPhase.NoScrollPhase
        )
        wants_zoom = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan_by(QPoint(step.y() or step.x(), 0))
        elif is_pad and not wants_zoom:
            self.pan_by(pixels if not pixels.isNull() else step / 2)
        else:
            turn = step.y() or step.x()
            self.set_zoom_about(event.position().toPoint(), self._zoom * _WHEEL_STEP**turn)
        event.accept()

    def viewportEvent(self, event: QEvent) -> bool:
        """Zoom by pinching."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == _PINCH:
            at = event.position().toPoint()
            self.set_zoom_about(at, self._zoom * (1 + event.value()))
            return True
        return bool(QGraphicsView.viewportEvent(self, event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do what a key stands for here, pass on what it does not."""
        if event.key() == Qt.Key.Key_Escape and self._gesture is not None:
            self._cancel_gesture()
        elif event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._keys.is_space_down = True
            self.viewport().setCursor(Qt.CursorShape.OpenHandCursor)
        elif self._gesture is not None or self._keys.press(event):
            event.accept()
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """End panning with Space."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._keys.is_space_down = False
            self._restore_cursor()
        event.ignore()

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Keep Tab for the operator search; Shift+Tab leaves the canvas."""
        return False if is_next else bool(QGraphicsView.focusNextPrevChild(self, is_next))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Take the focus; NodeGraphQt would fill a hidden menu bar."""
        QGraphicsView.focusInEvent(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Forget keys that are held down; their release goes elsewhere."""
        self._keys.is_space_down = False
        self._restore_cursor()
        QGraphicsView.focusOutEvent(self, event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Give up the gesture."""
        self._cancel_gesture()
        super().hideEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take an operator."""
        self._take_operator(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Take an operator."""
        self._take_operator(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Add a node where an operator is dropped; anything else is not ours."""
        if not self._take_operator(event):
            return
        self._last_pos = event.position().toPoint()
        at = self.mapToScene(self._last_pos)
        name = bytes(event.mimeData().data(OPERATOR_MIME).data()).decode("utf-8", "replace")
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        wire = self.wire_at(self._last_pos)
        into = wire.face.id if wire is not None else None
        self.ask(AddNode(name, round(at.x()), round(at.y()), into))

    # NodeGraphQt's ways that must not be taken.

    def sceneMousePressEvent(self, event: object) -> None:
        """Do nothing; presses never reach the scene."""

    def sceneMouseMoveEvent(self, event: object) -> None:
        """Do nothing; there is no live pipe."""

    def sceneMouseReleaseEvent(self, event: object) -> None:
        """Do nothing; there is no live pipe."""

    # Details.

    def _begin(self, event: QMouseEvent, at: QPoint) -> Gesture | None:
        """Return the gesture that a press starts; None where it starts none."""
        is_left = event.button() == Qt.MouseButton.LeftButton
        has_alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if event.button() == Qt.MouseButton.MiddleButton or (
            is_left and (has_alt or self._keys.is_space_down)
        ):
            return Pan(self, at)
        if not is_left:
            return None
        picks_more = bool(event.modifiers() & _PICKING_MORE)
        dot = self.dot_at(at)
        if dot is not None and not picks_more:
            return self._begin_wire(at, dot)
        card = self.card_at(at)
        if card is not None:
            return self._begin_on_card(at, card, picks_more)
        wire = self.wire_at(at)
        if wire is not None:
            edges = self.picked_edges() if picks_more else frozenset()
            nodes = self.picked_nodes() if picks_more else frozenset()
            self.pick(nodes, edges ^ {wire.face.id})
            return None
        return Band(self, at, self.picked_nodes() if picks_more else frozenset())

    def _begin_wire(self, at: QPoint, dot: Dot) -> Gesture:
        """Start a wire at a port, or pick up the end of the one that comes in there."""
        wires = [wire for wire in dot.connected_pipes if isinstance(wire, Wire)]
        if dot.is_input and len(wires) == 1:
            return DragWire(self, at, wires[0].output_port, wires[0], self._style)
        return DragWire(self, at, dot, None, self._style)

    def _begin_on_card(self, at: QPoint, card: Card, picks_more: bool) -> Gesture | None:
        picked = self.picked_nodes()
        if picks_more:
            self.pick(picked ^ {card.id}, self.picked_edges())
            return None
        if card.id not in picked:
            self.pick(frozenset({card.id}))
        return DragCards(self, at, card)

    def _cancel_gesture(self) -> None:
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            gesture.cancel()
            self._restore_cursor()

    def _restore_cursor(self) -> None:
        self.viewport().unsetCursor()

    def _close_editor(self) -> None:
        if self._editor is not None:
            self._editor.finish()

    def _forget_editor(self) -> None:
        self._editor = None

    def _take_operator(self, event: QDropEvent) -> bool:
        if event.mimeData().hasFormat(OPERATOR_MIME):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            return True
        event.ignore()
        return False
