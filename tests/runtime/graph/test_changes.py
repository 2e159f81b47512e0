"""Tests of `aiflow.graph.changes`: what changed, in words."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from aiflow.graph import codec, edits
from aiflow.graph.changes import changes
from aiflow.graph.model import Feedback, Graph
from aiflow.graph.values import UNSET
from tests.runtime.graph.drawn import graphs


def start() -> Graph:
    """Return source → step → sink, with a resource and a place for each node."""
    graph = edits.add_resource(Graph(name="g"), "provider", id="p", params={"trace": "a.trace"})
    for number, (id, operator) in enumerate([("a", "chat"), ("b", "chunker"), ("c", "screen")]):
        graph = edits.add_node(graph, operator, id=id, at=(number * 200, 0))
    graph = edits.set_params(graph, "b", {"max_tokens": 5})
    return edits.connect(edits.connect(graph, "a.out", "b.in"), "b.out", "c.in")


def texts(before: Graph, after: Graph) -> list[str]:
    """Return the sentences."""
    return [change.text for change in changes(before, after)]


def test_params_and_policies_are_told_with_both_values() -> None:
    """Given, changed, and left out again."""
    before = edits.set_policy(start(), "b", {"workers": 2})
    after = edits.set_params(before, "b", {"max_tokens": 9, "until": "count"})
    after = edits.set_policy(after, "b", {"queue_capacity": 64})

    assert texts(before, after) == [
        "node b: param max_tokens 5 → 9",
        "node b: param until is set to count",
        "node b: policy workers (k) was 2, is 1 by default now",
        "node b: policy queue_capacity (q) is set to 64",
    ]


def test_a_renamed_node_is_one_change() -> None:
    """Its edges go along and are not told one by one."""
    before = start()

    found = changes(before, edits.rename_node(before, "b", "pieces"))

    assert [(each.kind, each.id, each.text) for each in found] == [
        ("renamed", "pieces", "node b is now called pieces")
    ]


def test_two_equal_nodes_may_both_be_renamed() -> None:
    """Each finds a name of its own."""
    before = edits.add_node(edits.add_node(Graph(), "screen", id="x"), "screen", id="y")
    after = edits.rename_node(edits.rename_node(before, "x", "left"), "y", "right")

    assert texts(before, after) == ["node x is now called left", "node y is now called right"]


def test_what_comes_and_goes_is_named_with_its_kind() -> None:
    """Nodes with their operator, edges with both ends."""
    before = start()
    after = edits.remove(before, ["c"])
    after = edits.connect(edits.add_node(after, "jsonl", id="log"), "b.out", "log.in")
    after = edits.set_fanout(after, "b.out>log.in", "detached")
    after = edits.remove_resource(after, "p")

    assert texts(before, after) == [
        "resource p (provider) is gone",
        "node c (screen) is gone",
        "node log (jsonl) is new",
        "edge b.out → c.in is gone",
        "edge b.out → log.in, detached (drop_oldest), is new",
    ]


def test_edges_tell_their_manner() -> None:
    """Strict or detached, and feedback."""
    before = start()
    after = edits.set_fanout(before, "a.out>b.in", "detached", "error")
    after = edits.set_feedback(after, "b.out>c.in", Feedback(credit=2))

    assert texts(before, after) == [
        "edge a.out → b.in: strict → detached (error)",
        'edge b.out → c.in: feedback nothing → {"credit": 2, "max_returns": 1, "hops": 1}',
    ]


def test_the_graph_itself_and_its_resources_are_told_too() -> None:
    """Fields, switches, accepted findings, and all moves in one sentence."""
    before = start()
    after = edits.set_max_conversations(edits.set_measure(before, ["c"]), 1)
    after = edits.set_resource_params(after, "p", {"trace": "b.trace"})
    after = edits.suppress(edits.set_disabled(after, "b", True), "b", "AF603", "it is a demo")
    after = edits.set_resource(after, "a", "provider", "p")
    after = edits.move(after, {"a": (5, 5), "c": (6, 6)})
    after = replace(after, notes=({"text": "hello"},))

    assert texts(before, after) == [
        "the graph: max_conversations 8 → 1",
        'the graph: measure [] → ["c"]',
        "the graph: notes changed",
        "resource p: param trace a.trace → b.trace",
        "node a: resource provider is set to p",
        "node b is now disabled",
        "node b: AF603 is accepted (it is a demo)",
        "layout: a, c moved",
    ]

    again = replace(after, nodes={**after.nodes, "b": replace(after.nodes["b"], suppress=())})
    assert texts(after, again) == ["node b: AF603 is no longer accepted"]


def test_another_order_is_told_because_the_file_differs() -> None:
    """The same nodes the other way round."""
    before = start()
    after = replace(before, nodes=dict(list(before.nodes.items())[::-1]))

    assert texts(before, after) == ["the graph: nodes stand in another order"]


def test_a_key_is_never_told() -> None:
    """Neither in the sentence nor in the values."""
    key = "sk-" + "a1B2" * 8
    after = edits.merge_params(start(), "b", {"word": key, "max_tokens": UNSET})

    found = changes(start(), after)

    assert key not in repr([change.to_dict() for change in found])
    assert "node b: param word is set to sk-…" in [change.text for change in found]


def test_a_password_is_not_told_where_only_its_field_tells_what_it_is() -> None:
    """It looks like any word; set, changed and left out again."""
    first = edits.merge_params(start(), "b", {"password": "correct-horse"})
    second = edits.merge_params(start(), "b", {"password": "battery-staple"})

    for before, after in ((start(), first), (first, second), (second, start())):
        found = changes(before, after)

        assert len(found) == 1
        assert "horse" not in repr(found[0].to_dict())
        assert "staple" not in repr(found[0].to_dict())


@given(graphs(), graphs())
def test_nothing_is_said_exactly_when_the_files_are_alike(one: Graph, other: Graph) -> None:
    """A graph has no change against itself, and two files that differ have one."""
    assert changes(one, codec.loads(codec.dumps(one))) == []
    if not changes(one, other):
        assert one == other
