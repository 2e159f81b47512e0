"""What is selected: node and edge ids. Not part of the graph and not on the undo stack."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal


class Selection(QObject):
    """The ids that canvas, inspector and problems panel agree on.

    Signals:
        changed(nodes, edges): the selection is another; two frozensets of ids.
    """

    changed = Signal(frozenset, frozenset)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._nodes: frozenset[str] = frozenset()
        self._edges: frozenset[str] = frozenset()

    @property
    def nodes(self) -> frozenset[str]:
        """Ids of the selected nodes."""
        return self._nodes

    @property
    def edges(self) -> frozenset[str]:
        """Ids of the selected edges."""
        return self._edges

    def set(self, nodes: frozenset[str] = frozenset(), edges: frozenset[str] = frozenset()) -> None:
        """Select exactly these; says nothing when they are selected already."""
        if (nodes, edges) != (self._nodes, self._edges):
            self._nodes, self._edges = nodes, edges
            self.changed.emit(nodes, edges)
