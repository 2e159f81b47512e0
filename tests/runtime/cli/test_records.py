"""Tests of `aiflow.cli.records`."""

from __future__ import annotations

import io
import json

from aiflow.cli.records import EventFile, MetricsFile
from aiflow.engine.cells import Terminal, Turn
from aiflow.events import Context, ToolFragment
from aiflow.metrics.snapshot import Snapshot

EVENT = Context(ToolFragment(0, name="look"), "c1", 0, "model", 3, part=1, created_at=12.5)


def test_each_step_is_a_line_with_time_from_the_start() -> None:
    """A header, then what happened; no line knows the machine's clock."""
    file = io.BytesIO()
    events = EventFile(file, {"seed": 7}, started_at=12.0)

    events.emitted("model", "tools", EVENT, 12.75)
    events.settled("log", EVENT, "processed", 13.0)
    events.settled("log", None, "failed", 13.0)
    events.ended("log", Turn("c1", 0, 12.0), Terminal.END, 14.0)

    header, emitted, settled, lost, ended = map(json.loads, file.getvalue().splitlines())
    assert header == {"aiflow-events": 1, "seed": 7}
    assert emitted == {
        "at": 0.75,
        "what": "emitted",
        "node": "model",
        "port": "tools",
        "conversation": "c1",
        "turn": 0,
        "source": "model",
        "sequence": 3,
        "part": 1,
        "created_at": 0.5,
        "type": "tool-fragment",
        "payload": {"index": 0, "id": "", "name": "look", "arguments": "", "choice": 0},
    }
    assert (settled["at"], settled["what"], settled["sequence"]) == (1.0, "processed", 3)
    assert lost == {"at": 1.0, "what": "failed", "node": "log"}
    assert ended == {"at": 2.0, "what": "end", "node": "log", "conversation": "c1", "turn": 0}


def test_a_snapshot_is_a_line_with_time_from_the_start() -> None:
    """A run of yesterday and one of today lie on the same axis."""
    file = io.BytesIO()
    metrics = MetricsFile(file, {"seed": 7})
    snapshot = Snapshot(105.5, 100.0, "running", "aiflow", 9, 1, 2, {}, {}, {"c1": "active"})

    metrics.write(snapshot)

    header, line = map(json.loads, file.getvalue().splitlines())
    assert header == {"aiflow-metrics": 1, "seed": 7}
    assert (line["at"], line["started_at"], line["max_in_flight"]) == (5.5, 0.0, 2)
