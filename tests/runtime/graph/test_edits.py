"""Tests of `aiflow.graph.edits` and `aiflow.graph.values`."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import EditError
from aiflow.graph import codec, edits
from aiflow.graph.diff import diff
from aiflow.graph.model import Feedback, Graph, Suppression
from aiflow.graph.values import UNSET
from tests.runtime.graph.drawn import IDS, OBJECTS, PLACES, TEXTS, VALUES, graphs

Edit = Callable[[Graph], Graph]


def chain() -> Graph:
    """Return source → work → screen, placed and measured."""
    graph = edits.add_node(Graph(), "synthetic", id="source", at=(0, 0))
    graph = edits.add_node(graph, "delay", id="work", at=(200, 0))
    graph = edits.add_node(graph, "screen", at=(400, 0))
    graph = edits.connect(graph, "source.out", "work.in")
    graph = edits.connect(graph, "work.out", "screen.in", fanout="detached")
    return edits.set_measure(graph, ["screen"])


@st.composite
def edits_of(draw: st.DrawFn, graph: Graph) -> Edit:
    """Draw an edit that fits a graph, mostly; one that does not raises `EditError`."""
    nodes = st.sampled_from([*graph.nodes, "missing"])
    ports = st.builds("{}.{}".format, nodes, IDS)
    edges = st.sampled_from([*graph.edges, "missing.out>missing.in"])
    resources = st.sampled_from([*graph.resources, "missing"])
    unset = st.dictionaries(TEXTS, VALUES | st.just(UNSET), max_size=3)
    kinds: list[st.SearchStrategy[Edit]] = [
        _calls(edits.add_node, TEXTS, at=st.none() | PLACES, params=OBJECTS),
        _calls(edits.remove, st.lists(nodes, max_size=2), st.lists(edges, max_size=2)),
        _calls(edits.rename_node, nodes, IDS),
        _calls(edits.connect, ports, ports, overflow=st.none() | st.just("drop_newest")),
        _calls(edits.disconnect, edges),
        _calls(edits.reconnect, edges, source=st.none() | ports, target=st.none() | ports),
        _calls(edits.set_fanout, edges, st.sampled_from(["strict", "detached"])),
        _calls(edits.set_feedback, edges, st.just(Feedback(2)) | st.none()),
        _calls(edits.set_params, nodes, OBJECTS),
        _calls(edits.merge_params, nodes, unset),
        _calls(edits.set_policy, nodes, OBJECTS),
        _calls(edits.merge_policy, nodes, unset),
        _calls(edits.set_operator, nodes, TEXTS),
        _calls(edits.set_disabled, nodes, st.booleans()),
        _calls(edits.set_resource, nodes, IDS, st.none() | resources),
        _calls(edits.suppress, nodes, TEXTS, TEXTS),
        _calls(edits.add_resource, TEXTS, params=OBJECTS),
        _calls(edits.set_resource_params, resources, OBJECTS),
        _calls(edits.remove_resource, resources),
        _calls(edits.move, st.dictionaries(nodes, PLACES, max_size=2)),
        _calls(edits.set_name, TEXTS),
        _calls(edits.set_description, TEXTS),
        _calls(edits.set_max_conversations, st.integers(0, 9)),
        _calls(edits.set_measure, st.lists(nodes, max_size=2, unique=True)),
        _calls(edits.paste, st.just(graph), PLACES.map(lambda at: (at[0] / 10, at[1] / 10))),
    ]
    return draw(draw(st.sampled_from(kinds)))


def _calls(
    edit: Callable[..., Graph], *args: st.SearchStrategy, **kwargs: st.SearchStrategy
) -> st.SearchStrategy[Edit]:
    return st.builds(
        lambda args, kwargs: lambda graph: edit(graph, *args, **kwargs),
        st.tuples(*args),
        st.fixed_dictionaries({}, optional=kwargs),
    )


@given(st.data(), graphs())
def test_an_edit_leaves_the_graph_before_untouched(data: st.DataObject, graph: Graph) -> None:
    """Edits are pure, what they make survives the file, and what they skip is the same object."""
    edit = data.draw(edits_of(graph))
    before = copy.deepcopy(graph)

    try:
        after = edit(graph)
    except EditError:
        after = graph

    assert graph == before
    assert codec.loads(codec.dumps(after)) == after
    changed = {*diff(graph, after).nodes.changed, *diff(graph, after).nodes.added}
    assert all(node is graph.nodes[id] for id, node in after.nodes.items() if id not in changed)
    assert all(id == edge.id for id, edge in after.edges.items())


@given(graphs(least_nodes=1))
def test_renaming_there_and_back_is_the_identity(graph: Graph) -> None:
    """A rename carries edges, layout and measure along, in their places."""
    old, new = next(iter(graph.nodes)), "quite-another"

    there = edits.rename_node(graph, old, new)

    assert old not in there.nodes
    assert not any(old in (e.source.node, e.target.node) for e in there.edges.values())
    assert edits.rename_node(there, new, old) == graph


@given(graphs())
def test_removing_all_nodes_leaves_nothing_that_names_one(graph: Graph) -> None:
    """Nodes go together with their edges, places and measures."""
    after = edits.remove(graph, graph.nodes)

    assert (after.nodes, after.edges, after.layout, after.measure) == ({}, {}, {}, ())


def test_an_id_is_made_from_the_operator() -> None:
    """The first is called as the operator, further ones are numbered."""
    graph = Graph()
    for _ in range(3):
        graph = edits.add_node(graph, "speech")

    assert list(graph.nodes) == ["speech", "speech-2", "speech-3"]
    assert edits.fresh_id(graph, "Größe 2!") == "gr-e-2"
    assert edits.fresh_id(graph, "9") == "node"
    assert edits.fresh_id(graph, "delay", taken=["delay"]) == "delay-2"


@pytest.mark.parametrize("id", ["", "Speech", "9a", "a b", "a.b", "größe", "a\n"])
def test_a_malformed_id_is_refused(id: str) -> None:
    """An id stands in edges and on the command line, so its letters are few."""
    with pytest.raises(EditError, match="cannot be an id; use small letters"):
        edits.add_node(Graph(), "speech", id=id)
    with pytest.raises(EditError, match="cannot be an id"):
        edits.rename_node(chain(), "work", id)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda g: edits.add_node(g, "x", id="work"), "there is a node work in this graph already"),
        (lambda g: edits.rename_node(g, "work", "screen"), "there is a node screen"),
        (lambda g: edits.rename_node(g, "no", "yes"), "there is no node no"),
        (lambda g: edits.remove(g, ["no"]), "there is no node no"),
        (lambda g: edits.disconnect(g, "a.b>c.d"), "there is no edge a.b>c.d"),
        (lambda g: edits.connect(g, "source.out", "work.in"), "are connected already"),
        (lambda g: edits.connect(g, "source.out", "no.in"), "there is no node no"),
        (lambda g: edits.connect(g, "source", "work.in"), "source names no port"),
        (lambda g: edits.set_resource(g, "work", "provider", "no"), "there is no resource no"),
        (lambda g: edits.set_resource_params(g, "no", {}), "there is no resource no"),
        (lambda g: edits.set_max_conversations(g, 0), "at least 1 must be active"),
        (lambda g: edits.set_measure(g, ["no"]), "there is no node no"),
        (lambda g: edits.move(g, {"work": (float("inf"), 0)}), "cannot be placed at inf"),
        (lambda g: edits.subgraph(g, ["no"]), "there is no node no"),
    ],
)
def test_an_edit_that_cannot_be_done_says_why(edit: Edit, says: str) -> None:
    """One sentence for a person."""
    with pytest.raises(EditError, match=says):
        edit(chain())


@pytest.mark.parametrize(
    "edit",
    [
        lambda g: edits.rename_node(g, "work", "work"),
        edits.remove,
        lambda g: edits.set_params(g, "work", {"seconds": 0.25}),
        lambda g: edits.merge_params(g, "work", {"seconds": 0.25, "jitter": UNSET}),
        lambda g: edits.set_policy(g, "work", {}),
        lambda g: edits.set_operator(g, "work", "delay"),
        lambda g: edits.set_disabled(g, "work", False),
        lambda g: edits.set_resource(g, "work", "provider", None),
        lambda g: edits.set_fanout(g, "source.out>work.in", "strict", "drop_newest"),
        lambda g: edits.set_feedback(g, "source.out>work.in", None),
        lambda g: edits.reconnect(g, "source.out>work.in", target="work.in"),
        lambda g: edits.move(g, {"work": (200.001, 0.0)}),
        lambda g: edits.set_name(g, ""),
        lambda g: edits.set_measure(g, ["screen"]),
        lambda g: edits.set_max_conversations(g, 8),
        lambda g: edits.paste(g, Graph()),
    ],
)
def test_an_edit_without_effect_returns_the_same_graph(edit: Edit) -> None:
    """So that it makes no undo step."""
    graph = edits.set_params(chain(), "work", {"seconds": 0.250})

    assert edit(graph) is graph


def test_true_is_not_the_number_one() -> None:
    """Python holds them equal, JSON does not: the edit is done."""
    graph = edits.set_params(chain(), "work", {"a": 1, "b": [0, {"c": 1}]})

    after = edits.merge_params(graph, "work", {"a": True, "b": [False, {"c": True}]})

    assert after is not graph
    assert after.nodes["work"].params["a"] is True


def test_moving_leaves_nodes_and_edges_the_same_objects() -> None:
    """Only the layout is another, to a hundredth and whole where it can be."""
    graph = chain()

    after = edits.move(graph, {"work": (10.004, -3.0)})

    assert after.nodes is graph.nodes
    assert after.edges is graph.edges
    assert after.layout["work"] == (10, -3)


def test_a_place_of_unknown_form_gives_way_to_a_new_one() -> None:
    """What a file says of a place that this version cannot read is kept until the node moves."""
    graph = codec.loads(
        '{"format": "aiflow", "version": "1.0", "nodes": [{"id": "a", "operator": "x"}],'
        ' "layout": {"a": "left", "b": "right"}}'
    )

    renamed = edits.rename_node(graph, "a", "c")
    moved = edits.move(renamed, {"c": (1, 2)})
    removed = edits.remove(graph, ["a"])

    assert renamed.extra == {"layout": {"c": "left", "b": "right"}}
    assert (moved.extra, moved.layout) == ({"layout": {"b": "right"}}, {"c": (1, 2)})
    assert removed.extra == {"layout": {"b": "right"}}


def test_a_wrong_field_gives_way_to_a_right_one() -> None:
    """Setting a policy replaces the number that stood in its place."""
    graph = codec.loads(
        '{"format": "aiflow", "version": "1.0",'
        ' "nodes": [{"id": "a", "operator": "x", "policy": 5}]}'
    )

    after = edits.merge_policy(graph, "a", {"workers": 2})

    assert after.nodes["a"].policy == {"workers": 2}
    assert after.nodes["a"].extra == {}


def test_reconnecting_keeps_place_and_fanout() -> None:
    """Only the end that was dragged is another."""
    graph = edits.add_node(chain(), "screen")

    after = edits.reconnect(graph, "work.out>screen.in", target="screen-2.in")

    assert list(after.edges) == ["source.out>work.in", "work.out>screen-2.in"]
    assert after.edges["work.out>screen-2.in"].fanout == "detached"
    with pytest.raises(EditError, match="connected already"):
        edits.reconnect(graph, "work.out>screen.in", source="source.out", target="work.in")


def test_a_second_edge_between_two_ports_is_renumbered() -> None:
    """Removing the first makes the second the only one."""
    graph = codec.loads(
        '{"format": "aiflow", "version": "1.0", "edges": [{"from": "a.o", "to": "b.i"},'
        ' {"from": "a.o", "to": "b.i"}, {"from": "a.o", "to": "b.i#2"}]}'
    )
    assert list(graph.edges) == ["a.o>b.i", "a.o>b.i#2", "a.o>b.i#2#2"]

    after = edits.disconnect(graph, "a.o>b.i")

    assert list(after.edges) == ["a.o>b.i", "a.o>b.i#2"]


def test_pasting_makes_new_nodes_with_their_inner_edges() -> None:
    """Ids are fresh, places shifted, and edges that lead out are left behind."""
    graph = chain()

    after = edits.paste(graph, edits.subgraph(graph, ["work", "screen"]), (30, 30))

    assert list(after.nodes)[len(graph.nodes) :] == ["work-2", "screen-2"]
    assert list(after.edges)[len(graph.edges) :] == ["work-2.out>screen-2.in"]
    assert after.edges["work-2.out>screen-2.in"].fanout == "detached"
    assert after.measure == ("screen",)
    assert after.layout["screen-2"] == (430, 30)


def test_pasting_twice_counts_on() -> None:
    """A copy of `work-2` is called `work-3`, not `work-2-2`."""
    graph = edits.paste(chain(), edits.subgraph(chain(), ["work"]))

    after = edits.paste(graph, edits.subgraph(graph, ["work", "work-2"]))

    assert list(after.nodes)[-2:] == ["work-3", "work-4"]


def test_pasting_brings_the_resources_that_are_missing() -> None:
    """The same resource is shared; another one of the same id comes under a new id."""
    one = edits.add_resource(chain(), "provider", params={"trace": "a"})
    one = edits.set_resource(one, "source", "provider", "provider")
    fragment = edits.subgraph(one, ["source"])
    other = edits.set_resource_params(one, "provider", {"trace": "b"})

    same = edits.paste(one, fragment)
    more = edits.paste(other, fragment)
    new = edits.paste(Graph(), fragment)

    assert list(same.resources) == ["provider"]
    assert list(more.resources) == ["provider", "provider-2"]
    assert more.nodes["source-2"].resources == {"provider": "provider-2"}
    assert new.nodes["source"].resources == {"provider": "provider"}
    assert new.resources == fragment.resources


def test_removing_a_resource_takes_it_from_its_nodes() -> None:
    """No node is left with the name of something that is not there."""
    graph = edits.add_resource(chain(), "provider")
    graph = edits.set_resource(graph, "source", "provider", "provider")

    after = edits.remove_resource(graph, "provider")

    assert after.resources == {}
    assert after.nodes["source"].resources == {}


def test_a_code_is_suppressed_once() -> None:
    """The last reason counts."""
    graph = edits.suppress(chain(), "work", "AF601", "first")

    after = edits.suppress(graph, "work", "AF601", "second")

    assert after.nodes["work"].suppress == (Suppression("AF601", "second"),)
