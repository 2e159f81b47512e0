"""Tests of `aiflow_studio.app.screenshot` that need no window."""

from __future__ import annotations

from dataclasses import replace

from aiflow.metrics.snapshot import LatencyStats, NodeStats
from aiflow_studio.app.screenshot import worth_a_look
from tests.studio.fake_host import snapshot_at


def test_the_picture_is_about_the_node_that_others_wait_for() -> None:
    """As the status line says it, not where events have waited longest."""
    snapshot = snapshot_at(4.0)
    waited = LatencyStats(9, 90.0, 9_999.0, 9_999.0, 9_999.0)
    held = {
        "model": NodeStats("model", busy_s=1.0, backpressured_s=3.0),
        "router": NodeStats("router", wait=waited, busy_s=0.5, backpressured_s=3.5),
        "speech": NodeStats("speech", busy_s=3.9, idle_s=0.1),
    }
    edges = {
        id: stats
        for id, stats in zip(
            ("model.out>router.in", "router.answer>speech.in"),
            snapshot.edges.values(),
            strict=False,
        )
    }

    assert worth_a_look(replace(snapshot, nodes=held, edges=edges)) == {"speech"}


def test_where_nobody_waits_it_is_about_the_longest_queue() -> None:
    """A queue that drops lets nobody wait."""
    waited = LatencyStats(9, 90.0, 5.0, 9.0, 9.0)
    nodes = {"a": NodeStats("a"), "b": NodeStats("b", wait=waited)}
    snapshot = replace(snapshot_at(4.0), nodes=nodes, edges={})

    assert worth_a_look(snapshot) == {"b"}
    assert worth_a_look(replace(snapshot, nodes={"a": NodeStats("a")})) == frozenset()
    assert worth_a_look(None) == frozenset()
