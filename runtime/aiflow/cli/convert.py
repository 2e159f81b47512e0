"""`aiflow convert`: a graph as JSON, as Python, or as a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aiflow.cli.catalog import add_operators_option, catalog_of
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, plain_failure
from aiflow.cli.exits import Exit, UsageError, unknown, unwritable
from aiflow.cli.files import read_graph
from aiflow.compiler.paths import rebase_paths
from aiflow.drawing.charts import dot_of, mermaid_of
from aiflow.drawing.picture import picture_of
from aiflow.drawing.svg import svg_of
from aiflow.dsl.source import source_of
from aiflow.graph.codec import dumps, is_read_only, save
from aiflow.graph.model import Graph
from aiflow.graph.secrets import secrets_in

_PICTURES = {"mermaid": mermaid_of, "dot": dot_of, "svg": svg_of}
FORMS = ("json", "python", *_PICTURES)


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "convert",
        parents=[common],
        help="show or rewrite a graph in another form",
        description="Show a graph in another form: json is how the studio saves it,"
        " python is a program that makes the same graph. A JSON file in another folder finds"
        " the same files: its relative paths are led from there.",
    )
    parser.add_argument("graph", metavar="GRAPH", help="graph file")
    parser.add_argument("--to", required=True, metavar="FORM", help=f"one of {', '.join(FORMS)}")
    parser.add_argument(
        "--export", action="store_true", help="leave out layout, notes and frames (json, python)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write a file; else to stdout")
    add_operators_option(parser)
    parser.set_defaults(command=convert)


def convert(options: argparse.Namespace) -> int:
    """Write the graph; what looks like a key is a warning on stderr."""
    if options.to not in FORMS:
        raise unknown("form", options.to, FORMS)
    if options.export and options.to in _PICTURES:
        raise UsageError(f"--export is for files that run, and {options.to} is a picture")
    if (options.to != "json" or options.export) and _is_the_graph(options):
        raise UsageError(f"{options.output} is the graph itself; write to another file")
    graph, base = read_graph(options.graph)
    if options.to not in _PICTURES:
        for secret in secrets_in(graph):
            complain(
                f"warning: {secret.field} of {secret.what} {secret.id} looks like a key"
                f" ({secret.shown}) and goes along with the file"
            )
    if options.to == "json" and options.output is not None:
        folder = Path(options.output).resolve().parent
        graph = rebase_paths(graph, catalog_of(options), base, folder)
    text = _text(graph, base, options)
    if options.output is None:
        _put(text)
    elif options.to == "json":
        save(options.output, graph, export=options.export)  # whole or not at all
    else:
        _write(options.output, text)
    return Exit.DONE


def _is_the_graph(options: argparse.Namespace) -> bool:
    """Say whether what is read would be replaced by less than it holds."""
    return options.output is not None and (
        Path(options.output).resolve() == Path(options.graph).resolve()
    )


def _text(graph: Graph, base: Path, options: argparse.Namespace) -> str:
    if options.to == "json":
        if is_read_only(graph):
            version = f"{graph.version[0]}.{graph.version[1]}"
            raise UsageError(
                f"{options.graph} is of version {version}, which this program cannot write;"
                " use a newer AiFlow"
            )
        return dumps(graph, export=options.export)
    if options.to == "python":
        return source_of(graph, catalog_of(options), export=options.export)
    return _PICTURES[options.to](picture_of(graph, catalog_of(options), base))


def _put(text: str) -> None:
    """Write to stdout as UTF-8 with LF, whatever the terminal prefers: it is a file's text."""
    if sys.stdout is None:
        return
    with plain_failure():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise unwritable(name, error) from error
