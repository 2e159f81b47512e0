"""The inspector: shows what is selected, and lets it be changed.

Follows the selection and the document; hears of the compiler's findings and of the run from
whoever made it. A page is built anew only when something else is selected.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from aiflow.compiler.compile import Compiled
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.registry import Catalog
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.edge_page import EdgePage
from aiflow_studio.inspector.graph_page import GraphPage
from aiflow_studio.inspector.many_page import ManyPage
from aiflow_studio.inspector.node_page import NodePage
from aiflow_studio.inspector.page import Page
from aiflow_studio.inspector.parts import Desk
from aiflow_studio.inspector.row import Draft
from aiflow_studio.inspector.steps import Steps
from aiflow_studio.ui.theme import Theme

# What a page is about: sort, then ids. A node's operator belongs to it: another one, another form.
_Target = tuple[str, frozenset[str], frozenset[str], str]
# Width of the dock in heights of a letter: as the forms like it, and as they can still be used.
_WIDTH, _LEAST_WIDTH = 332 / 13, 280 / 13
_Drafts = dict[str, dict[str, Draft]]


class InspectorPanel(QWidget):
    """The right dock.

    Signals:
        key_wanted(str): a person wants to store the key of that name.
        run_asked(str, dict, object): something is asked of the run: the call, its arguments, and
            what takes the answer.

    Args:
        document: what is edited. `selection`: what is shown. `catalog`: what operators ask for.
    """

    key_wanted = Signal(str)
    run_asked = Signal(str, dict, object)

    def __init__(
        self,
        document: Document,
        selection: Selection,
        catalog: Catalog,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("inspector")
        self.setAccessibleName("Inspector")
        self._desk = Desk(
            document,
            selection,
            catalog,
            theme,
            Steps(document),
            wants_key=self.key_wanted.emit,
            ask_run=self.run_asked.emit,
        )
        self._compiled: Compiled | None = None
        self._snapshot: Snapshot | None = None
        self._drafts: dict[_Target, _Drafts] = {}
        self._graph = document.graph
        self._is_stale = False
        self._is_following = False
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._inside = QWidget()
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._scroll.setWidget(self._inside)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._scroll)
        self._shown: Page | None = None
        self._target = self._wanted()
        self._page = self._build()
        document.loading.connect(self._on_loading)
        document.changed.connect(self._on_document_changed)
        selection.changed.connect(self._show_wanted)

    @property
    def base(self) -> Path | None:
        """Folder that relative paths in the graph start from; None while it has no file."""
        return self._desk.base

    @base.setter
    def base(self, base: Path | None) -> None:
        self._desk.base = base

    def set_theme(self, theme: Theme) -> None:
        """Draw with other colours."""
        self._desk.theme = theme
        self._page.show_compiled(self._compiled)
        self.update()

    def set_compiled(self, compiled: Compiled | None) -> None:
        """Show what the compiler found: bound, edge types, findings at the node."""
        self._compiled = compiled
        self._page.show_compiled(compiled)

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show how the run stands; None when there is no run."""
        self._snapshot = snapshot
        self._page.show_snapshot(snapshot)

    def minimumSizeHint(self) -> QSize:
        """Be as wide as the forms need at this size of text, whatever is shown."""
        return QSize(self._width(_LEAST_WIDTH), super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        """Ask for as much as the forms like."""
        return QSize(self._width(_WIDTH), 80 * self.fontMetrics().averageCharWidth())

    def _width(self, letters: float) -> int:
        return round(self.fontInfo().pixelSize() * letters)

    def _on_loading(self) -> None:
        # What stands in a field belongs to the document that goes.
        self._leave_field()
        self._drafts.clear()
        self._is_stale = True

    def _on_document_changed(self, *_: object) -> None:
        before, self._graph = self._graph, self._desk.document.graph
        renamed = None if self._is_stale else _renamed(before, self._graph)
        if renamed is not None and renamed[0] in self._desk.selection.nodes:
            self._follow(*renamed)
        elif not self._show_wanted():
            self._page.show_graph(self._desk.document.graph)

    def _follow(self, old: str, new: str) -> None:
        """Keep showing a node that has another name now: its red entries and the focus too."""
        selection, focused = self._desk.selection, self._focused()
        self._is_following = True
        selection.set(selection.nodes - {old} | {new}, selection.edges)
        self._is_following = False
        drafts = self._page.drafts()
        self._target = self._wanted()
        self._page = self._build()
        self._page.restore(drafts)
        if focused and (field := self._page.findChild(QWidget, focused)) is not None:
            field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _leave_field(self) -> None:
        """End the entry that a person is at, as if the focus had gone elsewhere."""
        widget = QApplication.focusWidget()
        if widget is not None and self.isAncestorOf(widget):
            widget.clearFocus()

    def _focused(self) -> str:
        """Return the object name of the field that a person is in, "" where there is none."""
        widget = QApplication.focusWidget()
        return widget.objectName() if widget is not None and self.isAncestorOf(widget) else ""

    def _show_wanted(self, *_: object) -> bool:
        """Show the page of what is selected; False where it is shown already."""
        if self._is_following or (self._wanted() == self._target and not self._is_stale):
            return False
        # To leave a field may change the document, so it comes before all else.
        self._leave_field()
        wanted = self._wanted()
        if wanted == self._target and not self._is_stale:
            return False
        drafts = {} if self._is_stale else self._page.drafts()
        if drafts:
            self._drafts[self._target] = drafts
        self._is_stale = False
        self._target = wanted
        self._page = self._build()
        self._page.restore(self._drafts.pop(wanted, {}))
        return True

    def _wanted(self) -> _Target:
        graph = self._desk.document.graph
        nodes = frozenset(id for id in self._desk.selection.nodes if id in graph.nodes)
        edges = frozenset(id for id in self._desk.selection.edges if id in graph.edges)
        if len(nodes) == 1 and not edges:
            return ("node", nodes, edges, graph.nodes[next(iter(nodes))].operator)
        if len(edges) == 1 and not nodes:
            return ("edge", nodes, edges, "")
        return ("many" if nodes or edges else "graph", nodes, edges, "")

    def _build(self) -> Page:
        sort, nodes, edges, _ = self._target
        page: Page
        if sort == "node":
            page = NodePage(self._desk, next(iter(nodes)), self._inside)
        elif sort == "edge":
            page = EdgePage(self._desk, next(iter(edges)), self._inside)
        elif sort == "many":
            page = ManyPage(self._desk, nodes, edges, self._inside)
        else:
            page = GraphPage(self._desk, self._inside)
        page.show_graph(self._desk.document.graph)
        page.show_compiled(self._compiled)
        page.show_snapshot(self._snapshot)
        old, self._shown = self._shown, page
        if old is not None:
            self._retire(old)
        self._column.addWidget(page)
        page.show()
        self._scroll.verticalScrollBar().setValue(0)
        return page

    def _retire(self, page: Page) -> None:
        # It may be the sender of what brought us here, so it goes a little later; until then
        # nobody must take its fields for those that are shown.
        self._column.removeWidget(page)
        page.hide()
        for widget in (page, *page.findChildren(QWidget)):
            widget.setObjectName("")
        page.deleteLater()


def _renamed(before: Graph, after: Graph) -> tuple[str, str] | None:
    """Return old and new id where exactly one node has another name, else None."""
    if before.nodes is after.nodes or len(before.nodes) != len(after.nodes):
        return None
    gone, come = before.nodes.keys() - after.nodes.keys(), after.nodes.keys() - before.nodes.keys()
    return (gone.pop(), come.pop()) if len(gone) == len(come) == 1 else None
