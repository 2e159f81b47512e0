"""Tests of `aiflow.cli.report`."""

from __future__ import annotations

from dataclasses import replace

from aiflow.analysis.facts import Facts
from aiflow.cli.report import run_report, summary_lines
from aiflow.metrics.snapshot import LatencyStats, NodeStats, Outcome, Snapshot

SPEECH = NodeStats(
    "speech",
    queue_capacity=8,
    bound=9,
    max_depth=8,
    received=12,
    processed=10,
    dropped={"oldest": 2},
    service=LatencyStats(10, 2.5, 250.0, 252.0, 255.0),
    busy_s=9.5,
    idle_s=0.5,
)
MODEL = NodeStats("model", queue_capacity=0, emitted=12, busy_s=1.0, backpressured_s=9.0)
SNAPSHOT = Snapshot(
    at=15.0,
    started_at=5.0,
    phase="completed",
    strategy="aiflow",
    bound=10,
    in_flight=0,
    max_in_flight=9,
    nodes={"model": MODEL, "speech": SPEECH},
    edges={},
    conversations={"c1": "completed"},
    model_ttft_ms=101.23456,
    ttfpt_ms=112.5,
)
FACTS = Facts({"model": ("speech",), "speech": ()}, frozenset({"model"}), {})


def test_the_report_has_the_designed_keys_and_no_other() -> None:
    """Checks and scripts read these names."""
    report = run_report(SNAPSHOT, {"speech"})

    assert list(report) == [
        *("status", "bound", "max_in_flight", "model_ttft_ms", "ttfpt_ms", "sinks"),
        *("duration_s", "nodes", "conversations", "error"),
    ]
    assert list(report["nodes"]["speech"]) == [
        *("received", "processed", "emitted", "dropped", "failed", "cancelled", "max_queue"),
        *("wait_ms", "service_ms", "blocked_ms"),
        *("busy", "backpressured", "window_blocked", "idle"),
    ]
    assert report["sinks"] == {"speech": {"ttfpt_ms": None, "received": 12}}
    assert report["nodes"]["speech"]["service_ms"] == {"p50": 250.0, "p99": 252.0}
    assert (report["duration_s"], report["model_ttft_ms"]) == (10.0, 101.235)


def test_time_shares_of_a_node_add_up_to_one() -> None:
    """Seconds become shares, and a node that never ran has none."""
    nodes = run_report(SNAPSHOT, ())["nodes"]

    assert (nodes["model"]["busy"], nodes["model"]["backpressured"]) == (0.1, 0.9)
    idle = replace(SNAPSHOT, nodes={"x": NodeStats("x")})
    assert run_report(idle, ())["nodes"]["x"]["busy"] == 0.0


def test_the_status_is_the_session_s_own() -> None:
    """Outcomes of old conversations are forgotten, and the session knows better."""
    failed = replace(SNAPSHOT, phase="failed")

    assert run_report(SNAPSHOT, ())["status"] == "completed"
    assert run_report(failed, ())["status"] == "failed"
    assert next(summary_lines(failed, FACTS)).startswith("failed in 10.0 s")


def test_the_summary_fits_what_happened() -> None:
    """Headline, drops with reasons, and a line per node."""
    lines = list(summary_lines(SNAPSHOT, FACTS))

    assert lines[0] == (
        "completed in 10.0 s · at most 9 events in flight (a bound of 10)"
        " · first token after 112 ms (model 101 ms)"
    )
    assert lines[1] == "dropped: speech 2 (oldest)"
    assert lines[2].startswith("speech was the slow consumer")
    assert [line.split()[0] for line in lines[4:]] == ["node", "model", "speech"]


def test_many_conversations_are_counted_by_outcome() -> None:
    """A person cannot read a thousand names."""
    many: dict[str, Outcome] = {"c1": "completed", "c2": "failed", "c3": "completed"}

    lines = list(summary_lines(replace(SNAPSHOT, conversations=many, bound=None), FACTS))

    assert "no bound" in lines[0]
    assert lines[1] == "3 conversations: 2 completed, 1 failed"


def test_a_speculative_node_tells_what_became_of_its_effects() -> None:
    """In a line for a person, and beside the node's counts for a program."""
    fates = {"deferred": 5, "committed": 3, "rolled_back": 1, "discarded": 1, "waiting": 0}
    order = NodeStats("order", effects=fates)
    snapshot = replace(SNAPSHOT, nodes={**SNAPSHOT.nodes, "order": order})

    lines = list(summary_lines(snapshot, FACTS))
    nodes = run_report(snapshot, ())["nodes"]

    assert lines[2] == (
        "order: 5 effects deferred, 3 committed, 1 rolled back,"
        " 1 discarded because the barrier was full"
    )
    assert nodes["order"]["effects"] == fates
    assert "effects" not in nodes["model"]
