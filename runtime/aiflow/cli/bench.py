"""`aiflow bench`: the measures of the engine, taken on this machine, and of any graph."""

from __future__ import annotations

import argparse
from pathlib import Path

from aiflow.bench.engine import Row, rows
from aiflow.bench.figures import Figure, figures
from aiflow.bench.peers import PeerRow, peer_rows
from aiflow.cli import bench_paper, compare
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.cli.results import folder, write

_MOST_RUNS = 1000
_HEAD = (
    f"{'case':<56} {'loop':<8} {'q':>3} {'hops':>4} {'k':>2} {'µs/event':>9} {'by hand':>9}"
    f" {'ratio':>7} {'wanted':>8}"
)
_PEERS_HEAD = (
    f"{'framework':<34} {'version':<9} {'q':>3} {'µs/event':>9} {'by AiFlow':>9} {'MaxQ':>6}"
)


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command and what it measures to the program's parser."""
    parser = commands.add_parser("bench", help="measure the engine on this machine")
    measures = parser.add_subparsers(title="measures", metavar="MEASURE", required=True)
    engine = measures.add_parser(
        "engine",
        parents=[common],
        help="the engine against a chain of queues written by hand",
        description="Time the engine, with all its laws and metrics on, against an expert's"
        " chain of asyncio queues, both in one run. A ratio above 1 means that the engine is"
        " faster.",
    )
    engine.add_argument(
        "--runs", type=int, default=5, metavar="N", help="runs of each side, medians are taken"
    )
    engine.add_argument("--out", metavar="DIR", help="write engine.json, or peers.json, there too")
    engine.add_argument("--json", action="store_true", help="print one JSON object")
    engine.add_argument(
        "--full", action="store_true", help="every case on every loop, ten times as long"
    )
    engine.add_argument(
        "--peers",
        action="store_true",
        help="measure other frameworks on the same work instead; they are installed with"
        ' "aiflow-runtime[peers]"',
    )
    engine.set_defaults(command=bench_engine)
    bench_paper.add_to(measures, common)
    compare.add_to(measures, common)


def bench_engine(options: argparse.Namespace) -> int:
    """Measure and print; a lost event or a broken order is a failure."""
    if not 1 <= options.runs <= _MOST_RUNS:
        raise UsageError(f"--runs is {options.runs}; it must be 1 to {_MOST_RUNS}")
    out = folder(options.out)
    tell = say if options.json else put
    if options.peers:
        return _bench_peers(options, out)
    tell(_HEAD)
    measured, found = [], []
    for row in rows(options.runs, full=options.full):
        measured.append(row)
        # Measuring takes minutes: each row is shown as soon as it is there.
        tell(_line(row))
    tell("")
    for figure in figures(options.runs, full=options.full):
        found.append(figure)
        tell(_figure_line(figure))
    result = {
        "rows": [row.to_dict() for row in measured],
        "figures": [figure.to_dict() for figure in found],
    }
    _keep(options, out, "engine.json", result)
    if faulty := [row for row in measured if row.lost or row.order_violations]:
        first = faulty[0]
        complain(
            f"{len(faulty)} rows have lost or disordered events, first: {first.case} at"
            f" q = {first.q} on {first.loop}; this is a bug in the engine"
        )
        return Exit.FAILED
    return Exit.DONE


def _bench_peers(options: argparse.Namespace, out: Path | None) -> int:
    """Measure the other frameworks and print; what they lose is theirs and no failure."""
    tell = say if options.json else put
    tell(_PEERS_HEAD)
    measured = []
    for row in peer_rows(options.runs):
        measured.append(row.to_dict())
        tell(_peer_line(row))
    _keep(options, out, "peers.json", {"rows": [], "figures": [], "peers": measured})
    return Exit.DONE


def _peer_line(row: PeerRow) -> str:
    start = f"{row.name:<34} {row.version:<9} {'–' if row.q is None else row.q:>3}"
    if row.reason:
        return f"{start}  n/a: {' '.join(row.reason.split())}"
    faults = f"  {row.lost} lost, {row.order_violations} out of order"
    return f"{start} {row.us_per_event:>9.2f} {row.by_aiflow:>8.2f}× {row.max_q:>6}" + (
        faults if row.lost or row.order_violations else ""
    )


def _keep(options: argparse.Namespace, out: Path | None, name: str, result: object) -> None:
    """Print the result and write it, where that is asked for."""
    if options.json:
        put_json(result)
    if out is not None:
        write(out / name, result)


def _line(row: Row) -> str:
    wanted = "–" if row.wanted is None else f"≥ {row.wanted:.2f}×"
    faults = f"  {row.lost} lost, {row.order_violations} out of order"
    return (
        f"{row.case:<56} {row.loop:<8} {row.q:>3} {row.hops:>4} {row.k:>2} {row.us_per_event:>9.2f}"
        f" {row.baseline_us:>9.2f} {row.ratio:>6.2f}× {wanted:>8}"
        + (faults if row.lost or row.order_violations else "")
    )


def _figure_line(figure: Figure) -> str:
    wanted = figure.wanted + ("  not met" if figure.is_met is False else "")
    value = f"{figure.value:,.4g} {figure.unit}"
    return f"{figure.name:<64} {figure.loop:<8} {value:>12}  {wanted}".rstrip()
