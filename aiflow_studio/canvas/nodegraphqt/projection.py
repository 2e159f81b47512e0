"""NodeGraphQt's graph, kept equal to the document and never asked for anything else.

Its undo stack, files, clipboard, search, menus and ids are not used. Nodes and wires are put
straight into its model and its scene; what its viewer would do by itself is overridden to do
nothing.
"""

from __future__ import annotations

from NodeGraphQt import NodeGraph
from NodeGraphQt.base.port import Port

from aiflow_studio.canvas.faces import EdgeFace, NodeFace
from aiflow_studio.canvas.nodegraphqt.card import Card
from aiflow_studio.canvas.nodegraphqt.flow_node import FlowNode
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.canvas.nodegraphqt.viewer import Viewer
from aiflow_studio.canvas.nodegraphqt.wire import Wire


class Projection(NodeGraph):
    """Cards and wires by our ids.

    Args:
        viewer: the view they are shown in.
    """

    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer=viewer)
        # Its check walks every path: exponential on diamonds. Cycles are judged by `rules`.
        self.set_acyclic(False)
        self._wires: dict[str, Wire] = {}
        self._nodes: dict[str, FlowNode] = {}

    @property
    def cards(self) -> dict[str, Card]:
        """Node id -> card."""
        return {node_id: node.view for node_id, node in self._nodes.items()}

    @property
    def wires(self) -> dict[str, Wire]:
        """Edge id -> wire."""
        return self._wires

    def card(self, node_id: str) -> Card | None:
        """Return a card by id."""
        node = self._nodes.get(node_id)
        return node.view if node is not None else None

    def put_node(self, face: NodeFace, style: Style, at: tuple[float, float]) -> None:
        """Make the card of a node at its place, or make it anew when its ports are others."""
        node = self._nodes.get(face.id)
        if node is not None and not _has_ports(node, face):
            self.drop_node(face.id)
            node = None
        if node is not None:
            node.view.show_face(face, style)
            return
        # What is left of NodeGraphQt's `add_node` without undo, unique names and properties.
        node = self._nodes[face.id] = self.model.nodes[face.id] = FlowNode(face, self)
        node.view.show_face(face, style)
        node.view.setPos(*at)
        self.scene().addItem(node.view)

    def drop_node(self, node_id: str) -> None:
        """Take a card away, with its wires."""
        card = self._nodes[node_id].view
        for dot in card.dots():
            for wire in list(dot.connected_pipes):
                self.drop_edge(wire.face.id)
        del self._nodes[node_id], self.model.nodes[node_id]
        card.delete()

    def put_edge(self, face: EdgeFace, style: Style) -> None:
        """Make the wire of an edge, or restate it; both its ports must be there.

        NodeGraphQt's own way asks every wire of both ports whether it is this one, and knows
        only one between two ports, where a file may hold a second by mistake.
        """
        wire = self._wires.get(face.id)
        if wire is None:
            source, target = self._ports(face)
            _note(source, target)
            _note(target, source)
            wire = self._wires[face.id] = Wire(style)
            self._viewer.lay_wire(wire, source.view, target.view)
        wire.show_face(face, style)

    def drop_edge(self, edge_id: str) -> None:
        """Take a wire away."""
        wire = self._wires.pop(edge_id)
        source, target = self._ports(wire.face)
        _forget(source, target)
        _forget(target, source)
        wire.delete()

    def clear(self) -> None:
        """Take everything away, before the graph is let go: else Qt and Python both free it."""
        for node_id in list(self._nodes):
            self.drop_node(node_id)
        self.clear_session()

    def _ports(self, face: EdgeFace) -> tuple[Port, Port]:
        (source, source_port), (target, target_port) = face.source, face.target
        return self._nodes[source].outs[source_port], self._nodes[target].ins[target_port]

    def _on_connection_changed(self, disconnected: object, connected: object) -> None:
        """Change nothing; a gesture asks, the document answers."""

    def _on_connection_sliced(self, ports: object) -> None:
        """Change nothing."""

    def _on_nodes_moved(self, node_data: object) -> None:
        """Change nothing."""

    def _on_insert_node(self, pipe: object, node_id: object, prev_node_pos: object) -> None:
        """Change nothing."""

    def _on_search_triggered(self, node_type: object, pos: object) -> None:
        """Change nothing; the palette searches."""

    def _on_node_data_dropped(self, mimedata: object, pos: object) -> None:
        """Change nothing; NodeGraphQt would merge a dropped file into the graph."""

    def _on_node_name_changed(self, node_id: object, name: object) -> None:
        """Change nothing."""


def _has_ports(node: FlowNode, face: NodeFace) -> bool:
    return list(node.ins) == [port.name for port in face.inputs] and list(node.outs) == [
        port.name for port in face.outputs
    ]


def _note(port: Port, other: Port) -> None:
    """Let NodeGraphQt know that a wire joins two ports."""
    port.model.connected_ports[other.model.node.id].append(other.model.name)


def _forget(port: Port, other: Port) -> None:
    """Let NodeGraphQt know that one wire less joins two ports."""
    names = port.model.connected_ports[other.model.node.id]
    names.remove(other.model.name)
    if not names:
        del port.model.connected_ports[other.model.node.id]
