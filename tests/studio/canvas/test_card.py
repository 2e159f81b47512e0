"""What cards and wires show, read from the pixels where only they tell."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.graph import codec, edits
from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats, Snapshot
from aiflow_studio.canvas.faces import edges_by_node, node_face
from aiflow_studio.canvas.ports import PortTypes
from aiflow_studio.ui.theme import DARK
from tests.studio.canvas.conftest import CATALOG, small_graph


def _face(graph, node):
    return node_face(graph.nodes[node], PortTypes(graph, CATALOG), edges_by_node(graph))


def test_a_card_says_the_policy_in_one_line():
    """q, k, ρ and what a full queue does, from what is given and the defaults."""
    graph = edits.merge_policy(small_graph(), "voice", {"queue_capacity": 3, "workers": 2})

    assert _face(graph, "voice").lines == ("q 3", "k 2", "ρ 0", "block")
    assert _face(graph, "voice").capacity == 3


def test_a_card_that_only_detached_edges_feed_says_so():
    """What becomes of an event there is said by the edge, not by the policy."""
    graph = edits.connect(small_graph(), "router.answer", "log.in", fanout="detached")

    assert _face(graph, "log").lines == ("q 8", "k 1", "ρ 0", "drop oldest", "detached")


def test_a_source_says_what_it_asks():
    """A source has no queue; its line is the model, the provider and how it is reached."""
    graph = edits.add_resource(small_graph(), "provider", id="near", params={"trace": "x.trace"})
    graph = edits.set_resource(graph, "model", "provider", "near")
    graph = edits.merge_params(graph, "model", {"model": "small-1"})

    face = _face(graph, "model")

    assert (face.lines, face.capacity) == (("small-1", "near", "trace"), None)


def test_an_odd_policy_is_shown_and_never_a_crash():
    """A file may hold anything; the card shows it as it stands."""
    graph = edits.merge_policy(
        small_graph(), "voice", {"queue_capacity": "many", "overflow": 7, "workers": None}
    )

    assert _face(graph, "voice").lines == ("q many", "k None", "ρ 0", "7")
    assert _face(graph, "voice").capacity == 8


def test_a_port_that_takes_several_types_looks_like_what_comes_in():
    """A port that takes text and is fed with tokens is drawn as a token's."""
    graph = edits.connect(small_graph(), "router.answer", "chunks.in")

    port = _face(graph, "chunks").inputs[0]

    assert (port.type.name, port.shown.name) == ("text", "token")


def test_an_unknown_operator_and_a_missing_port_are_shown(bench):
    """Ports are guessed from edges, wires that cannot be are marked, nothing is dropped."""
    bench.document.load(
        codec.loads(
            '{"format": "aiflow", "version": "1.0", "nodes": ['
            '{"id": "model", "operator": "model"}, {"id": "odd", "operator": "nobody-knows"},'
            '{"id": "voice", "operator": "voice"}], "edges": ['
            '{"from": "model.out", "to": "odd.way-in"}, {"from": "odd.way-out", "to": "voice.in"},'
            '{"from": "model.nothing", "to": "voice.in"}, {"from": "model.out", "to": "voice.in"},'
            '{"from": "ghost.out", "to": "voice.in"}]}'
        )
    )
    wires = bench.canvas._projection.wires

    odd = bench.card("odd").face
    assert odd.is_unknown
    assert [port.name for port in (*odd.inputs, *odd.outputs)] == ["way-in", "way-out"]
    assert not wires["model.out>odd.way-in"].face.is_broken
    assert not wires["odd.way-out>voice.in"].face.is_broken
    assert wires["model.nothing>voice.in"].face.is_broken
    assert wires["model.out>voice.in"].face.is_broken
    assert "ghost.out>voice.in" not in wires
    assert bench.card("voice").face.faults == (
        "The edge from ghost.out comes from a node that is not there.",
    )
    assert "Install the package" in bench.card("odd").tip


def test_findings_stand_in_the_tip_and_hints_make_no_badge(bench):
    """All reasons are listed; a badge is for what is wrong, not for advice."""
    plain = _grab(bench)
    bench.canvas.badge([Diagnostic("AF601", Severity.HINT, "q could be less", node="voice")])
    hinted = _grab(bench)
    bench.canvas.badge(
        [
            Diagnostic("AF110", Severity.ERROR, "in is not connected", node="voice"),
            Diagnostic("AF301", Severity.WARNING, "k is 1", node="voice"),
        ]
    )
    marked = _grab(bench)

    assert hinted == plain
    assert marked != plain
    assert "AF110" in bench.card("voice").tip
    assert "k is 1" in bench.card("voice").tip
    bench.canvas.badge([])
    assert _grab(bench) == plain


@pytest.mark.parametrize(
    ("activity", "shares"),
    [
        ("busy", (1, 0, 0, 0)),
        ("backpressured", (0, 1, 0, 0)),
        ("window_blocked", (0, 0, 1, 0)),
        ("idle", (0, 0, 0, 1)),
    ],
)
def test_the_foot_line_has_the_colour_of_the_activity(bench, activity, shares):
    """The time of the last second is drawn along the lower edge, in the theme's colour."""
    for at in (1.0, 2.0):
        bench.canvas.activity(_snapshot(at, activity, shares))

    image = _grab(bench)
    body = bench.card("voice").mapRectToScene(bench.card("voice").body)
    foot = bench.view.mapFromScene(body.center().x(), body.bottom() - 2.5)
    assert _close(image.pixelColor(foot), DARK.activity(activity))


def test_a_full_queue_is_drawn_cell_by_cell_and_its_edge_is_magenta(bench):
    """Eight cells are filled, the wire says 8/8 full."""
    for at in (1.0, 2.0):
        bench.canvas.activity(_snapshot(at, "busy", (1, 0, 0, 0)))

    figures = bench.card("voice").figures
    wire = bench.canvas._projection.wires["model.out>router.in"]
    assert (figures.depth, figures.capacity) == (8, 8)
    assert (wire.figures.is_held_back, wire.figures.label) == (True, "8/8 full")
    image = _grab(bench)
    middle = bench.view.mapFromScene(wire.path().pointAtPercent(0.5))
    assert _close(image.pixelColor(middle), DARK.backpressured)
    bench.canvas.activity(None)
    assert bench.card("voice").figures is None
    assert not _close(_grab(bench).pixelColor(middle), DARK.backpressured)


def test_what_does_not_read_differently_is_not_drawn_again(bench, monkeypatch):
    """The same numbers again ask for no repaint."""
    bench.canvas.activity(_snapshot(1.0, "busy", (1, 0, 0, 0)))
    bench.canvas.activity(_snapshot(2.0, "busy", (1, 0, 0, 0)))
    card, asked = bench.card("voice"), []
    monkeypatch.setattr(card, "update", lambda: asked.append(1))

    card.show_figures(card.figures)

    assert asked == []


def test_a_long_name_is_cut_on_the_card_and_whole_in_the_tip(bench):
    """However long an id is, the card stays as wide as cards are."""
    name = "n" + "-very-long" * 20
    bench.document.load(edits.add_node(small_graph(), "log", id=name, at=(0, 400)))

    card = bench.card(name)

    assert card.body.width() <= 264
    assert len(card._layout.name) <= 28
    assert name in card.tip


def test_from_far_away_the_name_can_still_be_read(bench):
    """Zoomed out a card shows its name larger, and nothing crashes at any zoom."""
    for zoom in (0.1, 0.2, 0.41, 0.5, 1.0, 4.0):
        bench.canvas.set_zoom(zoom)
        assert not _grab(bench).isNull()


def _grab(bench) -> QImage:
    return bench.view.grab().toImage()


def _close(color: QColor, wanted: str) -> bool:
    other = QColor(wanted)
    return (
        max(
            abs(color.red() - other.red()),
            abs(color.green() - other.green()),
            abs(color.blue() - other.blue()),
        )
        < 40
    )


def _snapshot(at, activity, shares) -> Snapshot:
    busy, backpressured, window_blocked, idle = (share * at for share in shares)
    voice = NodeStats(
        "voice",
        activity=activity,
        queue_capacity=8,
        depth=8,
        processed=int(4 * at),
        service=LatencyStats(4, 1.0, 250.0, 250.0, 250.0),
        busy_s=busy,
        backpressured_s=backpressured,
        window_blocked_s=window_blocked,
        idle_s=idle,
    )
    router = NodeStats("router", queue_capacity=8, depth=8)
    edge = EdgeStats("model.out>router.in", appended=int(20 * at), is_full=True)
    nodes = {"voice": voice, "router": router}
    return Snapshot(at, 0, "running", "aiflow", 9, 1, 1, nodes, {edge.id: edge}, {})


def test_the_pointer_over_a_card_is_told_what_it_is(bench):
    """The tip is made when the pointer comes, and says what the card says now."""
    QTest.mouseMove(bench.viewport, bench.at(100, 400))
    QTest.mouseMove(bench.viewport, bench.at_card("voice"))
    assert bench.card("voice").toolTip() == bench.card("voice").tip

    dot = bench.at_port("chunks", "in", is_input=True)
    QTest.mouseMove(bench.viewport, dot)

    port = bench.card("chunks").dot("in", is_input=True)
    assert port.hovered
    assert port.toolTip() == "<b>in</b> takes text"


def test_what_looks_like_markup_is_shown_as_it_is_in_every_tip(bench):
    """Names come from a file that anybody may have written."""
    bench.document.load(
        codec.loads(
            '{"format": "aiflow", "version": "1.0", "nodes": ['
            '{"id": "odd", "operator": "<img src=x>"}, {"id": "voice", "operator": "voice"}],'
            '"edges": [{"from": "odd.<u>out", "to": "voice.in"}]}'
        )
    )
    canvas = bench.canvas._projection

    tips = [
        *(card.tip for card in canvas.cards.values()),
        *(wire.tip for wire in canvas.wires.values()),
        *(dot.tip for card in canvas.cards.values() for dot in card.dots()),
    ]

    assert any("&lt;img src=x&gt;" in tip for tip in tips)
    assert any("&lt;u&gt;out" in tip for tip in tips)
    assert not any("<img" in tip or "<u>" in tip for tip in tips)
