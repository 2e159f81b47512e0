"""`aiflow schema`: the JSON Schema of a graph file."""

from __future__ import annotations

import argparse

from aiflow.cli.commands import Commands
from aiflow.cli.console import put_json
from aiflow.cli.exits import Exit
from aiflow.graph.schema import graph_schema


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "schema",
        parents=[common],
        help="print the JSON Schema of a graph file",
        description="Print the JSON Schema of a graph file, for an editor that completes and"
        " checks while you type.",
    )
    parser.set_defaults(command=schema)


def schema(_: argparse.Namespace) -> int:
    """Print the schema, as it is shipped."""
    put_json(graph_schema())
    return Exit.DONE
