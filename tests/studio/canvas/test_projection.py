"""The picture equals the document, whatever happens, and can be taken down."""

from __future__ import annotations

import gc
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.canvas.intents import (
    AddNode,
    Connect,
    Copy,
    Disconnect,
    MoveNodes,
    Paste,
    Remove,
    Rename,
)
from aiflow_studio.canvas.nodegraphqt.adapter import NodeGraphQtCanvas
from aiflow_studio.ui.theme import DARK
from tests.studio.canvas.conftest import CATALOG, Bench, small_graph

_OPERATORS = [*CATALOG.operators, "stranger"]


def _assert_equal(bench: Bench) -> None:
    graph, canvas = bench.graph, bench.canvas
    assert canvas.shown_nodes().keys() == graph.nodes.keys()
    for node, at in graph.layout.items():
        assert canvas.shown_nodes()[node] == at
    drawable = {
        edge.id
        for edge in graph.edges.values()
        if edge.source.node in graph.nodes and edge.target.node in graph.nodes
    }
    assert canvas.shown_edges() == drawable
    # What NodeGraphQt holds by itself agrees too: no node, wire or undo step of its own.
    projection = canvas._projection
    assert set(projection.model.nodes) == set(graph.nodes)
    wires = {
        wire
        for card in projection.cards.values()
        for dot in card.dots()
        for wire in dot.connected_pipes
    }
    assert {wire.face.id for wire in wires} == drawable
    assert projection.undo_stack().count() == 0


def _random_step(bench: Bench, dice: random.Random) -> None:
    graph = bench.graph
    nodes = list(graph.nodes)
    step = dice.randrange(10)
    if step == 0 or not nodes:
        bench.controller.handle(
            AddNode(dice.choice(list(CATALOG.operators)), dice.randrange(900), dice.randrange(600))
        )
    elif step == 1:
        bench.controller.handle(MoveNodes({dice.choice(nodes): (dice.randrange(900), 7)}))
    elif step in (2, 3):
        dots = [dot for card in bench.canvas._projection.cards.values() for dot in card.dots()]
        if dots:
            bench.controller.handle(Connect(dice.choice(dots).ref, dice.choice(dots).ref))
    elif step == 4 and graph.edges:
        bench.controller.handle(Disconnect(dice.choice(list(graph.edges))))
    elif step == 5:
        bench.controller.handle(Rename(dice.choice(nodes), f"n{dice.randrange(30)}"))
    elif step == 6:
        gone = frozenset(dice.sample(nodes, min(len(nodes), dice.randrange(3))))
        bench.controller.handle(Remove(gone, frozenset()))
    elif step == 7:
        bench.selection.set(frozenset(dice.sample(nodes, min(len(nodes), 2))))
        bench.controller.handle(Copy())
        bench.controller.handle(Paste())
    elif step == 8:
        bench.document.undo_stack.undo()
    else:
        bench.document.undo_stack.redo()


def test_the_picture_equals_the_document_after_300_random_steps(bench):
    """Edits, refusals, undo and redo in any order leave nothing behind and lose nothing."""
    dice = random.Random(20261129)

    for _ in range(300):
        _random_step(bench, dice)
        _assert_equal(bench)

    while bench.document.undo_stack.canUndo():
        bench.document.undo_stack.undo()
    _assert_equal(bench)
    assert bench.graph.nodes == small_graph().nodes
    while bench.document.undo_stack.canRedo():
        bench.document.undo_stack.redo()
    _assert_equal(bench)


@settings(max_examples=25)
@given(
    nodes=st.lists(st.sampled_from(_OPERATORS), max_size=6),
    ends=st.lists(
        st.tuples(
            st.sampled_from(["model", "router", "voice", "ghost", "stranger"]),
            st.sampled_from(["out", "answer", "in", "dead", "odd"]),
            st.sampled_from(["router", "chunker", "voice", "ghost", "stranger"]),
            st.sampled_from(["in", "odd"]),
        ),
        max_size=8,
        unique=True,
    ),
)
def test_any_graph_can_be_shown_after_any_other(qapp, nodes, ends):
    """Unknown operators, missing ports, missing nodes and cycles are shown, never a crash."""
    graph = Graph()
    for operator in nodes:
        graph = edits.add_node(graph, operator)
    full = edits.add_node(graph, "ghost") if "ghost" not in graph.nodes else graph
    for source, out_port, target, in_port in ends:
        if {source, target} <= full.nodes.keys():
            full = edits.connect(full, f"{source}.{out_port}", f"{target}.{in_port}")
    # A file may hold edges of a node that is not there; an edit cannot make them.
    broken = Graph(nodes={k: v for k, v in full.nodes.items() if k != "ghost"}, edges=full.edges)
    bench = Bench(small_graph())
    try:
        for each in (full, broken, graph, Graph(), broken):
            bench.document.load(each)
            bench.view.grab()
            _assert_equal(bench)
    finally:
        bench.close()


def test_a_second_edge_between_the_same_ports_is_shown_and_goes_away(bench):
    """A file may hold an edge twice by mistake; both are there, each can be taken away."""
    from aiflow.graph.codec import loads  # noqa: PLC0415 - only this test reads a file

    twice = loads(
        '{"format": "aiflow", "version": "1.0", "nodes": [{"id": "model", "operator": "model"},'
        '{"id": "log", "operator": "log"}], "edges": [{"from": "model.out", "to": "log.in"},'
        '{"from": "model.out", "to": "log.in"}]}'
    )
    bench.document.load(twice)
    _assert_equal(bench)
    assert len(bench.canvas.shown_edges()) == 2

    bench.controller.handle(Disconnect("model.out>log.in"))

    _assert_equal(bench)
    assert len(bench.canvas.shown_edges()) == 1


def test_reconciling_twice_changes_nothing(bench):
    """The same cards and wires are there after a second time."""
    cards, wires = bench.canvas._projection.cards, dict(bench.canvas._projection.wires)

    bench.canvas.reconcile(bench.graph, bench.graph)

    assert bench.canvas._projection.cards == cards
    assert bench.canvas._projection.wires == wires


def test_an_edit_of_one_node_leaves_the_other_cards_alone(bench):
    """Only what changed is made anew."""
    before = bench.canvas._projection.cards

    bench.document.replace(edits.merge_policy(bench.graph, "voice", {"queue_capacity": 3}), "q")

    assert bench.canvas._projection.cards == before
    assert bench.card("voice").face.capacity == 3


@pytest.mark.parametrize("cycles", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_canvases_open_and_close_again_and_again(qapp, cycles):
    """A filled canvas can be closed and collected; a filled graph that is dropped would crash."""
    for cycle in range(cycles):
        bench = Bench(small_graph())
        if cycle % 10 == 0:
            bench.view.grab()
        bench.close()
        del bench
        gc.collect()

    assert not [each for each in QApplication.topLevelWidgets() if each.objectName() == "canvas"]


def test_nobody_listens_and_the_picture_goes_back(qapp):
    """A canvas without a controller shows the document after any gesture."""
    canvas = NodeGraphQtCanvas(CATALOG, DARK)
    canvas.reconcile(Graph(), small_graph())
    canvas._projection.cards["model"].place(500, 500)

    canvas._viewer.ask(MoveNodes({"model": (500, 500)}))

    assert canvas.shown_nodes()["model"] == (0, 0)
    canvas.close()


def test_nodes_without_a_place_are_laid_out_and_keep_it_when_one_moves(qapp):
    """An exported graph has no layout: it is layered, and the first move fixes all places."""
    graph = small_graph()
    bench = Bench(Graph(nodes=graph.nodes, edges=graph.edges))
    shown = dict(bench.canvas.shown_nodes())
    assert len(set(shown.values())) == 5
    assert shown["model"][0] < shown["router"][0]

    bench.controller.handle(MoveNodes({"voice": (900, 900)}))

    assert bench.canvas.shown_nodes() == {**shown, "voice": (900, 900)}
    assert bench.graph.layout.keys() == graph.nodes.keys()
    bench.close()
