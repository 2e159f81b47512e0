"""`--screenshot`: a picture of the window some seconds into a run, and one line about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from aiflow.analysis.bottleneck import bottleneck
from aiflow.analysis.facts import Facts
from aiflow.clock import Clock, SystemClock
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.app.studio import Studio, problem_count
from aiflow_studio.plots.series import slowest

CANNOT_WRITE = 2
#: Seconds before the picture in which the last thing may change that is not the run.
SETTLING_S = 0.5


async def take(studio: Studio, path: Path, after_s: float, clock: Clock | None = None) -> int:
    """Wait `after_s` seconds, write the picture, print the line; return the exit code."""
    clock = clock or SystemClock()
    await clock.sleep(max(0.0, after_s - SETTLING_S))
    if studio.runs.is_active and not studio.selection.nodes:
        # A picture of a run is about its slow consumer: the inspector shows that node.
        studio.selection.set(worth_a_look(studio.runs.snapshot))
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


def worth_a_look(snapshot: Snapshot | None) -> frozenset[str]:
    """Return the node that the others wait for, else where events wait longest, if any did."""
    if snapshot is None:
        return frozenset()
    found = bottleneck(None, snapshot, Facts.of_snapshot(snapshot))
    if found is not None:
        return frozenset((found.node,))
    # Where a full queue drops, nobody waits for the slow node.
    return frozenset(slowest(snapshot, tuple(snapshot.nodes), 1))


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
