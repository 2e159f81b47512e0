"""`aiflow run`: a graph without a window. What to run is decided here, the run is in `running`."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Sequence
from pathlib import Path

from aiflow.analysis.facts import Facts
from aiflow.analysis.wording import counted
from aiflow.cli.catalog import add_operators_option, catalog_of
from aiflow.cli.check import finding_line
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put_json, say
from aiflow.cli.exits import Exit, UsageError, unknown
from aiflow.cli.files import read_graph
from aiflow.cli.interrupts import GRACE_S
from aiflow.cli.linefile import LineFile
from aiflow.cli.report import run_report, summary_lines
from aiflow.cli.running import Ending, Job, leave, run_job
from aiflow.cli.serving import check_address
from aiflow.cli.settings import with_settings
from aiflow.compiler.compile import Compiled
from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.diagnostics import Severity
from aiflow.compiler.plan import Plan
from aiflow.compiler.strategies import STRATEGIES, apply_strategy
from aiflow.engine.loops import loop_names
from aiflow.errors import AiFlowError
from aiflow.graph.model import Graph
from aiflow.providers.recordings import AnswerRecordings


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "run",
        parents=[common],
        help="run a graph",
        description="Run a graph once: what sinks show goes to stdout, all else to stderr."
        " Ctrl+C drains, a second one stops. SIGTERM drains for the time of --grace, then stops:"
        " it ends with 0 where all came out, else with 130.",
    )
    parser.add_argument("graph", metavar="GRAPH", help="graph file; - reads standard input")
    parser.add_argument("--input", metavar="TEXT", help="what is asked, in place of the prompt")
    parser.add_argument(
        "--set", action="append", default=[], metavar="node.param=value", help="set a parameter"
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="node.member=value",
        help="set a policy member, by name or symbol (q, k, rho, sigma, ...):"
        " speech.queue_capacity=4, speech.q=4, speech.overflow=drop_oldest",
    )
    parser.add_argument(
        "--strategy",
        default="aiflow",
        metavar="S",
        help=f"one of {', '.join(STRATEGIES)}: as the policies say (if not said), the whole"
        " answer first, one event at a time, queues without a bound",
    )
    parser.add_argument(
        "--clock",
        choices=("real", "virtual"),
        default="real",
        help="virtual: time jumps to what comes next, the same each time",
    )
    parser.add_argument("--loop", metavar="L", help=f"event loop, one of {', '.join(loop_names())}")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="key of all chance")
    parser.add_argument(
        "--duration", type=float, metavar="S", help="drain after so many seconds of the clock"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=GRACE_S,
        metavar="S",
        help="seconds that SIGTERM gives the run to drain, then it is stopped"
        " (default: %(default)s)",
    )
    parser.add_argument("--events", metavar="FILE", help="write every event as a JSON line")
    parser.add_argument("--metrics", metavar="FILE", help="write snapshots as JSON lines")
    parser.add_argument(
        "--record", metavar="DIR", help="keep each answer of a model as a trace in that folder"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )
    _add_serving(parser)
    parser.add_argument(
        "--repeat", action="store_true", help="begin again at the end, until it is told to end"
    )
    add_operators_option(parser)
    parser.set_defaults(command=run)


def _add_serving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--serve",
        metavar="ADDRESS",
        help="let `aiflow attach` look at the run and steer it, at host:port or port (0 is any"
        " free one); it asks for the token in AIFLOW_TOKEN, or for one that is told on stderr",
    )
    parser.add_argument(
        "--serve-anywhere",
        action="store_true",
        help="allow an address that other machines can reach; nothing is encrypted",
    )
    parser.add_argument(
        "--prometheus",
        metavar="ADDRESS",
        help="let Prometheus read the run's metrics, at /metrics of host:port or port, without"
        " a token",
    )
    parser.add_argument(
        "--stop-when-left",
        action="store_true",
        help="with --serve: begin when somebody attaches, within 10 s, and stop when all have left",
    )


def run(options: argparse.Namespace) -> int:
    """Run the graph and report; the report's status decides the exit code."""
    try:
        return _run(options)
    except AiFlowError as error:
        if options.json:
            put_json({"status": "failed", "error": str(error), "diagnostics": []})
        raise


def _run(options: argparse.Namespace) -> int:
    catalog = catalog_of(options)
    _check_words(options)
    graph, base = read_graph(options.graph)
    graph = with_settings(graph, catalog, options.set, options.policy)
    compiled = compile_graph(graph, catalog, base=base, clock=options.clock)
    if compiled.plan is None:
        return _refuse(options, compiled)
    job = Job(
        plan=apply_strategy(compiled.plan, options.strategy),
        base=base,
        clock=options.clock,
        loop=options.loop or "asyncio",
        seed=options.seed,
        text=options.input,
        duration_s=options.duration,
        grace_s=options.grace,
        is_quiet=options.json,
        recordings=_recordings(options),
        repeats=options.repeat,
        serve=options.serve,
        serve_anywhere=options.serve_anywhere,
        prometheus=options.prometheus,
        stops_when_left=options.stop_when_left,
    )
    with contextlib.ExitStack() as stack:
        files = [_opened(name, stack) for name in (options.events, options.metrics)]
        if not options.json:
            _announce(graph, compiled, job.plan)
        ending = run_job(job, *files)
    # Only a closed file is known to be whole.
    errors = [str(file.error) for file in files if file is not None and file.error is not None]
    _tell_recordings(job.recordings, is_quiet=options.json)
    code = _report(options, job.plan, ending, errors)
    if ending.is_stuck:
        leave(code)
    return code


def _opened(name: str | None, stack: contextlib.ExitStack) -> LineFile | None:
    """Return the file of that name, closed with the stack; None where none is asked for."""
    return None if name is None else stack.enter_context(contextlib.closing(LineFile(name)))


def _recordings(options: argparse.Namespace) -> AnswerRecordings | None:
    """Return where answers are to be kept; None for nowhere.

    Raises:
        UsageError: the folder is none and cannot be made.
    """
    if options.record is None:
        return None
    folder = Path(options.record)
    # What went where is told at the end: a live table may stand on the terminal until then.
    recordings = AnswerRecordings(folder, lambda *_: None)
    if not options.record or not folder.is_dir():
        raise UsageError(f"--record is {options.record}, and there no folder can be made")
    return recordings


def _tell_recordings(recordings: AnswerRecordings | None, *, is_quiet: bool) -> None:
    if recordings is None:
        return
    for error in recordings.errors:
        complain(error)
    if not is_quiet:
        answers = counted(len(recordings.paths), "answer")
        say(f"recorded {answers} in {recordings.folder}")


def _check_words(options: argparse.Namespace) -> None:
    """Refuse what could never run, before anything is read or opened."""
    if options.strategy not in STRATEGIES:
        raise unknown("strategy", options.strategy, STRATEGIES)
    if options.loop is not None:
        if options.loop not in loop_names():
            raise unknown("loop", options.loop, loop_names())
        if options.clock == "virtual":
            raise UsageError("--clock virtual brings its own loop; leave --loop out")
    _check_serving(options)
    for name, seconds in (("duration", options.duration), ("grace", options.grace)):
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"--{name} is {seconds}; it must be above 0 seconds")
    if "" in (options.events, options.metrics):
        raise UsageError("--events and --metrics take the name of a file, not an empty text")
    if None not in (options.events, options.metrics) and _is_same_file(options):
        raise UsageError(f"--events and --metrics are both {options.events}; name two files")


def _check_serving(options: argparse.Namespace) -> None:
    if options.clock == "virtual":
        if options.serve is not None:
            raise UsageError("--serve takes the real clock: nobody can attach to a time that jumps")
        if options.prometheus is not None:
            raise UsageError("--prometheus takes the real clock: nobody can ask in no time")
    if options.serve is None:
        is_reached = options.serve_anywhere and options.prometheus is None
        if is_reached or options.stop_when_left:
            raise UsageError("--serve-anywhere and --stop-when-left go with --serve ADDRESS")
    for option, address in (("--serve", options.serve), ("--prometheus", options.prometheus)):
        if address is not None:
            check_address(option, address, serve_anywhere=options.serve_anywhere)


def _is_same_file(options: argparse.Namespace) -> bool:
    """Say whether both files would be written over one another; a device takes both."""
    events, metrics = Path(options.events).resolve(), Path(options.metrics).resolve()
    return events == metrics and (events.is_file() or not events.exists())


def _refuse(options: argparse.Namespace, compiled: Compiled) -> int:
    """Say what is wrong with the graph; nothing has run."""
    errors = [found for found in compiled.diagnostics if found.severity is Severity.ERROR]
    count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
    complain(f"{options.graph} has {count} and cannot run")
    for found in errors:
        say(finding_line(found))
    if options.json:
        put_json(
            {
                "status": "failed",
                "error": f"{errors[0].code}: {errors[0].message}",
                "diagnostics": [found.to_dict() for found in compiled.diagnostics],
            }
        )
    return Exit.FAILED


def _announce(graph: Graph, compiled: Compiled, plan: Plan) -> None:
    """Say what is about to run, and how much it may hold under its strategy."""
    for found in compiled.diagnostics:
        if found.severity is Severity.WARNING:
            say(finding_line(found).strip())
    limit = "no bound" if plan.bound is None else f"at most {plan.bound} events in flight"
    how = "" if plan.strategy == "aiflow" else f" (strategy {plan.strategy})"
    say(f"{graph.name or 'graph'}: {counted(len(graph.nodes), 'node')}, {limit}{how}")


def _report(
    options: argparse.Namespace, plan: Plan, ending: Ending, file_errors: Sequence[str]
) -> int:
    snapshot = ending.snapshot
    errors = [*([] if snapshot.error is None else [snapshot.error]), *file_errors]
    if options.json:
        report = run_report(snapshot, [id for id, node in plan.nodes.items() if node.is_sink])
        if errors:
            report |= {"status": "failed", "error": errors[0]}
        put_json(report)
    else:
        for line in summary_lines(snapshot, Facts.of_plan(plan)):
            say(line)
    for error in errors:
        complain(error)
    if file_errors:
        return Exit.FAILED
    if ending.was_interrupted:
        return Exit.INTERRUPTED
    return Exit.DONE if snapshot.phase == "completed" else Exit.FAILED
