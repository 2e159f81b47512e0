"""NodeGraphQt's object for one node: its card, its ports, our id."""

from __future__ import annotations

from NodeGraphQt import BaseNode, NodeGraph, Port
from NodeGraphQt.base.model import NodeModel

from aiflow_studio.canvas.faces import NodeFace
from aiflow_studio.canvas.nodegraphqt.card import Card


class FlowNode(BaseNode):
    """Holds nothing but a card and ports.

    NodeGraphQt's constructor is left out: it fills a model of twenty fields and a table of
    widgets, none of which is read here, and at 1,000 nodes they cost as much as the cards.

    Attributes:
        ins, outs: port name -> port; NodeGraphQt makes such a table anew whenever it is asked.

    Args:
        face: what the card shows, and which ports it has.
        graph: whom it belongs to.
    """

    __identifier__ = "aiflow"
    NODE_NAME = "node"

    def __init__(self, face: NodeFace, graph: NodeGraph) -> None:
        self._graph = graph
        self._model = _model_of(face.id, graph)
        self._view = Card(face.id)
        self._inputs: list[Port] = []
        self._outputs: list[Port] = []
        self.ins = {port.name: self._port(port.name, is_input=True) for port in face.inputs}
        self.outs = {port.name: self._port(port.name, is_input=False) for port in face.outputs}

    def _port(self, name: str, *, is_input: bool) -> Port:
        """Make a port that takes any number of wires."""
        dot = self._view.add_dot(name, is_input=is_input)
        port = Port(self, dot)
        model = port.model
        model.type_, model.name, model.multi_connection = dot.port_type, name, True
        (self._inputs if is_input else self._outputs).append(port)
        (self._model.inputs if is_input else self._model.outputs)[name] = model
        return port


#: What every model starts with; nothing but its ports is ever changed.
_BLANK = {**vars(NodeModel()), "type_": FlowNode.type_}


def _model_of(node_id: str, graph: NodeGraph) -> NodeModel:
    """Return a model with our id in place of a memory address."""
    model = NodeModel.__new__(NodeModel)
    own = {"id": node_id, "name": node_id, "inputs": {}, "outputs": {}}
    vars(model).update(_BLANK, **own, _graph_model=graph.model)
    return model
