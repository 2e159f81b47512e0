"""What the inspector says in figures."""

from __future__ import annotations

import pytest

from aiflow.compiler.compile import compile as compile_graph
from aiflow.graph import codec
from aiflow.graph.shipped import graphs_dir
from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats
from aiflow.operators.registry import Catalog
from aiflow_studio.inspector.figures import (
    NOT_AT_A_SOURCE,
    bound_sentence,
    duration,
    edge_rows,
    latency,
    node_rows,
    tuple_text,
)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "P = (8, 1, 0, stateless, block, propagate, –)"),
        (
            {"queue_capacity": 64, "workers": 4, "overflow": "drop_oldest"},
            "P = (64, 4, 0, stateless, drop oldest, propagate, –)",
        ),
        ({"retry": {"attempts": 3}}, "P = (8, 1, 0, stateless, block, propagate, 3 tries)"),
        ({"retry": {"jitter": 0}, "workers": "x"}, "P = (8, x, 0, stateless, block, propagate, –)"),
    ],
)
def test_a_policy_is_written_as_the_paper_writes_it(given, text):
    """Seven members in order, a dash for no retry, and whatever else a file says."""
    assert tuple_text(given) == text


def test_members_without_effect_are_dashes():
    """Whatever a file says of them: a source has no queue."""
    text = tuple_text({"queue_capacity": 64, "cancel": "drain"}, NOT_AT_A_SOURCE)

    assert text == "P = (–, –, –, –, –, drain, –)"


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (0.31, "0.3 ms"), (12.4, "12 ms"), (999, "999 ms"), (1980, "1.98 s")],
)
def test_a_time_has_two_or_three_figures(ms, text):
    """Enough to compare, not more."""
    assert duration(ms) == text


def test_a_latency_says_its_unit_once_where_both_are_short():
    """And a dash before anything was measured."""
    assert latency(LatencyStats(3, 1.0, 250, 252, 253)) == "250 / 252 ms"
    assert latency(LatencyStats(3, 1.0, 980, 2020, 2100)) == "980 ms / 2.02 s"
    assert latency(LatencyStats()) == "–"


def test_drops_of_all_reasons_are_one_figure():
    """Where they came from is the plots' matter."""
    stats = NodeStats("a", received=28, processed=1019, dropped={"full": 2, "policy": 1}, failed=4)

    assert dict(node_rows(stats))["received · processed"] == "28 · 1,019"
    assert dict(node_rows(stats))["dropped · failed"] == "3 · 4"


def test_a_full_edge_says_so():
    """In a word, beside the figure."""
    assert dict(edge_rows(EdgeStats("a>b", depth=8, is_full=True)))["waiting now"] == "8 · full"


def test_the_bound_of_the_slow_speech_graph_is_told_in_the_paper_s_figures():
    """Nine at the speech node, five more at the chunker, 107 in all."""
    folder = graphs_dir() / "examples"
    text = (folder / "slow-speech.aiflow.json").read_text(encoding="utf-8")
    plan = compile_graph(codec.loads(text, "slow-speech"), Catalog.load(), base=folder).plan

    assert bound_sentence("speech", plan) == (
        "This node may hold <b>9</b> events, the graph <b>at most 107</b>."
    )
    assert "<b>14</b> events" in bound_sentence("chunks", plan)
    assert "<b>1</b> event," in bound_sentence("model", plan)
    assert bound_sentence(None, plan) == "The graph may hold <b>at most 107</b> events."
    assert "has errors" in bound_sentence("speech", None)


def test_bytes_are_shown_where_they_are_counted() -> None:
    """Of how many that may wait."""
    counted = NodeStats("n", queue_bytes=1200, max_bytes=65536)

    assert node_rows(counted)[0] == ("bytes waiting", "1,200 of 65,536")
    assert all(what != "bytes waiting" for what, _ in node_rows(NodeStats("n")))
