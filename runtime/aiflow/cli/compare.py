"""`aiflow bench compare`: one graph under every strategy, or with other policies."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aiflow.analysis.compare import Row, Way, measure
from aiflow.cli.catalog import add_operators_option, catalog_of
from aiflow.cli.check import finding_line
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.cli.files import read_graph
from aiflow.cli.results import folder, write
from aiflow.cli.settings import is_policy_member, with_settings
from aiflow.compiler.compile import Compiled
from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.diagnostics import Severity
from aiflow.compiler.strategies import STRATEGIES, apply_strategy

_MOST_RUNS = _MOST_WAYS = 1000
_HEADS = ("first token", "took", "in flight", "max queue", "dropped", "slow node")


def add_to(measures: Commands, common: argparse.ArgumentParser) -> None:
    """Add the measure to the parser of `bench`."""
    parser = measures.add_parser(
        "compare",
        parents=[common],
        help="one graph under every strategy, or with other policies",
        description="Run a graph under each strategy, or with each value of a sweep, and show"
        " what it costs and gives. Sinks run for real: a file that one writes is written anew"
        " by each run.",
    )
    parser.add_argument("graph", metavar="GRAPH", help="graph file")
    parser.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="node.member=V1,V2",
        help="try each value of a policy member or parameter under the strategy aiflow:"
        " speech.queue_capacity=1,8,64; given twice, all pairs",
    )
    parser.add_argument("--full", action="store_true", help="each value under each strategy")
    parser.add_argument("--input", metavar="TEXT", help="what is asked, in place of the prompt")
    parser.add_argument(
        "--clock",
        choices=("real", "virtual"),
        default="virtual",
        help="virtual (if not said): no waiting, the same each time; real: for what needs a"
        " socket or a device",
    )
    parser.add_argument(
        "--runs", type=int, default=3, metavar="N", help="runs of each way, medians are taken"
    )
    parser.add_argument("--out", metavar="DIR", help="write compare.json there too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_operators_option(parser)
    parser.set_defaults(command=compare)


def compare(options: argparse.Namespace) -> int:
    """Run every way and print what came of it; a run that failed is a failure."""
    if not 1 <= options.runs <= _MOST_RUNS:
        raise UsageError(f"--runs is {options.runs}; it must be 1 to {_MOST_RUNS}")
    ways, base = _ways(options)
    if ways is None:
        return Exit.FAILED
    out = folder(options.out)
    tell = say if options.json else put
    labels = [_label(way.plan.strategy, way.settings.items()) for way in ways]
    width = max(map(len, labels))
    tell("  ".join((" " * width, *(f"{head:>11}" for head in _HEADS))).rstrip())
    rows = []
    for way, label in zip(ways, labels, strict=True):
        is_virtual = options.clock == "virtual"
        row = measure(way, options.runs, is_virtual=is_virtual, base=base, text=options.input)
        rows.append(row)
        # In real time this takes minutes: each row is shown as soon as it is there.
        tell(f"{label:<{width}}  {_cells(row)}")
    result = {"graph": options.graph, "rows": [row.to_dict() for row in rows]}
    if options.json:
        put_json(result)
    if out is not None:
        write(out / "compare.json", result)
    failed = [label for row, label in zip(rows, labels, strict=True) if row.status != "completed"]
    if failed:
        first = next(row for row in rows if row.status != "completed")
        complain(f"{len(failed)} of {len(rows)} ways failed, first {failed[0]}: {first.error}")
        return Exit.FAILED
    return Exit.DONE


def _ways(options: argparse.Namespace) -> tuple[list[Way] | None, Path]:
    """Return all ways to run; None, with the reason told, where one of them cannot run."""
    catalog = catalog_of(options)
    graph, base = read_graph(options.graph)
    strategies = STRATEGIES if options.full or not options.sweep else ("aiflow",)
    ways = []
    for settings in _settings(options.sweep):
        texts = [f"{name}={value}" for name, value in settings]
        policies = [text for text in texts if is_policy_member(text)]
        params = [text for text in texts if text not in policies]
        changed = with_settings(graph, catalog, params, policies)
        compiled = compile_graph(changed, catalog, base=base, clock=options.clock)
        if compiled.plan is None:
            _refuse(options.graph, settings, compiled)
            return None, base
        ways += [
            Way(apply_strategy(compiled.plan, strategy), dict(settings)) for strategy in strategies
        ]
    return ways, base


def _settings(sweeps: Sequence[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield each combination of the swept values as (name, value) pairs."""
    axes = []
    for sweep in sweeps:
        name, is_set, values = sweep.partition("=")
        if not (is_set and name.strip() and all(map(str.strip, values.split(",")))):
            raise UsageError(f"--sweep takes node.member=V1,V2, not {sweep!r}")
        axes.append([(name.strip(), value.strip()) for value in values.split(",")])
    combinations = list(itertools.islice(itertools.product(*axes), _MOST_WAYS + 1))
    if len(combinations) > _MOST_WAYS:
        raise UsageError(f"these sweeps make more than {_MOST_WAYS} ways to run; leave some out")
    return iter(combinations)


def _refuse(name: str, settings: Sequence[tuple[str, str]], compiled: Compiled) -> None:
    how = f" with {_label('', settings)}" if settings else ""
    complain(f"{name}{how} cannot run")
    for found in compiled.diagnostics:
        if found.severity is Severity.ERROR:
            say(finding_line(found))


def _label(strategy: str, settings: Any) -> str:  # noqa: ANN401 - pairs, of whatever kind
    return " ".join((strategy, *(f"{name}={value}" for name, value in settings))).strip()


def _cells(row: Row) -> str:
    first = "–" if row.ttfpt_ms is None else f"{row.ttfpt_ms:,.0f} ms"
    limit = "" if row.bound is None else f"/{row.bound:,}"
    cells = (
        *(first, f"{row.duration_s:,.1f} s", f"{row.max_in_flight:,}{limit}"),
        *(f"{row.max_queue:,}", f"{row.dropped:,}", row.bottleneck or "–"),
    )
    return "  ".join(f"{cell:>11}" for cell in cells)
