"""Which wires may be drawn, and the sentence for each that may not."""

from __future__ import annotations

import pytest

from aiflow.graph import edits
from aiflow.graph.model import PortRef
from aiflow.operators.base import Operator, Port
from aiflow.operators.registry import Catalog
from aiflow.types import ANY
from aiflow_studio.canvas.rules import WireRules
from tests.studio.canvas.conftest import CATALOG, small_graph


def _refusal(graph, source: str, target: str, instead_of: str | None = None) -> str:
    rules = WireRules(graph, CATALOG)
    return rules.refusal(PortRef.parse(source), PortRef.parse(target), instead_of)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("router.answer", "chunks.in"),
        ("chunks.out", "voice.in"),
        ("model.tools", "log.in"),
        # Several edges may feed one in-port.
        ("model.out", "chunks.in"),
        ("router.dead", "log.in"),
    ],
)
def test_a_wire_that_fits_is_not_refused(source, target):
    """Types that fit, fan-in and the implicit out-port are allowed."""
    graph = edits.connect(small_graph(), "router.reasoning", "chunks.in")

    assert _refusal(graph, source, target) == ""


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        (
            "router.answer",
            "voice.in",
            "router.answer gives token, but voice.in takes chunk; put a chunker between them.",
        ),
        (
            "model.tools",
            "chunks.in",
            "model.tools gives tool-fragment, but chunks.in takes text (token, chunk, message);"
            " draw it to a port of the same colour and shape.",
        ),
        (
            "router.answer",
            "router.in",
            "router.answer and router.in are on the same node; a node cannot feed itself.",
        ),
        ("model.out", "router.in", "model.out and router.in are connected already."),
        (
            "voice.in",
            "chunks.in",
            "voice.in and chunks.in are both inputs; a wire leads from an output to an input.",
        ),
        ("voice.out", "log.in", "voice gives nothing out; draw the wire to another node."),
        ("router.answer", "model.in", "model takes nothing in; draw the wire to another node."),
        ("router.odd", "log.in", "There is no out-port router.odd; draw the wire to another port."),
        ("ghost.out", "log.in", "There is no node ghost."),
    ],
)
def test_a_refusal_says_what_and_what_to_do(source, target, sentence):
    """Each reason has its own sentence."""
    assert _refusal(small_graph(), source, target) == sentence


def test_a_cycle_is_refused_with_its_way():
    """The sentence walks round the cycle."""
    graph = edits.add_node(small_graph(), "chunker", id="again")
    graph = edits.connect(graph, "chunks.out", "again.in")

    assert _refusal(graph, "again.out", "chunks.in") == (
        "That wire would close a cycle (chunks → again → chunks),"
        " and events would go round for ever."
    )


def test_the_edge_that_goes_away_closes_no_cycle():
    """Carrying an edge's end elsewhere is judged without that edge."""
    graph = edits.add_node(small_graph(), "chunker", id="again")
    graph = edits.connect(graph, "chunks.out", "again.in")

    assert _refusal(graph, "again.out", "chunks.in", "chunks.out>again.in") == ""


def test_what_passes_unchanged_keeps_its_type():
    """Behind a node that passes anything on, a wire carries what came in."""

    class Hold(Operator):
        name = "hold"
        inputs = (Port("in", ANY),)
        outputs = (Port("out", ANY, like="in"),)

    catalog = Catalog.of(*CATALOG.operators.values(), Hold)
    graph = edits.add_node(small_graph(), "hold")
    out, voice, log = PortRef("hold", "out"), PortRef("voice", "in"), PortRef("log", "in")

    # Nothing comes in yet: it may turn out to fit.
    assert WireRules(graph, catalog).refusal(out, voice) == ""
    graph = edits.connect(graph, "router.answer", "hold.in")
    assert WireRules(graph, catalog).refusal(out, voice).startswith("hold.out gives token")
    assert WireRules(graph, catalog).refusal(out, log) == ""
