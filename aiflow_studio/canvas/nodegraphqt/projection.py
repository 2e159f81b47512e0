"""NodeGraphQt's graph, kept equal to the document and never asked for anything else.

Its undo stack, files, clipboard, search, menus and ids are not used. Every change goes in with
`push_undo=False`; what its viewer would do by itself is overridden to do nothing.
"""

from __future__ import annotations

from NodeGraphQt import NodeGraph
from NodeGraphQt.base.port import Port

from aiflow_studio.canvas.faces import EdgeFace, NodeFace
from aiflow_studio.canvas.nodegraphqt.card import Card, FlowNode
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

    def put_node(self, face: NodeFace, style: Style) -> None:
        """Make the card of a node, or make it anew in place when its ports are others."""
        node = self._nodes.get(face.id)
        if node is not None and not _has_ports(node, face):
            self.drop_node(face.id)
            node = None
        if node is None:
            node = FlowNode.of(face.id, face.inputs, face.outputs)
            node.view.show_face(face, style)
            self.add_node(node, selected=False, push_undo=False)
            self._nodes[face.id] = node
        else:
            node.view.show_face(face, style)

    def drop_node(self, node_id: str) -> None:
        """Take a card away, with its wires."""
        for edge_id, wire in list(self._wires.items()):
            if node_id in (wire.face.source[0], wire.face.target[0]):
                self.drop_edge(edge_id)
        node = self._nodes.pop(node_id)
        self.remove_node(node, push_undo=False)

    def put_edge(self, face: EdgeFace, style: Style) -> None:
        """Make the wire of an edge, or restate it; both its ports must be there."""
        wire = self._wires.get(face.id)
        if wire is None:
            source, target = self._ports(face)
            # NodeGraphQt knows one wire between two ports; a file may hold a second by mistake.
            if target in source.connected_ports():
                self._viewer.establish_connection(source.view, target.view)
            else:
                source.connect_to(target, push_undo=False, emit_signal=False)
            wire = self._wires[face.id] = source.view.connected_pipes[-1]
        wire.show_face(face, style)

    def drop_edge(self, edge_id: str) -> None:
        """Take a wire away."""
        wire = self._wires.pop(edge_id)
        source, target = self._ports(wire.face)
        is_last = sum(pipe.input_port is target.view for pipe in source.view.connected_pipes) == 1
        if is_last:
            source.disconnect_from(target, push_undo=False, emit_signal=False)
        else:
            wire.delete()

    def clear(self) -> None:
        """Take everything away, before the graph is let go: else Qt and Python both free it."""
        for node_id in list(self._nodes):
            self.drop_node(node_id)
        self.clear_session()

    def get_unique_name(self, name: str) -> str:
        """Return the name as it is: ours are unique, and asking every node is what costs."""
        return name

    def _ports(self, face: EdgeFace) -> tuple[Port, Port]:
        (source, source_port), (target, target_port) = face.source, face.target
        return (
            self._nodes[source].outputs()[source_port],
            self._nodes[target].inputs()[target_port],
        )

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
    return list(node.inputs()) == [port.name for port in face.inputs] and list(node.outputs()) == [
        port.name for port in face.outputs
    ]
