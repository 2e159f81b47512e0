"""`CanvasView` over NodeGraphQt: compares what is shown with the document, mends the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, QPoint, QRectF, Signal
from PySide6.QtWidgets import QWidget

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.registry import Catalog
from aiflow_studio.canvas.faces import EdgeFace, NodeFace, edge_face, edges_by_node, node_face
from aiflow_studio.canvas.figures import FigureWindow
from aiflow_studio.canvas.intents import Intent, LooseWire, Rename
from aiflow_studio.canvas.nodegraphqt.card_painter import FAR_AWAY
from aiflow_studio.canvas.nodegraphqt.menu import CanvasMenu
from aiflow_studio.canvas.nodegraphqt.projection import Projection
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.canvas.nodegraphqt.viewer import Viewer
from aiflow_studio.canvas.placement import places
from aiflow_studio.canvas.ports import PortTypes
from aiflow_studio.canvas.rules import WireRules
from aiflow_studio.ui.collector import collector_at_rest
from aiflow_studio.ui.theme import Theme

_SIGHT_MARGIN_PX = 60


class NodeGraphQtCanvas(QObject):
    """The canvas of the studio; see `CanvasView` for what each method promises.

    Args:
        catalog: where operators, ports and types stand.
        theme: the colours.
        parent: owner of this object; the widget goes into a layout of its own.
    """

    intent = Signal(Intent)
    selected = Signal(frozenset, frozenset)
    search_requested = Signal(float, float)
    wire_dropped = Signal(float, float, LooseWire)
    zoomed = Signal(float)

    def __init__(self, catalog: Catalog, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalog = catalog
        self._style = Style(theme)
        self._shown = Graph()
        self._was_refused = False
        self._window = FigureWindow()
        self._findings: tuple[Diagnostic, ...] = ()
        self._viewer = Viewer(self._style)
        self._projection = Projection(self._viewer)
        self._viewer.rules = lambda: WireRules(self._shown, self._catalog)
        self._viewer.set_rename(self.start_rename)
        self._menu = CanvasMenu(self._viewer, self.start_rename, self.fit)
        self._viewer.asked.connect(self._ask)
        self._viewer.selection_picked.connect(self._pick)
        self._viewer.search_wanted.connect(self.search_requested)
        self._viewer.wire_let_go.connect(self.wire_dropped)
        self._viewer.zoom_changed.connect(self.zoomed)
        self._viewer.menu_wanted.connect(self._menu.open)

    def widget(self) -> QWidget:
        """Return the view."""
        return self._viewer

    def reconcile(self, before: Graph, after: Graph) -> None:
        """Make the picture equal to `after`; what is shown is known, so `before` is not read."""
        if after is not self._shown:
            self._viewer.dismiss_refusal()
            if not _looks_alike(self._shown, after):
                with collector_at_rest():
                    self._restate(after)
            self._shown = after
        self._settle()
        self._viewer.viewport().update()

    def badge(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Mark cards and wires with what was found about them."""
        self._findings = tuple(diagnostics)
        self._restate_findings()

    def activity(self, snapshot: Snapshot | None) -> None:
        """Show live numbers; only what reads differently is drawn again."""
        if snapshot is None:
            self._window.clear()
        else:
            self._window.feed(snapshot)
        nodes = self._window.nodes()
        is_far = self._viewer.transform().m11() < FAR_AWAY
        for node_id, card in self._projection.cards.items():
            card.show_figures(nodes.get(node_id), is_far=is_far)
        targets = {edge_id: wire.face.target[0] for edge_id, wire in self._projection.wires.items()}
        edges = self._window.edges(targets)
        for edge_id, wire in self._projection.wires.items():
            wire.show_figures(edges.get(edge_id))

    def select(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        """Show exactly these as selected."""
        for node_id, card in self._projection.cards.items():
            if card.isSelected() != (node_id in nodes):
                card.mark_selected(node_id in nodes)
        for edge_id, wire in self._projection.wires.items():
            if wire.isSelected() != (edge_id in edges):
                wire.setSelected(edge_id in edges)

    def reveal(self, item: str) -> None:
        """Bring a card or wire into sight and keep the zoom where it can be read."""
        card, wire = self._projection.card(item), self._projection.wires.get(item)
        rect = QRectF()
        if card is not None:
            rect = card.mapRectToScene(card.body)
        elif wire is not None:
            rect = wire.sceneBoundingRect()
        if not rect.isEmpty():
            self._viewer.ensureVisible(rect, _SIGHT_MARGIN_PX, _SIGHT_MARGIN_PX)

    def start_rename(self, node: str) -> None:
        """Open the name editor over a card."""
        card = self._projection.card(node)
        if card is not None:
            self.reveal(node)
            self._viewer.edit_name(card, lambda name: self._offer_name(node, name))

    def refuse(self, sentence: str) -> None:
        """Show the sentence near the pointer."""
        self._was_refused = True
        self._viewer.refuse(sentence)

    def zoom(self) -> float:
        """Return the zoom."""
        return self._viewer.zoom

    def set_zoom(self, factor: float) -> None:
        """Zoom about the middle."""
        self._viewer.set_zoom_about(self._middle(), factor)

    def fit(self) -> None:
        """Show the whole graph."""
        self._viewer.fit_to(self._viewer.contents())

    def set_theme(self, theme: Theme) -> None:
        """Draw everything in other colours."""
        self._style = Style(theme)
        self._viewer.set_style(self._style)
        for card in self._projection.cards.values():
            if card.face is not None:
                card.show_face(card.face, self._style)
        for wire in self._projection.wires.values():
            wire.show_face(wire.face, self._style)

    def set_text_scale(self, factor: float) -> None:
        """Draw everything larger or smaller."""
        self._viewer.set_text_scale(factor)

    def center(self) -> tuple[float, float]:
        """Return the layout position in the middle of what is seen."""
        at = self._viewer.mapToScene(self._middle())
        return (at.x(), at.y())

    def shown_nodes(self) -> Mapping[str, tuple[float, float]]:
        """Return where each card is."""
        cards = self._projection.cards
        return {node_id: (card.pos().x(), card.pos().y()) for node_id, card in cards.items()}

    def shown_edges(self) -> frozenset[str]:
        """Return the ids of the wires."""
        return frozenset(self._projection.wires)

    def close(self) -> None:
        """Take the picture down in an order that Qt and Python both survive."""
        self._viewer.end_all()
        for signal in (
            self._viewer.asked,
            self._viewer.selection_picked,
            self._viewer.search_wanted,
            self._viewer.wire_let_go,
            self._viewer.zoom_changed,
            self._viewer.menu_wanted,
        ):
            signal.disconnect()
        self._projection.clear()
        self._viewer.close()
        self._viewer.deleteLater()

    def _restate(self, graph: Graph) -> None:
        """Make cards and wires anew where they differ."""
        self._viewer.give_up_gesture()
        types = PortTypes(graph, self._catalog)
        faces, wires = self._faces(types), self._wire_faces(types)
        self._drop(faces, wires)
        at = places(graph)
        for face in faces.values():
            card = self._projection.card(face.id)
            if card is None or card.face != face:
                self._projection.put_node(face, self._style, at[face.id])
        for wire_face in wires.values():
            wire = self._projection.wires.get(wire_face.id)
            if wire is None or wire.face != wire_face:
                self._projection.put_edge(wire_face, self._style)
        self._restate_findings()

    def _faces(self, types: PortTypes) -> dict[str, NodeFace]:
        touching = edges_by_node(types.graph)
        return {
            node_id: node_face(node, types, touching) for node_id, node in types.graph.nodes.items()
        }

    def _wire_faces(self, types: PortTypes) -> dict[str, EdgeFace]:
        nodes = types.graph.nodes
        return {
            edge_id: edge_face(edge_id, edge, types)
            for edge_id, edge in types.graph.edges.items()
            if edge.source.node in nodes and edge.target.node in nodes
        }

    def _drop(self, faces: Mapping[str, NodeFace], wires: Mapping[str, EdgeFace]) -> None:
        for edge_id in [each for each in self._projection.wires if each not in wires]:
            self._projection.drop_edge(edge_id)
        for node_id in [each for each in self._projection.cards if each not in faces]:
            self._projection.drop_node(node_id)

    def _settle(self) -> None:
        """Put every card where the document says."""
        for node_id, (x, y) in places(self._shown).items():
            card = self._projection.card(node_id)
            if card is not None and card.pos().toTuple() != (x, y):
                card.place(x, y)

    def _restate_findings(self) -> None:
        by_node: dict[str, list[Diagnostic]] = {}
        by_edge: dict[str, list[str]] = {}
        for finding in self._findings:
            if finding.edge is not None:
                by_edge.setdefault(finding.edge, []).append(f"{finding.code} {finding.message}")
            elif finding.node is not None:
                by_node.setdefault(finding.node, []).append(finding)
        for node_id, card in self._projection.cards.items():
            card.show_findings(tuple(by_node.get(node_id, ())))
        for edge_id, wire in self._projection.wires.items():
            wire.show_problems(tuple(by_edge.get(edge_id, ())))

    def _ask(self, intent: Intent) -> None:
        self.intent.emit(intent)
        # Whoever listened has answered by now; if nobody did, the picture goes back.
        self._settle()

    def _pick(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        self.select(nodes, edges)
        self.selected.emit(nodes, edges)

    def _offer_name(self, node: str, name: str) -> bool:
        self._was_refused = False
        self._ask(Rename(node, name))
        return not self._was_refused

    def _middle(self) -> QPoint:
        return self._viewer.viewport().rect().center()


def _looks_alike(one: Graph, other: Graph) -> bool:
    """Say whether two graphs differ only in where nodes stand, or in nothing that is drawn."""
    return (
        one.nodes is other.nodes and one.edges is other.edges and one.resources is other.resources
    )
