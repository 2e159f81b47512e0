"""The open document: one frozen graph, its undo stack, and one `changed` signal.

Everything that edits hands in a finished graph; everything that shows listens to `changed`.
Nobody else holds a graph. Files and dirty marks of the window live in `files` and `app`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from aiflow.graph.model import Graph

UNDO_LIMIT = 500


class Document(QObject):
    """The truth that canvas, inspector and problems panel show.

    Signals:
        loading(): another document takes this one's place; `changed` follows.
        changed(before, after): the graph was replaced; both are `Graph`.
    """

    loading = Signal()
    changed = Signal(Graph, Graph)

    def __init__(self, graph: Graph | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._graph = graph if graph is not None else Graph()
        self._saved = self._graph
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(UNDO_LIMIT)

    @property
    def graph(self) -> Graph:
        """The graph as it is now."""
        return self._graph

    @property
    def is_dirty(self) -> bool:
        """Whether the graph differs from what was last loaded or saved."""
        return self._graph is not self._saved

    def replace(self, after: Graph, label: str, merge: Hashable | None = None) -> None:
        """Make `after` the graph, as one undo step.

        Args:
            after: the edited graph; the same object as now means nothing happened.
            label: what the step did, as in "Undo: Connect router to log".
            merge: steps in a row with the same key become one step; None never merges.
        """
        if after is self._graph:
            return
        self.undo_stack.push(_ReplaceGraph(self._show, self._graph, after, label, merge))

    def load(self, graph: Graph) -> None:
        """Make `graph` the document, clean and without history."""
        self.loading.emit()
        before = self._graph
        self.undo_stack.clear()
        self._graph = self._saved = graph
        self.changed.emit(before, graph)

    def mark_saved(self) -> None:
        """Note that the graph as it is now stands in a file."""
        self._saved = self._graph
        self.undo_stack.setClean()

    def rewrite(self, change: Callable[[Graph], Graph]) -> None:
        """Make a change that is no step: in the graph, and in all that can be undone or redone.

        What the document owes its surroundings, such as the folder that its paths start from,
        is not to be taken back by an undo.

        Args:
            change: gives the same object where a graph needs no change.
        """
        # By identity, as `is_dirty` asks: a graph that stands in two steps stays one graph.
        changed: dict[int, tuple[Graph, Graph]] = {}

        def once(graph: Graph) -> Graph:
            if id(graph) not in changed:
                changed[id(graph)] = (graph, change(graph))
            return changed[id(graph)][1]

        for at in range(self.undo_stack.count()):
            step = self.undo_stack.command(at)
            assert isinstance(step, _ReplaceGraph), "the stack holds steps of one kind"
            step.rewrite(once)
        self._saved = once(self._saved)
        self._show(once(self._graph))

    def _show(self, graph: Graph) -> None:
        before, self._graph = self._graph, graph
        if before is not graph:
            self.changed.emit(before, graph)


class _ReplaceGraph(QUndoCommand):
    """The only undo command: a graph before and a graph after, so no inverse can drift."""

    def __init__(
        self,
        show: Callable[[Graph], None],
        before: Graph,
        after: Graph,
        label: str,
        merge: Hashable | None,
    ) -> None:
        super().__init__(label)
        self._show = show
        self._before = before
        self.after = after
        self.merge = merge

    def id(self) -> int:
        return -1 if self.merge is None else hash(self.merge) & 0x3FFFFFFF

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _ReplaceGraph) or other.merge != self.merge:
            return False
        self.after = other.after
        # Typed back to where it began: a step that does nothing is no step.
        self.setObsolete(self.after is self._before)
        return True

    def rewrite(self, change: Callable[[Graph], Graph]) -> None:
        """Lead from another graph to another graph."""
        self._before, self.after = change(self._before), change(self.after)

    def redo(self) -> None:
        self._show(self.after)

    def undo(self) -> None:
        self._show(self._before)
