"""Controller: intents become edits of the document, its changes go back into the view.

One way, without echoes: a gesture asks, an edit makes a new graph, the document says that it
changed, the view is made equal to it. A refused intent ends in a sentence and an unchanged
picture.
"""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from aiflow.errors import EditError, GraphFileError
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from aiflow.types import PortType
from aiflow_studio.canvas.intents import (
    AddNode,
    Connect,
    Copy,
    Disconnect,
    Intent,
    LooseWire,
    MoveNodes,
    Paste,
    Remove,
    Rename,
)
from aiflow_studio.canvas.joins import put_into, wire_up
from aiflow_studio.canvas.ports import PortTypes
from aiflow_studio.canvas.rules import WireRules
from aiflow_studio.canvas.view import CanvasView
from aiflow_studio.document import clipboard
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection

_PASTE_STEP = 32.0


class CanvasController(QObject):
    """Joins one canvas, one document and one selection.

    Signals:
        refused(sentence): an intent was refused, and why.

    Args:
        view: the canvas; it is shown the document at once.
        document: what is edited.
        selection: shared with the other panels.
        catalog: what may be added and connected.
    """

    refused = Signal(str)

    def __init__(
        self,
        view: CanvasView,
        document: Document,
        selection: Selection,
        catalog: Catalog,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._view = view
        self._document = document
        self._selection = selection
        self._catalog = catalog
        self._pasted = 0
        view.intent.connect(self.handle)
        view.selected.connect(self._pick)
        document.changed.connect(self._show)
        selection.changed.connect(self._show_selection)
        view.reconcile(Graph(), document.graph)

    def handle(self, intent: Intent) -> None:
        """Do what an intent asks for, or say why not."""
        try:
            self._do(intent)
        except (EditError, GraphFileError) as error:
            self._refuse(str(error))

    def add(
        self,
        operator: str,
        at: tuple[float, float] | None = None,
        wire: LooseWire | None = None,
    ) -> None:
        """Add a node of an operator.

        Args:
            operator: its name.
            at: layout position; None is the middle of what is seen.
            wire: a wire that is to end at the new node.
        """
        x, y = at if at is not None else self._view.center()
        self.handle(AddNode(operator, round(x), round(y), wire=wire))

    def type_of(self, wire: LooseWire) -> PortType | None:
        """Return what a loose wire gives or takes; None where its port is no more."""
        types = PortTypes(self._document.graph, self._catalog)
        return types.takes(wire.port) if wire.is_input else types.gives(wire.port)

    def copy(self) -> None:
        """Put the selected nodes on the clipboard."""
        self.handle(Copy())

    def cut(self) -> None:
        """Put the selected nodes on the clipboard and take them away."""
        self.handle(Copy(removes=True))

    def paste(self) -> None:
        """Put what the clipboard holds beside where it came from."""
        self.handle(Paste())

    def remove_selected(self) -> None:
        """Take the selected nodes and edges away."""
        if self._selection.nodes or self._selection.edges:
            self.handle(Remove(self._selection.nodes, self._selection.edges))

    def select_all(self) -> None:
        """Select every node."""
        self._selection.set(frozenset(self._document.graph.nodes))

    def rename_selected(self) -> None:
        """Let the person type another name where exactly one node is selected."""
        if len(self._selection.nodes) == 1:
            self._view.start_rename(next(iter(self._selection.nodes)))

    def _do(self, intent: Intent) -> None:
        match intent:
            case AddNode():
                self._add(intent)
            case MoveNodes():
                self._move(intent)
            case Connect():
                self._connect(intent)
            case Disconnect(edge):
                self._replace(edits.disconnect(self._document.graph, edge), f"Disconnect {edge}")
            case Rename(node, name):
                self._rename(node, name)
            case Remove(nodes, edges):
                self._remove(nodes, edges)
            case Copy(removes):
                self._copy(removes=removes)
            case Paste():
                self._paste(intent)

    def _add(self, intent: AddNode) -> None:
        operator = self._catalog.get(intent.operator)
        if operator is None:
            self._refuse(f"There is no operator {intent.operator}; it cannot be added.")
            return
        graph = self._settled(self._document.graph)
        policy = dict(operator.default_policy)
        at = self._free_place(intent.x, intent.y)
        after = edits.add_node(graph, operator.name, at=at, policy=policy)
        node = list(after.nodes)[-1]
        if intent.wire is not None:
            after = wire_up(after, node, intent.wire, self._catalog)
        elif intent.into is not None and intent.into in graph.edges:
            after = put_into(after, node, intent.into, self._catalog)
        self._replace(after, f"Add {operator.title or operator.name}")
        self._selection.set(frozenset({node}))

    def _move(self, intent: MoveNodes) -> None:
        graph = self._settled(self._document.graph)
        count = len(intent.positions)
        what = next(iter(intent.positions)) if count == 1 else f"{count} nodes"
        merge = ("nudge", intent.burst) if intent.burst else None
        self._replace(edits.move(graph, intent.positions), f"Move {what}", merge)

    def _connect(self, intent: Connect) -> None:
        graph = self._document.graph
        rules = WireRules(graph, self._catalog)
        if refusal := rules.refusal(intent.source, intent.target, intent.instead_of):
            self._refuse(refusal)
            return
        label = f"Connect {intent.source} to {intent.target}"
        if intent.instead_of is None:
            self._replace(edits.connect(graph, intent.source, intent.target), label)
        else:
            after = edits.reconnect(
                graph, intent.instead_of, source=intent.source, target=intent.target
            )
            self._replace(after, label)

    def _rename(self, node: str, name: str) -> None:
        after = edits.rename_node(self._document.graph, node, name)
        was_selected = node in self._selection.nodes
        self._replace(after, f"Rename {node} to {name}")
        if was_selected:
            self._selection.set((self._selection.nodes - {node}) | {name})

    def _remove(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        graph = self._document.graph
        what = (
            "edge" if not nodes else next(iter(nodes)) if len(nodes) == 1 else f"{len(nodes)} nodes"
        )
        self._replace(edits.remove(graph, nodes, edges), f"Remove {what}")

    def _copy(self, *, removes: bool) -> None:
        nodes = self._selection.nodes
        if not nodes:
            return
        fragment = edits.subgraph(self._settled(self._document.graph), nodes)
        QGuiApplication.clipboard().setMimeData(clipboard.to_mime(fragment))
        self._pasted = 0
        if removes:
            self._remove(nodes, frozenset())

    def _paste(self, intent: Paste) -> None:
        fragment = clipboard.from_mime(QGuiApplication.clipboard().mimeData())
        if not fragment.nodes:
            return
        graph = self._settled(self._document.graph)
        self._pasted += 1
        offset = (_PASTE_STEP * self._pasted, _PASTE_STEP * self._pasted)
        if intent.x is not None and intent.y is not None and fragment.layout:
            left = min(x for x, _ in fragment.layout.values())
            top = min(y for _, y in fragment.layout.values())
            offset = (round(intent.x - left), round(intent.y - top))
        after = edits.paste(graph, fragment, offset)
        added = list(after.nodes)[len(graph.nodes) :]
        count = len(added)
        self._replace(after, f"Paste {count} node{'s' if count != 1 else ''}")
        self._selection.set(frozenset(added))

    def _settled(self, graph: Graph) -> Graph:
        """Return the graph with a place for every node that the view had to place by itself.

        Otherwise the first node that is moved would let all others be placed anew.
        """
        shown = self._view.shown_nodes()
        homeless = {id: shown[id] for id in graph.nodes if id not in graph.layout and id in shown}
        return edits.move(graph, homeless) if homeless else graph

    def _free_place(self, x: float, y: float) -> tuple[float, float]:
        """Return a place near (x, y) on which no other card's corner lies."""
        taken = set(self._document.graph.layout.values())
        while (x, y) in taken:
            x, y = x + _PASTE_STEP, y + _PASTE_STEP
        return (x, y)

    def _replace(self, after: Graph, label: str, merge: Hashable | None = None) -> None:
        self._document.replace(after, label, merge)

    def _show(self, before: Graph, after: Graph) -> None:
        self._view.reconcile(before, after)
        nodes = self._selection.nodes & after.nodes.keys()
        edges = self._selection.edges & after.edges.keys()
        self._selection.set(frozenset(nodes), frozenset(edges))
        # Cards that were made anew do not know that they are selected.
        self._show_selection(frozenset(nodes), frozenset(edges))

    def _pick(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        self._selection.set(nodes, edges)

    def _show_selection(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        self._view.select(nodes, edges)

    def _refuse(self, sentence: str) -> None:
        graph = self._document.graph
        self._view.reconcile(graph, graph)
        self._view.refuse(sentence)
        self.refused.emit(sentence)
