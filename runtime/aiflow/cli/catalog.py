"""`--operators FILE`: the catalog that a command works with."""

from __future__ import annotations

import argparse

from aiflow.cli.exits import UsageError
from aiflow.errors import PluginError
from aiflow.operators.local import with_file
from aiflow.operators.registry import Catalog


def add_operators_option(parser: argparse.ArgumentParser) -> None:
    """Let a command take files with operators."""
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        metavar="FILE",
        help="use the operators of a Python file too; its code is run",
    )


def catalog_of(options: argparse.Namespace) -> Catalog:
    """Return all that is installed, and what the named files hold.

    Raises:
        UsageError: a file cannot be used.
    """
    catalog = Catalog.load()
    for file in options.operators:
        try:
            catalog = with_file(catalog, file)
        except PluginError as error:
            raise UsageError(str(error)) from error
    return catalog
