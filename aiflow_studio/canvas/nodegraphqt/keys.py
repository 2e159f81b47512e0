"""Keys of the canvas.

They are read only while it has the focus, so that Backspace in a text field deletes text and
never a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from aiflow_studio.canvas.intents import Copy, Intent, MoveNodes, Paste, Remove
from aiflow_studio.canvas.nodegraphqt.card import Card

_STEP, _FINE_STEP = 10.0, 1.0
_MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta)
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class KeyBoard(Protocol):
    """What the keys need of the view."""

    def cards(self) -> list[Card]:
        """Return all cards."""
        ...

    def picked_nodes(self) -> frozenset[str]:
        """Return the selected nodes."""
        ...

    def picked_edges(self) -> frozenset[str]:
        """Return the selected edges."""
        ...

    def pick(self, nodes: frozenset[str], edges: frozenset[str] = frozenset()) -> None:
        """Select these because a person asked for it."""
        ...

    def ask(self, intent: Intent) -> None:
        """Say what a person asks for."""
        ...

    def want_search(self) -> None:
        """Ask for the operator search."""
        ...


class CanvasKeys:
    """Turns keys into intents.

    Attributes:
        is_space_down: the next drag pans.
        rename_wanted: called with a node's id when its name is to be typed anew.
    """

    def __init__(self, board: KeyBoard) -> None:
        self._board = board
        self._burst = 0
        self._is_nudging = False
        self.is_space_down = False
        self.rename_wanted: Callable[[str], None] = _nothing

    def press(self, event: QKeyEvent) -> bool:
        """Do what a key stands for; return whether it stands for anything here."""
        if event.key() in _ARROWS and not event.modifiers() & ~_ARROW_MODIFIERS:
            return self._nudge(event)
        if event.key() in _MODIFIERS:
            return False
        self._is_nudging = False
        for sequence, intent in _SEQUENCES:
            if event.matches(sequence):
                self._board.ask(intent)
                return True
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self._board.pick(frozenset(card.id for card in self._board.cards()))
            return True
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        return self._plain(Qt.Key(event.key()))

    def _plain(self, key: Qt.Key) -> bool:
        board = self._board
        nodes, edges = board.picked_nodes(), board.picked_edges()
        if key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            if nodes or edges:
                board.ask(Remove(nodes, edges))
        elif key == Qt.Key.Key_F2:
            if len(nodes) == 1:
                self.rename_wanted(next(iter(nodes)))
        elif key == Qt.Key.Key_Tab:
            board.want_search()
        elif key == Qt.Key.Key_Escape:
            board.pick(frozenset())
        else:
            return False
        return True

    def _nudge(self, event: QKeyEvent) -> bool:
        """Move the selected cards a step; steps in a row are one undo step."""
        picked = self._board.picked_nodes()
        if not picked:
            return False
        if not self._is_nudging:
            self._burst += 1
            self._is_nudging = True
        is_fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        step = _FINE_STEP if is_fine else _STEP
        dx, dy = _ARROWS[Qt.Key(event.key())]
        places = {
            card.id: (card.pos().x() + dx * step, card.pos().y() + dy * step)
            for card in self._board.cards()
            if card.id in picked
        }
        self._board.ask(MoveNodes(places, burst=self._burst))
        return True


_ARROW_MODIFIERS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier

_SEQUENCES: tuple[tuple[QKeySequence.StandardKey, Intent], ...] = (
    (QKeySequence.StandardKey.Copy, Copy()),
    (QKeySequence.StandardKey.Cut, Copy(removes=True)),
    (QKeySequence.StandardKey.Paste, Paste()),
)


def _nothing(node: str) -> None:
    """Stand in until the adapter has said what renaming is."""
