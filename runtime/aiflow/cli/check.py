"""`aiflow check`: what the compiler finds in graphs, without running them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from aiflow.analysis.wording import counted
from aiflow.cli.catalog import add_operators_option, catalog_of
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json
from aiflow.cli.exits import Exit
from aiflow.cli.files import read_graph
from aiflow.compiler.compile import ClockName, Compiled
from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.errors import GraphFileError
from aiflow.operators.registry import Catalog

#: What came of one file: the compiler's word, or why the file could not be read.
Outcome = Compiled | GraphFileError


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "check",
        parents=[common],
        help="say what is wrong with graphs, without running them",
        description="Say what is wrong with graphs, without running them, and how many events each"
        " may hold. Errors keep a graph from running, warnings and hints do not; `aiflow explain"
        " CODE` says more of one.",
    )
    parser.add_argument("files", nargs="+", metavar="GRAPH", help="graph files")
    parser.add_argument(
        "--clock",
        choices=("real", "virtual"),
        help="the clock it shall run on; what that clock forbids is then an error",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON list")
    add_operators_option(parser)
    parser.set_defaults(command=check)


def check(options: argparse.Namespace) -> int:
    """Check each file; the worst finding decides the exit code."""
    catalog = catalog_of(options)
    outcomes = [(file, _check(file, catalog, options.clock)) for file in options.files]
    if options.json:
        put_json([_entry(file, outcome) for file, outcome in outcomes])
    for file, outcome in outcomes:
        if isinstance(outcome, GraphFileError):
            complain(str(outcome))
        elif not options.json:
            for line in lines_of(file, outcome):
                put(line)
    return max(map(_exit_of, (outcome for _, outcome in outcomes)))


def lines_of(file: str, compiled: Compiled) -> Iterable[str]:
    """Return a verdict on one graph and its findings, for a person."""
    counts = {
        severity: sum(found.severity is severity for found in compiled.diagnostics)
        for severity in Severity
    }
    if counts[Severity.ERROR]:
        verdict = counted(counts[Severity.ERROR], "error")
    else:
        verdict = "valid"
        if compiled.bound is not None:
            verdict += f", at most {compiled.bound} events in flight"
    if counts[Severity.WARNING]:
        verdict += f", {counted(counts[Severity.WARNING], 'warning')}"
    return [f"{file}: {verdict}", *map(finding_line, compiled.diagnostics)]


def finding_line(found: Diagnostic) -> str:
    """Return one finding as an indented line or two."""
    where = f" [{place}]" if (place := found.edge or found.node) else ""
    line = f"  {found.severity.value} {found.code}{where}: {found.message}"
    return f"{line}\n    → {found.hint}" if found.hint else line


def _check(file: str, catalog: Catalog, clock: ClockName | None) -> Outcome:
    try:
        graph, base = read_graph(file)
    except GraphFileError as error:
        return error
    return compile_graph(graph, catalog, base=base, clock=clock)


def _exit_of(outcome: Outcome) -> Exit:
    if isinstance(outcome, GraphFileError):
        return Exit.USAGE
    return Exit.FAILED if outcome.plan is None else Exit.DONE


def _entry(file: str, outcome: Outcome) -> dict[str, Any]:
    """Return the entry of one file in the JSON list."""
    if isinstance(outcome, GraphFileError):
        return {"file": file, "bound": None, "edges": [], "diagnostics": [_unreadable(outcome)]}
    return {
        "file": file,
        "bound": outcome.bound,
        "edges": [{"id": id, "type": type_.name} for id, type_ in outcome.edge_types.items()],
        "diagnostics": [found.to_dict() for found in outcome.diagnostics],
    }


def _unreadable(error: GraphFileError) -> dict[str, Any]:
    """Return a file's error in the form of a diagnostic; it has no code of the compiler's."""
    return {
        "code": "unreadable",
        "severity": Severity.ERROR.value,
        "node": None,
        "edge": None,
        "field": None,
        "message": f"{error.where}: {error.reason}",
        "hint": error.hint,
    }
