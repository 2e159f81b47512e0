"""A new node is connected where it is dropped."""

from __future__ import annotations

from aiflow.graph import edits
from aiflow.graph.model import PortRef
from aiflow_studio.canvas.intents import AddNode, LooseWire
from aiflow_studio.canvas.joins import put_into, wire_up
from tests.studio.canvas.conftest import CATALOG, small_graph


def test_a_node_dropped_on_a_wire_goes_into_it():
    """The edge leads to the new node, another on from there; fan-out stays with the first."""
    graph = edits.connect(small_graph(), "router.answer", "log.in", fanout="detached")
    graph = edits.add_node(graph, "chunker", id="new")

    after = put_into(graph, "new", "router.answer>log.in", CATALOG)

    assert "router.answer>log.in" not in after.edges
    assert after.edges["router.answer>new.in"].fanout == "detached"
    assert after.edges["new.out>log.in"].fanout == "strict"


def test_a_node_that_does_not_fit_stands_beside():
    """A wire that the node cannot carry on is left as it is."""
    graph = edits.add_node(small_graph(), "chunker", id="new")

    assert put_into(graph, "new", "model.out>router.in", CATALOG) is graph


def test_a_loose_wire_ends_at_the_first_port_that_fits():
    """From an output to an input and the other way round."""
    graph = edits.add_node(small_graph(), "chunker", id="new")

    forward = wire_up(graph, "new", LooseWire(PortRef("router", "answer"), False), CATALOG)
    backward = wire_up(graph, "new", LooseWire(PortRef("voice", "in"), True), CATALOG)
    neither = wire_up(graph, "new", LooseWire(PortRef("model", "tools"), False), CATALOG)

    assert "router.answer>new.in" in forward.edges
    assert "new.out>voice.in" in backward.edges
    assert neither is graph


def test_a_node_and_its_edges_are_one_step(bench):
    """Adding into a wire is undone as a whole."""
    bench.controller.handle(AddNode("chunker", 10, 300, into="model.out>router.in"))
    bench.controller.handle(
        AddNode("chunker", 300, 300, wire=LooseWire(PortRef("router", "answer"), False))
    )

    assert "router.answer>chunker-2.in" in bench.canvas.shown_edges()
    assert bench.document.undo_stack.count() == 2
    bench.document.undo_stack.undo()
    bench.document.undo_stack.undo()
    assert bench.graph.nodes == small_graph().nodes
    assert set(bench.graph.edges) == {"model.out>router.in"}


def test_a_wire_let_go_over_empty_ground_asks_for_an_operator(bench, qtbot):
    """The signal carries where, and which port the wire comes from."""
    with qtbot.waitSignal(bench.canvas.wire_dropped) as asked:
        bench.drag(bench.at_port("router", "answer", is_input=False), bench.at(300, 400))

    x, y, wire = asked.args
    assert abs(x - 300) + abs(y - 400) < 4
    assert wire == LooseWire(PortRef("router", "answer"), False)
    assert bench.document.undo_stack.count() == 0
