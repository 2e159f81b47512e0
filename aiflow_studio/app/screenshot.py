"""`--screenshot`: a picture of the window some seconds into a run, and one line about it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiflow.clock import Clock, SystemClock
from aiflow.metrics.snapshot import NodeStats
from aiflow_studio.app.studio import Studio, problem_count

CANNOT_WRITE = 2
#: Seconds before the picture in which the last thing may change that is not the run.
SETTLING_S = 0.5


async def take(studio: Studio, path: Path, after_s: float, clock: Clock | None = None) -> int:
    """Wait `after_s` seconds, write the picture, print the line; return the exit code."""
    clock = clock or SystemClock()
    await clock.sleep(max(0.0, after_s - SETTLING_S))
    if studio.runs.is_active and not studio.selection.nodes:
        # A picture of a run is about its slow consumer: the inspector shows that node.
        queues = studio.runs.snapshot.nodes if studio.runs.snapshot is not None else {}
        studio.selection.set(frozenset(slowest(queues)))
    await clock.sleep(min(after_s, SETTLING_S))
    while studio.runs.is_active:
        studio.runs.sample()
        # The run's own clock began a moment after it was asked for.
        snapshot = studio.runs.snapshot
        left_s = after_s - (snapshot.at - snapshot.started_at) if snapshot is not None else 0.0
        if left_s <= 0:
            break
        await clock.sleep(left_s)
    line = json.dumps(report(studio), ensure_ascii=False)
    if not studio.window.grab().save(str(path)):
        sys.stderr.write(
            f"aiflow-studio: {path}: the picture cannot be written;"
            " check the folder, and that the name ends in .png or .jpg\n"
        )
        return CANNOT_WRITE
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return 0


def slowest(nodes: Mapping[str, NodeStats]) -> list[str]:
    """Return the id of the node where events wait longest; empty while none has waited."""
    waited = [name for name, stats in nodes.items() if stats.wait.count > 0]
    return sorted(waited, key=lambda name: nodes[name].wait.p50_ms, reverse=True)[:1]


def report(studio: Studio) -> dict[str, Any]:
    """Return what the line says: state, sizes, and each queue's depth now and at most."""
    snapshot = studio.runs.snapshot
    graph = studio.document.graph
    fed = {edge.target.node for edge in graph.edges.values()}
    queues = {
        name: stats
        for name, stats in (snapshot.nodes.items() if snapshot is not None else ())
        if name in fed
    }
    return {
        "state": studio.runs.phase,
        "nodes": len(graph.nodes),
        "edges": len(graph.edges),
        "problems": problem_count(studio.linter.check_now()),
        "depth": {name: stats.depth for name, stats in queues.items()},
        "max_depth": {name: stats.max_depth for name, stats in queues.items()},
    }
