"""All there is to know of one operator, as lines for a person: `aiflow operators chat`."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from aiflow.operators.base import Operator, Port
from aiflow.operators.registry import Catalog

_WIDTH = 96


def manual_lines(operator: type[Operator[Any]], catalog: Catalog) -> Iterator[str]:
    """Yield what a graph may say to an operator, and what the operator says to the graph.

    Args:
        operator: the one that is asked for.
        catalog: knows the resources that it may ask for.
    """
    yield f"{operator.name} ({operator.title}, {operator.category})"
    yield ""
    yield from inspect.cleandoc(operator.__doc__ or operator.summary).splitlines()
    yield from _ports("Inputs", operator.inputs)
    yield from _ports("Outputs", operator.outputs)
    yield from _fields("Params", operator.Params)
    yield ""
    yield f"State {operator.state.value}, side effects {operator.side_effects.value}"
    for name, kind in operator.requires.items():
        yield from _resource(f"Asks for {name}", name, kind, catalog)
    for name, kind in operator.accepts.items():
        yield from _resource(f"May be given {name}", name, kind, catalog)


def _ports(title: str, ports: tuple[Port, ...]) -> Iterator[str]:
    if ports:
        yield from ("", title)
    for port in ports:
        yield from _entry(f"{port.name}: {port.type}", port.help)


def _resource(how: str, name: str, kind: str, catalog: Catalog) -> Iterator[str]:
    """Yield what stands in the graph's `resources` for a name that the operator knows."""
    resource = catalog.resources.get(kind)
    if resource is None:
        yield from ("", f"{how}: a resource of the kind {kind}, which is not installed")
        return
    yield from _fields(
        f"{how}: a resource of the kind {kind}, with params of its own", resource.Params
    )
    example = {"id": f"my-{kind}", "kind": kind, "params": {}}
    yield ""
    yield f"  in the graph: {json.dumps({'resources': [example]})[1:-1]}"
    yield f"  in the node:  {json.dumps({'resources': {name: example['id']}})[1:-1]}"
    for other in catalog.resources.values():
        if other.kind != kind and other.fits(kind):
            yield from _fields(f"A {other.kind} will do as well, with these params", other.Params)


def _fields(title: str, model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema()
    fields: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if fields:
        yield from ("", title)
    for name, field in fields.items():
        if name in schema.get("required", ()):
            shown = f"{name} (must be given)"
        else:
            shown = f"{name} = {json.dumps(field.get('default'), ensure_ascii=False)}"
        unit = field.get("x-unit", "")
        text = f"{field.get('description', '')} {_choices(field)}".strip()
        yield from _entry(f"{shown} {unit}".rstrip(), text)


def _choices(field: Mapping[str, Any]) -> str:
    choices = field.get("x-choices") or field.get("enum") or ()
    return f"One of {', '.join(map(str, choices))}." if choices else ""


def _entry(head: str, text: str) -> Iterator[str]:
    """Yield a name in one line and what it means below, wrapped."""
    yield f"  {head}"
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
    )
