"""Compare: what each way to run one graph costs and gives, side by side.

A way is a plan: of another strategy, or with another policy. Every way is run several times
with the seeds 0, 1, 2, … and its medians are taken, so that all ways meet the same chance.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aiflow.analysis.bottleneck import bottleneck
from aiflow.analysis.facts import Facts
from aiflow.clock import VirtualLoop
from aiflow.compiler.plan import Plan
from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a graph.

    Attributes:
        settings: what is set other than in the graph, such as `speech.queue_capacity`: `8`.
    """

    plan: Plan
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one way; figures are medians over its runs.

    Attributes:
        status: `completed`, or how the first run ended that did not. `error` says why.
        max_queue: most events that waited in any one queue.
        dropped: events lost, of all nodes together.
        bottleneck: the node that others waited for in the last run, None where nobody did.
    """

    strategy: str
    settings: Mapping[str, str]
    runs: int
    status: str
    model_ttft_ms: float | None
    ttfpt_ms: float | None
    duration_s: float
    bound: int | None
    max_in_flight: int
    max_queue: int
    dropped: int
    bottleneck: str | None
    error: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)


def measure(
    way: Way, runs: int, *, is_virtual: bool, base: Path | None = None, text: str | None = None
) -> Row:
    """Run one way so many times, one after another, and return what came of it.

    Args:
        way: how to run.
        runs: 1 or more.
        is_virtual: on the virtual clock, else in real time.
        base: folder that relative paths start from.
        text: what is asked in place of prompts; None leaves them.
    """
    ended = [run_once(way.plan, seed, is_virtual, base, text) for seed in range(runs)]
    last = ended[-1]
    found = bottleneck(None, last, Facts.of_plan(way.plan))
    failed = next((each for each in ended if each.phase != "completed"), None)
    return Row(
        strategy=way.plan.strategy,
        settings=dict(way.settings),
        runs=runs,
        status="completed" if failed is None else failed.phase,
        model_ttft_ms=_median([each.model_ttft_ms for each in ended]),
        ttfpt_ms=_median([each.ttfpt_ms for each in ended]),
        duration_s=statistics.median(each.at - each.started_at for each in ended),
        bound=last.bound,
        max_in_flight=statistics.median_high(each.max_in_flight for each in ended),
        max_queue=statistics.median_high(longest_queue(each) for each in ended),
        dropped=statistics.median_high(_dropped(each) for each in ended),
        bottleneck=None if found is None else found.node,
        error=None if failed is None else failed.error,
    )


def run_once(
    plan: Plan, seed: int, is_virtual: bool, base: Path | None = None, text: str | None = None
) -> Snapshot:
    """Run a plan to its end and return the last snapshot; see `measure`."""
    session = Session(plan, seed=seed, base=base, inputs=text)
    factory = VirtualLoop if is_virtual else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(session.run())


def longest_queue(snapshot: Snapshot) -> int:
    """Return the most events that waited in any one queue."""
    return max((node.max_depth for node in snapshot.nodes.values()), default=0)


def _dropped(snapshot: Snapshot) -> int:
    return sum(sum(node.dropped.values()) for node in snapshot.nodes.values())


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
