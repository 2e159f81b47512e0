"""Tests of `aiflow.metrics.exposition`."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from aiflow.metrics.exposition import exposition
from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats, Snapshot

_LINE = re.compile(
    r'aiflow_[a-z0-9_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})?'
    r" -?[0-9.e+-]+"
)


def snapshot_of(*nodes: NodeStats, bound: int | None = 17) -> Snapshot:
    """Return a snapshot of a run that has begun four seconds ago."""
    return Snapshot(
        at=14.0,
        started_at=10.0,
        phase="running",
        strategy="aiflow",
        bound=bound,
        in_flight=3,
        max_in_flight=9,
        nodes={node.id: node for node in nodes},
        edges={"a.out>b.in": EdgeStats("a.out>b.in", appended=5, taken=4, depth=1)},
        conversations={"c1": "active"},
        ttfpt_ms=210.0,
    )


def test_counters_times_and_gauges_carry_the_name_of_their_node() -> None:
    """Counts as counters, milliseconds as seconds, drops with their reason."""
    node = NodeStats(
        "speech",
        queue_capacity=8,
        depth=2,
        received=12345678901234567,
        dropped={"overflow": 4},
        wait=LatencyStats(count=3, sum_s=0.5, p50_ms=100.0, p99_ms=250.0),
        busy_s=1.25,
    )

    lines = exposition(snapshot_of(node)).splitlines()

    assert "# TYPE aiflow_node_received_total counter" in lines
    assert 'aiflow_node_received_total{node="speech"} 12345678901234567' in lines
    assert 'aiflow_node_dropped_total{node="speech",reason="overflow"} 4' in lines
    assert 'aiflow_node_queue_depth_events{node="speech"} 2' in lines
    assert 'aiflow_node_wait_seconds{node="speech",quantile="0.99"} 0.25' in lines
    assert 'aiflow_node_wait_seconds_sum{node="speech"} 0.5' in lines
    assert 'aiflow_node_wait_seconds_count{node="speech"} 3' in lines
    assert 'aiflow_node_busy_seconds_total{node="speech"} 1.25' in lines
    assert 'aiflow_edge_appended_total{edge="a.out>b.in"} 5' in lines
    assert 'aiflow_session_phase{phase="running"} 1' in lines
    assert "aiflow_session_seconds 4" in lines
    assert "aiflow_ttfpt_seconds 0.21" in lines


def test_what_is_without_a_limit_or_not_known_is_absent() -> None:
    """No number stands for nothing."""
    text = exposition(snapshot_of(NodeStats("a"), bound=None))

    assert "aiflow_bound_events" not in text
    assert "aiflow_model_ttft_seconds" not in text
    assert "queue_capacity_events{" not in text


@given(st.text(), st.text())
def test_every_line_is_one_that_prometheus_reads(id: str, reason: str) -> None:
    """Whatever a plug-in calls its nodes and reasons."""
    text = exposition(snapshot_of(NodeStats(id, dropped={reason: 1})))

    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        assert line.startswith(("# HELP aiflow_", "# TYPE aiflow_")) or _LINE.fullmatch(line)


def test_each_family_has_its_head_once_and_its_lines_together() -> None:
    """As the format asks for."""
    text = exposition(snapshot_of(NodeStats("a"), NodeStats("b")))

    heads = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert text.count("# HELP") == len(heads)
