"""`aiflow bench paper`: the measures of the AiFlow paper, on its kinds of work.

Each strategy runs each workload on the virtual clock: model TTFT, TTFPT, and MaxQ, the most
events that waited in any one queue. Controlled workloads run with the seeds 0, 1, 2, …; a trace is
the same for every seed, so it runs once and has no spread. What the paper calls "no
backpressure" is the strategy `unbounded`.
Source: Qunhui Zhang, "AiFlow: Token-Native Reactive Orchestration with Bounded Backpressure for
Streaming LLM Applications", 2026.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aiflow.analysis.compare import longest_queue, run_once
from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.diagnostics import Severity
from aiflow.compiler.plan import Plan
from aiflow.compiler.strategies import STRATEGIES, apply_strategy
from aiflow.errors import CompileError
from aiflow.graph.codec import load, loads
from aiflow.graph.edits import add_node, connect, disconnect, set_measure
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.registry import Catalog

#: What the paper holds TTFPT and MaxQ against.
SLOWEST, UNBOUNDED = "aggregate", "unbounded"
CONFIDENCE = 0.95
#: Fewer pairs than this can never be significant at 5 %.
LEAST_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work.

    Attributes:
        source: an example's name, or the nodes and edges of a controlled graph.
        measured: the sink where TTFPT is taken.
        collected: the edge on which `aggregate` waits for the whole answer, where the model is
            no source, and so has no store behind it; "" elsewhere.
    """

    name: str
    source: str | dict[str, Any]
    measured: str
    collected: str = ""


def _controlled(thinks: float, slow_s: float) -> dict[str, Any]:
    """Return a graph of 400 tokens at 50 a second, by chance, and a node that is slow at them."""
    tokens = {"count": 400, "rate": 50, "jitter": 1, "burst": 4, "reasoning_share": thinks}
    return {
        "nodes": [
            {"id": "model", "operator": "synthetic", "params": tokens},
            {"id": "router", "operator": "router"},
            {"id": "thoughts", "operator": "counter"},
            {"id": "slow", "operator": "delay", "params": {"seconds": slow_s, "jitter": 0.5}},
            {"id": "answer", "operator": "counter"},
        ],
        "edges": [
            {"from": "model.out", "to": "router.in"},
            {"from": "router.reasoning", "to": "thoughts.in"},
            {"from": "router.answer", "to": "slow.in"},
            {"from": "slow.out", "to": "answer.in"},
        ],
    }


WORKLOADS = (
    Workload("semantic routing, trace", "semantic-routing", "answer"),
    Workload("streaming RAG, trace", "streaming-rag", "answer", "router.answer>answer.in"),
    Workload("slow speech, trace", "slow-speech", "log"),
    Workload("routing, controlled", _controlled(0.5, 0.03), "thoughts"),
    Workload("slow consumer, controlled", _controlled(0.0, 0.05), "answer"),
)


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One strategy on one workload: medians over its runs.

    Attributes:
        ttfpt_ci_ms: 95 % confidence interval of the mean, with `max_queue_ci`; None where scipy
            is not installed, or there is one run.
        ttfpt_change: by that of `aggregate`, −0.79 is 79 % less; `ttfpt_p` the chance of pairs
            so different by a signed-rank test, None where it cannot be said.
        max_queue_change: by that of `unbounded`, with `max_queue_p`.
    """

    workload: str
    strategy: str
    runs: int
    status: str
    model_ttft_ms: float | None
    ttfpt_ms: float | None
    ttfpt_ci_ms: tuple[float, float] | None
    ttfpt_change: float | None
    ttfpt_p: float | None
    max_queue: float
    max_queue_ci: tuple[float, float] | None
    max_queue_change: float | None
    max_queue_p: float | None
    max_in_flight: float
    duration_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)


def paper_rows(runs: int, catalog: Catalog) -> Iterator[PaperRow]:
    """Run all strategies on each workload in turn; yield the rows of each as soon as it is done.

    Args:
        runs: of each controlled workload, 1 or more.
        catalog: of operators.
    """
    for workload in WORKLOADS:
        graph, base = _graph(workload)
        # The same bytes at the same times, thirty times, would look like thirty answers.
        seeds = 1 if isinstance(workload.source, str) else runs
        ended = {}
        for strategy in STRATEGIES:
            is_collected = strategy == SLOWEST and workload.collected
            run = _collected(graph, workload.collected) if is_collected else graph
            plan = apply_strategy(_plan(run, catalog, base), strategy)
            ended[strategy] = [run_once(plan, seed, True, base) for seed in range(seeds)]
        for strategy in STRATEGIES:
            yield _row(workload.name, strategy, ended)


def _graph(workload: Workload) -> tuple[Graph, Path]:
    base = graphs_dir() / "examples"
    if isinstance(workload.source, str):
        graph = load(base / f"{workload.source}.aiflow.json")
    else:
        document = {"format": "aiflow", "version": "1.0", "name": workload.name}
        graph = loads(json.dumps(document | workload.source).encode(), workload.name)
    return set_measure(graph, [workload.measured]), base


def _collected(graph: Graph, edge: str) -> Graph:
    """Return the graph with an `aggregate` in the place of an edge."""
    before, after = edge.split(">")
    whole = add_node(disconnect(graph, edge), "aggregate", id="whole")
    return connect(connect(whole, before, "whole.in"), "whole.out", after)


def _plan(graph: Graph, catalog: Catalog, base: Path) -> Plan:
    compiled = compile_graph(graph, catalog, base=base, clock="virtual")
    if compiled.plan is None:
        errors = [each for each in compiled.diagnostics if each.severity is Severity.ERROR]
        raise CompileError([each.message for each in errors])
    return compiled.plan


def _row(workload: str, strategy: str, ended: dict[str, list[Snapshot]]) -> PaperRow:
    own = ended[strategy]
    firsts = {name: [each.ttfpt_ms for each in runs] for name, runs in ended.items()}
    queues = {name: [float(longest_queue(each)) for each in runs] for name, runs in ended.items()}
    failed = next((each.phase for each in own if each.phase != "completed"), None)
    return PaperRow(
        workload=workload,
        strategy=strategy,
        runs=len(own),
        status=failed or "completed",
        model_ttft_ms=_median([each.model_ttft_ms for each in own]),
        ttfpt_ms=_median(firsts[strategy]),
        ttfpt_ci_ms=interval(firsts[strategy]),
        ttfpt_change=_change(firsts[strategy], firsts[SLOWEST]),
        ttfpt_p=signed_rank(firsts[strategy], firsts[SLOWEST]),
        max_queue=statistics.median(queues[strategy]),
        max_queue_ci=interval(queues[strategy]),
        max_queue_change=_change(queues[strategy], queues[UNBOUNDED]),
        max_queue_p=signed_rank(queues[strategy], queues[UNBOUNDED]),
        max_in_flight=statistics.median(each.max_in_flight for each in own),
        duration_s=statistics.median(each.at - each.started_at for each in own),
    )


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return statistics.median(known) if known else None


def _change(values: Sequence[float | None], by: Sequence[float | None]) -> float | None:
    """Return how much less or more the median is; None where there is nothing to hold it to."""
    own, other = _median(values), _median(by)
    return None if own is None or not other else own / other - 1


def interval(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the confidence interval of the mean by Student's t.

    Returns:
        Low and high end; None with fewer than two values, or without scipy.
    """
    known = _known(values)
    if len(known) <= 1 or find_spec("scipy") is None:
        return None
    mean = statistics.fmean(known)
    error = statistics.stdev(known) / len(known) ** 0.5
    reach = error * float(import_module("scipy.stats").t.ppf((1 + CONFIDENCE) / 2, len(known) - 1))
    return mean - reach, mean + reach


def signed_rank(values: Sequence[float | None], by: Sequence[float | None]) -> float | None:
    """Return the p of Wilcoxon's signed-rank test on pairs of the same seed.

    Returns:
        None with too few pairs that differ, where one lacks a value, or without scipy.
    """
    pairs = list(zip(values, by, strict=True))
    if any(None in pair for pair in pairs) or find_spec("scipy") is None:
        return None
    if sum(own != other for own, other in pairs) < LEAST_PAIRS:
        return None
    return float(import_module("scipy.stats").wilcoxon(list(values), list(by)).pvalue)
