"""`aiflow diff`: what changed between two graphs, in words."""

from __future__ import annotations

import argparse

from aiflow.cli.commands import Commands
from aiflow.cli.console import put, put_json
from aiflow.cli.exits import Exit
from aiflow.cli.files import read_graph
from aiflow.graph.changes import changes


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "diff", parents=[common], help="say in words what changed between two graphs"
    )
    parser.add_argument("before", metavar="A", help="graph file before")
    parser.add_argument("after", metavar="B", help="graph file after")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.set_defaults(command=diff)


def diff(options: argparse.Namespace) -> int:
    """Print the changes; that there are some is no failure."""
    before, _ = read_graph(options.before)
    after, _ = read_graph(options.after)
    found = changes(before, after)
    if options.json:
        put_json(
            {
                "before": options.before,
                "after": options.after,
                "changes": [change.to_dict() for change in found],
            }
        )
        return Exit.DONE
    for change in found:
        put(change.text)
    if not found:
        put("no difference")
    return Exit.DONE
