"""A graph as Python source that makes the same graph again, to the byte of its file.

What the typed methods can say is said with them; what only a file may hold (a misspelt
field, an edge to nowhere, a number written as 0.250) is put in as it is, so that nothing is
lost on the way.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from inspect import signature
from typing import Any

from aiflow.dsl.core import NodeHandle
from aiflow.dsl.flow import Flow
from aiflow.dsl.generate import is_reserved, param_names, resource_method
from aiflow.dsl.names import identifier, input_name
from aiflow.dsl.policy import SYMBOLS, P
from aiflow.graph.edits import NODE_ID
from aiflow.graph.json_text import WrittenNumber
from aiflow.graph.model import (
    DEFAULT_MAX_CONVERSATIONS,
    VERSION,
    Edge,
    Feedback,
    Graph,
    Node,
    PortRef,
    Resource,
    Suppression,
)
from aiflow.operators.base import Operator
from aiflow.operators.registry import Catalog

_WIDTH = 88
_MODEL = (Edge, Feedback, Node, PortRef, Resource, Suppression)
_SYMBOL_OF = {name: symbol for symbol, name in SYMBOLS.items()}
_MEMBERS = set(signature(P).parameters) - set(SYMBOLS)
_REST = ("version", "notes", "frames", "groups", "extra")


def source_of(graph: Graph, catalog: Catalog, *, export: bool = False) -> str:
    """Return a Python program whose `flow.graph` is this graph.

    Args:
        graph: any graph.
        catalog: knows which params an operator has.
        export: leave out layout, notes and frames.
    """
    return _Writer(graph, catalog, export).text()


class _Writer:
    """Writes one program; keeps the names that it has given."""

    def __init__(self, graph: Graph, catalog: Catalog, export: bool) -> None:
        self._graph = graph
        self._catalog = catalog
        self._export = export
        self._nodes: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        # Nodes whose handle has its ports as attributes.
        self._typed: dict[str, type[Operator[Any]]] = {}
        self._taken = {"flow", "aiflow", "Flow", "P", "number", *(t.__name__ for t in _MODEL)}
        self._taken |= set(dir(builtins))

    def text(self) -> str:
        body = [
            *self._head(),
            *map(self._resource, self._graph.resources.values()),
            *map(self._node, self._graph.nodes.values()),
            *map(self._edge, self._graph.edges.values()),
            *self._tail(),
        ]
        joined = "\n".join(body)
        own = ["Flow", *(["P"] if "policy=P(" in joined else [])]
        imports = [f"from aiflow import {', '.join(own)}"]
        if "number(" in joined:
            imports.append("from aiflow.graph.json_text import WrittenNumber as number")
        if used := sorted(t.__name__ for t in _MODEL if f"{t.__name__}(" in joined):
            imports.append(f"from aiflow.graph.model import {', '.join(used)}")
        end = 'if __name__ == "__main__":\n    print(flow.to_json(), end="")'
        return "\n".join([*imports, "", joined, "", end, ""])

    def _head(self) -> Iterator[str]:
        graph = self._graph
        given = [_literal(graph.name)] if graph.name else []
        if graph.description:
            given.append(f"description={_wrapped(graph.description)}")
        if graph.max_conversations != DEFAULT_MAX_CONVERSATIONS:
            given.append(f"max_conversations={graph.max_conversations!r}")
        yield _call("flow = Flow", given)

    def _resource(self, entry: Resource) -> str:
        if entry.extra or not NODE_ID.fullmatch(entry.id):
            return f"flow.put({_literal(entry)})"
        name = self._resources[entry.id] = self._name(entry.id)
        kind = self._catalog.resources.get(entry.kind)
        method = resource_method(entry.kind, {identifier(each) for each in self._catalog.operators})
        if (
            kind is not None
            and hasattr(Flow, method)
            and set(entry.params) <= set(kind.Params.model_fields)
        ):
            names = {each: identifier(each, {"self", "id"}) for each in kind.Params.model_fields}
            given = [f"{names[key]}={_literal(value)}" for key, value in entry.params.items()]
            return _call(f"{name} = flow.{method}", [_literal(entry.id), *given])
        given = [_literal(entry.kind), _literal(entry.id)]
        if entry.params:
            given.append(_literal(entry.params))
        return _call(f"{name} = flow.resource", given)

    def _node(self, node: Node) -> str:
        codes = [item.code for item in node.suppress]
        is_plain = (
            NODE_ID.fullmatch(node.id)
            and not node.extra
            and not any(item.extra for item in node.suppress)
            and len(set(codes)) == len(codes)
        )
        if not is_plain:
            return f"flow.put({_literal(node)})"
        name = self._nodes[node.id] = self._name(node.id)
        operator = self._catalog.get(node.operator)
        more = [".disable()"] if node.is_disabled else []
        for item in node.suppress:
            reason = [_literal(item.reason)] if item.reason else []
            more.append(_call(".suppress", [_literal(item.code), *reason]))
        policy = [f"policy={_policy(node.policy)}"] if node.policy else []
        if operator is not None and _has_method(operator) and _fits(node, operator):
            names = param_names(operator)
            self._typed[node.id] = operator
            given = [_literal(node.id)]
            given += [f"{identifier(key)}={self._handed(id)}" for key, id in node.resources.items()]
            given += [f"{names[key]}={_literal(value)}" for key, value in node.params.items()]
            return _call(f"{name} = flow.{identifier(node.operator)}", given + policy, more)
        given = [_literal(node.operator), _literal(node.id)]
        given += [_literal(node.params)] if node.params else []
        if node.resources:
            pairs = (f"{_literal(key)}: {self._handed(id)}" for key, id in node.resources.items())
            policy.append(f"resources={{{', '.join(pairs)}}}")
        return _call(f"{name} = flow.add", given + policy, more)

    def _edge(self, edge: Edge) -> str:
        source, target = self._out(edge.source), self._in(edge.target)
        is_odd = edge.extra or edge.number != 1 or (edge.fanout == "strict" and edge.overflow)
        if not source or not target or is_odd or edge.fanout not in ("strict", "detached"):
            return f"flow.put({_literal(edge)})"
        given = [target]
        if edge.fanout != "strict":
            given.append(f"fanout={_literal(edge.fanout)}")
        if edge.overflow is not None:
            given.append(f"overflow={_literal(edge.overflow)}")
        if edge.feedback is not None:
            given.append(f"feedback={_literal(edge.feedback)}")
        return f"{source} >> {target}" if given == [target] else _call(f"{source}.to", given)

    def _tail(self) -> Iterator[str]:
        graph = self._graph
        if graph.measure:
            ids = [self._nodes.get(id) or _literal(id) for id in graph.measure]
            yield _call("flow.measure", ids)
        if graph.layout and not self._export:
            places = (f"{_literal(id)}: {_literal(at)}" for id, at in graph.layout.items())
            yield _call("flow.layout", ["{\n        " + ",\n        ".join(places) + ",\n    }"])
        given = []
        for name in _REST:
            value = getattr(graph, name)
            if self._export and name in ("notes", "frames"):
                continue
            if self._export and name == "extra":
                value = {key: part for key, part in value.items() if key != "layout"}
            if value and value != VERSION:
                given.append(f"{name}={_literal(value)}")
        if given:
            yield _call("flow.keep", given)

    def _out(self, end: PortRef) -> str:
        """Return an output as an expression; "" where its node has no name."""
        name = self._nodes.get(end.node, "")
        if not name or not end.port:
            return ""
        operator = self._typed.get(end.node)
        ports = [port.name for port in operator.outputs] if operator else []
        attribute = identifier(end.port)
        if end.port in ports and not is_reserved(attribute):
            return f"{name}.{attribute}"
        return f"{name}.port({_literal(end.port)})"

    def _in(self, end: PortRef) -> str:
        """Return an input as an expression, the node itself for its first one."""
        name = self._nodes.get(end.node, "")
        if not name or not end.port:
            return ""
        operator = self._typed.get(end.node)
        ports = [port.name for port in operator.inputs] if operator else []
        if end.port == (ports[0] if ports else NodeHandle.first_in):
            return name
        if end.port in ports:
            return f"{name}.{input_name(end.port)}"
        return f"{name}.into({_literal(end.port)})"

    def _handed(self, id: object) -> str:
        return self._resources.get(id) or _literal(id) if isinstance(id, str) else _literal(id)

    def _name(self, id: str) -> str:
        name = identifier(id, self._taken)
        self._taken.add(name)
        return name


def _has_method(operator: type[Operator[Any]]) -> bool:
    """Say whether the flow has a method that makes nodes of this very operator."""
    method = getattr(Flow, identifier(operator.name), None)
    return method is not None and operator.__module__.startswith("aiflow.")


def _fits(node: Node, operator: type[Operator[Any]]) -> bool:
    """Say whether the typed method takes all that is given."""
    known = operator.Params.model_fields
    kinds = operator.resource_kinds()
    return set(node.params) <= set(known) and set(node.resources) <= set(kinds)


def _policy(policy: Mapping[str, Any]) -> str:
    """Return a policy as `P(q=8, …)`, or as it is where a member is unknown."""
    if not set(policy) <= _MEMBERS:
        return _literal(policy)
    given = (f"{_SYMBOL_OF.get(name, name)}={_literal(v)}" for name, v in policy.items())
    return f"P({', '.join(given)})"


def _literal(value: Any) -> str:  # noqa: ANN401, PLR0911 - one line per kind
    """Return Python text that makes this value again."""
    if isinstance(value, WrittenNumber):
        return value.text if float.__repr__(value) == value.text else f"number({value.text!r})"
    if isinstance(value, str):
        # With double quotes, as a formatter wants it, unless there are some inside.
        return repr(value) if '"' in value else f'"{repr(value + chr(34))[1:-2]}"'
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, _MODEL):
        return _entry(value)
    return repr(value)


def _wrapped(text: str) -> str:
    """Return a long text as several literals in brackets, one a line."""
    if len(text) <= _WIDTH // 2:
        return _literal(text)
    words = re.findall(r"\S*\s*", text)
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH - 12:
            lines.append("")
        lines[-1] += word
    return "(\n        " + "\n        ".join(map(_literal, lines)) + "\n    )"


def _entry(value: Any) -> str:  # noqa: ANN401 - any dataclass of the model
    """Return a call that makes an entry again, without what has its default."""
    if isinstance(value, PortRef):
        return f"PortRef({_literal(value.node)}, {_literal(value.port)})"
    given = [
        f"{field.name}={_literal(part)}"
        for field in fields(value)
        if field.init and (part := getattr(value, field.name)) != _default(field)
    ]
    return f"{type(value).__name__}({', '.join(given)})"


def _default(field: Any) -> Any:  # noqa: ANN401 - of any operator's params
    return field.default if field.default_factory is MISSING else field.default_factory()


def _call(function: str, arguments: list[str], more: list[str] | None = None) -> str:
    """Return a call, one argument a line where one line is too long."""
    tail = "".join(more or [])
    line = f"{function}({', '.join(arguments)}){tail}"
    if (len(line) <= _WIDTH and "\n" not in line) or not arguments:
        return line
    inner = "".join(f"    {argument},\n" for argument in arguments)
    return f"{function}(\n{inner}){tail}"
