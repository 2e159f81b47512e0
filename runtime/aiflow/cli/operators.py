"""`aiflow operators`: which operators there are, and what they take and give."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

from aiflow.cli.catalog import add_operators_option, catalog_of
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json
from aiflow.cli.exits import Exit, unknown
from aiflow.cli.manual import manual_lines
from aiflow.operators.base import Operator, Port
from aiflow.operators.registry import Catalog


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "operators",
        parents=[common],
        help="list the operators there are, or tell all of one",
        description="List the operators there are, with their inputs and outputs; or tell all of"
        " one: its ports, its params with their defaults, and the resources it asks for.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="an operator, such as chat")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON list")
    add_operators_option(parser)
    parser.set_defaults(command=list_operators)


def list_operators(options: argparse.Namespace) -> int:
    """Print the catalog, or one operator of it."""
    catalog = catalog_of(options)
    for error in catalog.broken:
        complain(str(error))
    operators = catalog.operators
    if options.name is not None:
        if options.name not in operators:
            raise unknown("operator", options.name, operators)
        operators = {options.name: operators[options.name]}
    if options.json:
        put_json([_described(operator) for operator in operators.values()])
        return Exit.DONE
    single = options.name is not None
    for line in manual_lines(operators[options.name], catalog) if single else _lines(catalog):
        put(line)
    return Exit.DONE


def _lines(catalog: Catalog) -> Iterator[str]:
    categories = ("sources", "text", "tools", "retrieval", "flow", "sinks")
    found = list(catalog.operators.values())
    others = sorted({operator.category for operator in found} - set(categories))
    width = max((len(operator.name) for operator in found), default=0)
    for category in (*categories, *others):
        members = [operator for operator in found if operator.category == category]
        if members:
            yield category.upper()
        for operator in members:
            yield f"  {operator.name:<{width}}  {operator.summary}"
            yield f"  {'':<{width}}  {_ports(operator)}"


def _ports(operator: type[Operator[Any]]) -> str:
    def side(ports: tuple[Port, ...]) -> str:
        return ", ".join(f"{port.name}: {port.type}" for port in ports)

    arrow = " → " if operator.inputs and operator.outputs else "→ " if operator.outputs else " →"
    return f"{side(operator.inputs)}{arrow}{side(operator.outputs)}"


def _described(operator: type[Operator[Any]]) -> dict[str, Any]:
    def side(ports: tuple[Port, ...]) -> list[dict[str, Any]]:
        return [
            {
                "name": port.name,
                "type": port.type.name,
                "help": port.help,
                "optional": port.is_optional,
            }
            for port in ports
        ]

    return {
        "name": operator.name,
        "title": operator.title,
        "category": operator.category,
        "summary": operator.summary,
        "description": inspect.cleandoc(operator.__doc__ or ""),
        "inputs": side(operator.inputs),
        "outputs": side(operator.outputs),
        "requires": dict(operator.requires),
        "accepts": dict(operator.accepts),
        "state": operator.state.value,
        "side_effects": operator.side_effects.value,
        "max_outputs": operator.max_outputs,
        "virtual_clock": operator.runs_on_virtual_clock,
        "default_policy": dict(operator.default_policy),
        "params": operator.Params.model_json_schema(),
    }
