"""What every operator owes its reader, as a suite that plug-ins can run on theirs too.

Only what can be read off the class: what it makes of payloads is for its own test, what it
does under load is the engine's promise.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from aiflow.compiler.resolved import DEAD_PORT
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.base import Operator, Port, Source
from aiflow.operators.registry import operator_fault
from aiflow.policies import Policy

CATEGORIES = ("sources", "text", "tools", "retrieval", "flow", "sinks")
BOX = ("Emits when:", "Backpressures when:", "Completes when:", "Fails when:")

_BOUNDS = ("ge", "gt", "le", "lt")


def operator_faults(operator: type[Operator[Any]]) -> list[str]:
    """Return what an operator class lacks, one clause each; empty where it is complete."""
    if fault := operator_fault(operator):
        return [fault]
    return [
        *_presentation_faults(operator),
        *_port_faults(operator),
        *_params_faults(operator),
        *_code_faults(operator),
    ]


def _presentation_faults(operator: type[Operator[Any]]) -> Iterator[str]:
    if not operator.title:
        yield "it has no title"
    if not operator.summary.endswith("."):
        yield "its summary is no sentence with a full stop"
    if operator.category not in CATEGORIES:
        yield f"its category {operator.category!r} is none of {', '.join(CATEGORIES)}"
    doc = inspect.cleandoc(operator.__doc__ or "")
    for line in BOX:
        if f"\n{line}" not in doc:
            yield f"its docstring does not say {line!r}"


def _port_faults(operator: type[Operator[Any]]) -> Iterator[str]:
    ports: tuple[Port, ...] = (*operator.inputs, *operator.outputs)
    if not ports:
        yield "it has no ports"
    for port in ports:
        if not port.help:
            yield f"its port {port.name} has no help"
    if any(port.name == DEAD_PORT.name for port in operator.outputs):
        yield f"its out-port {DEAD_PORT.name} is one that every node has, for what it gives up on"


def _params_faults(operator: type[Operator[Any]]) -> Iterator[str]:
    for name, info in operator.Params.model_fields.items():
        if not info.description:
            yield f"its parameter {name} has no description"
        if not info.title:
            yield f"its parameter {name} has no title"
        if _is_number(info) and not (_has_bound(info) or _unit(info)):
            yield f"its parameter {name} is a number without bound or unit"
    if _with_defaults(operator) is None:
        # A node just dropped on the canvas must be whole.
        yield "its parameters have no valid defaults"


def _code_faults(operator: type[Operator[Any]]) -> Iterator[str]:
    if operator.inputs and operator.process is Operator.process:
        yield "it has inputs and no process()"
    if not operator.inputs and (
        not issubclass(operator, Source) or operator.stream is Source.stream
    ):
        yield "it has no inputs and no stream()"
    try:
        policy = Policy.model_validate(operator.default_policy)
    except ValidationError:
        yield "its default_policy is no policy"
        return
    made = _with_defaults(operator)
    for clause in () if made is None else made.check(policy):
        yield f"its defaults do not work together: {clause}"


def _with_defaults(operator: type[Operator[Any]]) -> Operator[Any] | None:
    try:
        # Relative paths mean the shipped graphs where no graph has a folder of its own.
        return operator(operator.Params(), [graphs_dir()])
    except ValidationError:
        return None


def _is_number(info: FieldInfo) -> bool:
    return any(kind in str(info.annotation) for kind in ("int", "float"))


def _has_bound(info: FieldInfo) -> bool:
    return any(hasattr(limit, name) for limit in info.metadata for name in _BOUNDS)


def _unit(info: FieldInfo) -> object:
    extra = info.json_schema_extra
    return extra.get("x-unit") if isinstance(extra, dict) else None
