"""`aiflow bench paper`: the measures of the paper, as a table and as JSON."""

from __future__ import annotations

import argparse

from aiflow.bench.paper import PaperRow, paper_rows
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.cli.results import folder, write
from aiflow.operators.registry import Catalog

_MOST_RUNS = 1000
#: Runs of `--full`: as many as the paper has traces.
_FULL_RUNS = 30
_HEAD = (
    f"{'workload':<26} {'strategy':<10} {'TTFT':>9} {'TTFPT':>10} {'95 % of it':>19} {'MaxQ':>7}"
    f" {'95 % of it':>15}  TTFPT by aggregate, MaxQ by unbounded"
)


def add_to(measures: Commands, common: argparse.ArgumentParser) -> None:
    """Add the measure to the parser of `bench`."""
    parser = measures.add_parser(
        "paper",
        parents=[common],
        help="the measures of the AiFlow paper",
        description="Run each strategy on recorded and controlled work, on the virtual clock, and"
        " show TTFT, TTFPT and MaxQ. Runs differ by their seed; a recording is the same each"
        " time and runs once. Confidence intervals and p"
        ' need "aiflow-runtime[bench]".',
    )
    parser.add_argument(
        "--runs", type=int, metavar="N", help="runs of each, medians are taken (default: 5)"
    )
    parser.add_argument("--out", metavar="DIR", help="write paper.json there too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help=f"{_FULL_RUNS} runs of each")
    parser.set_defaults(command=bench_paper)


def bench_paper(options: argparse.Namespace) -> int:
    """Measure and print; a run that failed is a failure."""
    runs = options.runs if options.runs is not None else _FULL_RUNS if options.full else 5
    if not 1 <= runs <= _MOST_RUNS:
        raise UsageError(f"--runs is {runs}; it must be 1 to {_MOST_RUNS}")
    out = folder(options.out)
    tell = say if options.json else put
    tell(_HEAD)
    rows = []
    for row in paper_rows(runs, Catalog.load()):
        rows.append(row)
        tell(_line(row))
    result = {"rows": [row.to_dict() for row in rows]}
    if options.json:
        put_json(result)
    if out is not None:
        write(out / "paper.json", result)
    failed = [row for row in rows if row.status != "completed"]
    if failed:
        first = failed[0]
        complain(f"{len(failed)} rows failed, first {first.workload} under {first.strategy}")
        return Exit.FAILED
    return Exit.DONE


def _line(row: PaperRow) -> str:
    ttft, ttfpt = (
        "–" if value is None else f"{value:,.1f}" for value in (row.model_ttft_ms, row.ttfpt_ms)
    )
    changes = (
        _change(row.ttfpt_change, row.ttfpt_p),
        _change(row.max_queue_change, row.max_queue_p),
    )
    return (
        f"{row.workload:<26} {row.strategy:<10} {ttft:>6} ms {ttfpt:>7} ms"
        f" {_ends(row.ttfpt_ci_ms):>19} {row.max_queue:>7,.0f} {_ends(row.max_queue_ci):>15}"
        f"  {', '.join(changes)}"
    )


def _ends(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:,.1f} to {interval[1]:,.1f}"


def _change(change: float | None, p: float | None) -> str:
    if change is None:
        return "–"
    return f"{change:+.1%}" + ("" if p is None else f" (p = {p:.2g})")
