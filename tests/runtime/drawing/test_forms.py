"""Tests of the forms in which a graph is drawn: mermaid, dot and SVG tell one story."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from aiflow.drawing.charts import dot_of, mermaid_of
from aiflow.drawing.marks import mark_of
from aiflow.drawing.picture import Picture, picture_of
from aiflow.drawing.svg import svg_of
from aiflow.graph import codec, edits
from aiflow.graph.model import Feedback, Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow.types import BUILTIN
from tests.runtime.graph.drawn import graphs

CATALOG = Catalog.load()
FILES = sorted(graphs_dir().glob("*/*.aiflow.json"))
SVG = "{http://www.w3.org/2000/svg}"


def picture(path: Path) -> Picture:
    """Return the picture of a shipped graph."""
    return picture_of(codec.load(path), CATALOG, path.parent)


def slow_speech() -> Graph:
    """Return the example of that name."""
    return codec.load(graphs_dir() / "examples" / "slow-speech.aiflow.json")


def words_of(svg: str) -> list[str]:
    """Return all texts of an SVG, in order."""
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".aiflow.json"))
def test_every_shipped_graph_can_be_drawn(path: Path) -> None:
    """Broken ones too; each node is in each form."""
    drawn = picture(path)

    words = words_of(svg_of(drawn))
    assert all(
        any(word and id.startswith(word.rstrip("…")) for word in words) for id in drawn.cards
    )
    assert mermaid_of(drawn).count('["') + mermaid_of(drawn).count('(["') >= len(drawn.cards)
    assert dot_of(drawn).count(" -> ") == len(drawn.wires)


@settings(max_examples=40)
@given(graphs())
def test_whatever_a_graph_holds_the_svg_is_well_formed(graph: Graph) -> None:
    """Control characters, quotes and angle brackets in names too."""
    drawn = picture_of(graph, CATALOG)

    root = ET.fromstring(svg_of(drawn))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for rect in root.iter(f"{SVG}rect"):
        assert 0 <= float(rect.get("x", 0)) <= width
        assert float(rect.get("height", 0)) <= height
    for text in (mermaid_of(drawn), dot_of(drawn)):
        assert text.endswith("\n")


def test_a_card_says_its_policy_and_a_wire_its_type() -> None:
    """Colour is never the only sign: the type stands on the wire and in the legend."""
    words = words_of(svg_of(picture_of(slow_speech(), CATALOG)))

    assert "q 64 · k 1 · ρ 0 · block" in words
    assert words.count("chunk") == 3
    assert words.count("drop oldest") == 2
    assert "At most 107 events in flight, 1 conversation at once." in words


def test_a_detached_edge_is_dashed_in_every_form() -> None:
    """Two of the five edges of slow-speech."""
    drawn = picture_of(slow_speech(), CATALOG)

    paths = ET.fromstring(svg_of(drawn)).iter(f"{SVG}path")
    assert sum("stroke-dasharray" in path.attrib for path in paths) == 3  # and one in the legend
    assert mermaid_of(drawn).count("-.->") == 2
    assert dot_of(drawn).count("style=dashed") == 2


def test_a_type_has_its_colour_in_every_form() -> None:
    """The colour of a chunk, at each edge that carries one."""
    drawn = picture_of(slow_speech(), CATALOG)

    color = mark_of("chunk").color
    assert mermaid_of(drawn).count(f"stroke:{color}") == 2
    assert dot_of(drawn).count(f'color="{color}", fontcolor') == 2
    assert svg_of(drawn).count(f'stroke="{color}" stroke-width="1.8"') == 2


def test_the_graphs_own_layout_is_kept_where_it_is_whole() -> None:
    """And ours is used where a node has no place, or cards would cover one another."""
    graph = slow_speech()
    own = svg_of(picture_of(graph, CATALOG))
    less = svg_of(picture_of(edits.add_node(graph, "counter", id="more"), CATALOG))
    ours = svg_of(picture_of(replace(graph, layout={}), CATALOG))
    stacked = edits.move(graph, dict.fromkeys(graph.nodes, (0, 0)))

    assert own != ours
    assert svg_of(picture_of(stacked, CATALOG)) == ours
    assert less != own


def test_cycles_disabled_and_unknown_nodes_are_shown_as_such() -> None:
    """A picture of a graph at work in progress is still a picture."""
    graph = Graph(name='a "loop" <x>')
    for id, operator in (("s", "synthetic"), ("a", "delay"), ("b", "what"), ("c", "screen")):
        graph = edits.add_node(graph, operator, id=id)
    for source, target in (
        ("s.out", "a.in"),
        ("a.out", "b.in"),
        ("b.out", "a.in"),
        ("a.out", "c.in"),
    ):
        graph = edits.connect(graph, source, target)
    graph = edits.set_feedback(graph, "b.out>a.in", Feedback())
    graph = edits.set_disabled(graph, "c", True)

    drawn = picture_of(graph, CATALOG)

    words = words_of(svg_of(drawn))
    assert {"unknown: what", "disabled", 'a "loop" <x>'} <= set(words)
    assert any("feedback" in word for word in words)
    assert "what (unknown)" in mermaid_of(drawn)
    assert 'title: "a \\"loop\\" <x>"' in mermaid_of(drawn)
    assert "screen (disabled)" in dot_of(drawn)


def test_an_edge_that_cannot_be_drawn_is_told() -> None:
    """It is not silently missing."""
    text = '{"format": "aiflow", "version": "1.0", "nodes": [{"id": "a", "operator": "chat"}],'
    graph = codec.loads(text + '"edges": [{"from": "a.out", "to": "gone.in"}]}')

    assert "Broken and not drawn: a.out>gone.in." in words_of(svg_of(picture_of(graph, CATALOG)))


def test_a_key_is_not_drawn() -> None:
    """A picture is handed on more readily than a file."""
    key = "sk-" + "a1B2" * 8
    drawn = picture_of(edits.add_node(Graph(), "chat", id="m", params={"prompt": key}), CATALOG)

    assert not any(key in form(drawn) for form in (svg_of, mermaid_of, dot_of))


def test_mermaid_holds_no_letter_that_it_would_read() -> None:
    """Quotes, brackets and semicolons within a name are spelled in its own way."""
    graph = edits.add_node(Graph(), "chat", id="m", params={"prompt": 'say "<b>#1`'})

    chart = mermaid_of(picture_of(graph, CATALOG))

    assert "say #quot;#lt;b#gt;#35;1#96;" in chart
    assert re.search(r'n0\(\["m<br/>chat<br/>[^"]*"\]\)', chart)


def test_every_type_has_a_mark_of_its_own() -> None:
    """Also the one that takes all."""
    assert all(re.fullmatch("#[0-9a-f]{6}", mark_of(type.name).color) for type in BUILTIN)
    assert mark_of("from-a-plug-in") == mark_of("any")
