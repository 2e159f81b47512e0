"""`--set node.param=value` and `--policy node.queue_capacity=4`: a graph changed for one run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from aiflow.cli.exits import UsageError, advice, unknown
from aiflow.compiler.values import validated
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from aiflow.policies import TUPLE, Policy

# The paper's letters are shorter to type: `--policy speech.q=4`.
_LONGEST = 100  # letters of a value that a complaint repeats
_SYMBOLS = {**dict(TUPLE), "rho": "reorder_capacity", "sigma": "state"}


def with_settings(
    graph: Graph, catalog: Catalog, params: Iterable[str], policies: Iterable[str]
) -> Graph:
    """Return the graph with these settings in place.

    Args:
        graph: as it is in its file.
        catalog: knows which params an operator has.
        params: texts `node.param=value`.
        policies: texts `node.member=value`; a member may be a symbol (`q`) or lie in the
            retry (`retry.attempts`).

    Raises:
        UsageError: a text is malformed, or names or sets what cannot be.
    """
    for text in params:
        node, path, value = _split(text, "--set", graph)
        operator = catalog.get(graph.nodes[node].operator)
        if operator is None:
            raise UsageError(
                f"--set {text}: operator {graph.nodes[node].operator!r} of {node} is unknown,"
                " so its params cannot be set"
            )
        params_now = graph.nodes[node].params
        changed = _changed(operator.Params, params_now, path, value, (node, "param"))
        graph = edits.set_params(graph, node, changed)
    for text in policies:
        node, path, value = _split(text, "--policy", graph)
        path = (_SYMBOLS.get(path[0], path[0]), *path[1:])
        policy_now = graph.nodes[node].policy
        changed = _changed(Policy, policy_now, path, value, (node, "policy member"))
        graph = edits.set_policy(graph, node, changed)
    return graph


def tuning_of(text: str) -> tuple[str, dict[str, Any]]:
    """Return node and policy members of `node.member=value`, as `Session.tune` takes them.

    Raises:
        UsageError: the text is malformed; whether it can be done is the run's to say.
    """
    left, is_set, value = text.partition("=")
    node, *path = left.strip().split(".")
    if not is_set or not path or not all((node, *path)):
        raise UsageError(f"--tune takes node.member=value, not {_quoted(text)}")
    path[0] = _SYMBOLS.get(path[0], path[0])
    return node, _with({}, tuple(path), next(iter(_readings(value))))


def is_policy_member(text: str) -> bool:
    """Say whether `node.name=value` names a policy member, by name or symbol, not a param."""
    path = text.partition("=")[0].split(".")[1:]
    name = path[0].strip() if path else ""
    return name in Policy.model_fields or name in _SYMBOLS


def _split(text: str, option: str, graph: Graph) -> tuple[str, tuple[str, ...], str]:
    left, is_set, value = text.partition("=")
    node, *path = left.strip().split(".")
    if not is_set or not path or not all(path):
        raise UsageError(f"{option} takes node.name=value, not {_quoted(text)}")
    if node not in graph.nodes:
        raise unknown("node", node, graph.nodes)
    return node, tuple(path), value


def _changed(
    model: type[BaseModel],
    given: Mapping[str, Any],
    path: tuple[str, ...],
    value: str,
    place: tuple[str, str],
) -> dict[str, Any]:
    """Return `given` with one value set, as the model takes it; `place` is node and noun."""
    node, noun = place
    _check_path(model, path, f"{node} has no {noun}")
    complaints = []
    for candidate in _readings(value):
        changed = _with(given, path, candidate)
        complaint = _complaint(model, changed, ".".join(path))
        if not complaint:
            return changed
        complaints.append(complaint)
    # The first reading is the one that was meant: -1 is a number that is too small, no text.
    raise UsageError(f"{node}.{'.'.join(path)} cannot be {_quoted(value)}: {complaints[0]}")


def _check_path(model: type[BaseModel], path: tuple[str, ...], what: str) -> None:
    fields = model.model_fields
    for depth, name in enumerate(path):
        if name not in fields:
            raise UsageError(f"{what} {'.'.join(path)!r}; {advice(name, fields)}")
        inner = fields[name].annotation
        is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
        if depth + 1 < len(path) and not is_model:
            raise UsageError(f"{what} {'.'.join(path)!r}: {name} is a plain value")
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            fields = inner.model_fields


def _readings(value: str) -> Iterable[Any]:
    """Yield what a text may mean: JSON first, so that 4 is a number, then the text itself."""
    # Too many brackets end the parser's stack; as text they are refused like any other.
    with contextlib.suppress(ValueError, RecursionError):
        yield json.loads(value)
    yield value


def _with(given: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**given, name: value}
    inner = given.get(name)
    return {**given, name: _with(inner if isinstance(inner, Mapping) else {}, tuple(rest), value)}


def _complaint(model: type[BaseModel], values: Mapping[str, Any], field: str) -> str:
    """Return why the compiler would refuse what stands at `field`; other faults are its own."""
    _, flaws = validated(model, values)
    outer = field.partition(".")[0]
    for flaw in flaws:
        if flaw.field in (field, outer) or flaw.field.startswith(f"{field}."):
            return f"{flaw.field} {flaw.message}"
    return ""


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
