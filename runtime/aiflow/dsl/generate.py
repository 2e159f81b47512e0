"""Writes `builtin.py`: a typed method for each operator and resource that comes with AiFlow.

An editor then completes operators, their params with types and help, and their ports, and a
type checker finds a misspelt one. `python -m aiflow.dsl.generate` writes the file; a test
holds it to the operators there are.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from aiflow.dsl.core import NodeHandle
from aiflow.dsl.names import class_name, identifier, input_name
from aiflow.operators.base import Operator, Port
from aiflow.operators.registry import Catalog
from aiflow.resources import Resource

TARGET = Path(__file__).with_name("builtin.py")

_OURS = "aiflow."
_HEAD = '''"""A typed method for each operator that comes with AiFlow; `generate` writes this file.

Over 500 lines because there is one for each operator; nothing here is written by hand.
"""

# fmt: off
# ruff: noqa: D301, D417, E501, PLR0913

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from aiflow.dsl.core import FlowCore, In, NodeHandle, Out, PolicyLike, ResourceHandle
from aiflow.graph.values import UNSET, Unset
'''


def generate(catalog: Catalog) -> str:
    """Return the text of the module for the built-in operators and resources of a catalog."""
    operators = [each for each in catalog.operators.values() if _is_ours(each)]
    resources = [each for each in catalog.resources.values() if _is_ours(each)]
    parts = [_HEAD]
    parts += ["\n".join(_handle(operator)) for operator in operators]
    methods = [
        "class Builtins(FlowCore):",
        '    """The operators and resources that come with AiFlow, each as a method."""',
    ]
    for operator in operators:
        methods += ["", *_operator_method(operator)]
    taken = {identifier(operator.name) for operator in operators}
    for resource in resources:
        methods += ["", *_resource_method(resource, taken)]
    text = "\n\n".join([*parts, "\n".join(methods)]) + "\n"
    return _with_used_imports(text)


def resource_method(kind: str, operators: typing.Container[str]) -> str:
    """Return the method of a resource kind; an operator of that name goes first."""
    name = identifier(kind)
    return f"{name}_resource" if name in operators else name


def param_names(operator: type[Operator[Any]]) -> Mapping[str, str]:
    """Return parameter -> its keyword in the operator's method."""
    taken = {"self", "id", "policy", *map(identifier, operator.resource_kinds())}
    return {name: identifier(name, taken) for name in operator.Params.model_fields}


def is_reserved(name: str) -> bool:
    """Say whether a handle has something else of that name, so that a port cannot have it."""
    return hasattr(NodeHandle, name) or name in ("id", "flow")


def _handle(operator: type[Operator[Any]]) -> Iterator[str]:
    yield f"class {class_name(operator.name)}Node(NodeHandle):"
    yield f'    """A node of `{operator.name}`."""'
    for side, ports in (("first_in", operator.inputs), ("first_out", operator.outputs)):
        if ports and ports[0].name != getattr(NodeHandle, side):
            yield ""
            yield f"    {side} = {_text(ports[0].name)}"
    for port in operator.outputs:
        if not is_reserved(identifier(port.name)):
            yield from _property(identifier(port.name), "Out", "port", port)
    for port in operator.inputs:
        yield from _property(input_name(port.name), "In", "into", port)
    yield ""


def _property(name: str, kind: str, way: str, port: Port) -> Iterator[str]:
    yield ""
    yield "    @property"
    yield f"    def {name}(self) -> {kind}:"
    yield f'        """{_doc(f"{port.type}: {port.help}" if port.help else port.type.name)}"""'
    yield f"        return self.{way}({_text(port.name)})"


def _operator_method(operator: type[Operator[Any]]) -> Iterator[str]:
    handle = f"{class_name(operator.name)}Node"
    names = param_names(operator)
    fields = operator.Params.model_fields
    yield f"    def {identifier(operator.name)}("
    yield "        self,"
    yield "        id: str | None = None,"
    yield "        /,"
    yield "        *,"
    for resource in operator.resource_kinds():
        yield f"        {identifier(resource)}: ResourceHandle | str | Unset = UNSET,"
    for name, keyword in names.items():
        yield f"        {keyword}: {_optional(fields[name].annotation)} = UNSET,"
    yield "        policy: PolicyLike | None = None,"
    yield f"    ) -> {handle}:"
    yield from _docstring(
        operator.summary or operator.title,
        {
            **{identifier(name): f"a {kind}." for name, kind in operator.resource_kinds().items()},
            **{names[name]: _help(field) for name, field in fields.items()},
        },
    )
    kinds = operator.resource_kinds()
    resources = ", ".join(f"{_text(name)}: {identifier(name)}" for name in kinds)
    yield f"        resources = {{{resources}}}" if resources else "        resources = None"
    yield "        params: dict[str, Any] = {"
    for name, keyword in names.items():
        yield f"            {_text(name)}: {keyword},"
    yield "        }"
    name = _text(operator.name)
    yield f"        return {handle}(self, self._node({name}, id, policy, resources, params))"


def _resource_method(resource: type[Resource[Any]], taken: set[str]) -> Iterator[str]:
    fields = resource.Params.model_fields
    names = {name: identifier(name, {"self", "id"}) for name in fields}
    yield f"    def {resource_method(resource.kind, taken)}("
    yield "        self,"
    yield "        id: str | None = None,"
    yield "        /,"
    if names:
        yield "        *,"
    for name, keyword in names.items():
        yield f"        {keyword}: {_optional(fields[name].annotation)} = UNSET,"
    yield "    ) -> ResourceHandle:"
    described = {names[name]: _help(field) for name, field in fields.items()}
    yield from _docstring(resource.summary or resource.title or f"A {resource.kind}.", described)
    yield f"        return self.resource({_text(resource.kind)}, id, {{"
    for name, keyword in names.items():
        yield f"            {_text(name)}: {keyword},"
    yield "        })"


def _docstring(summary: str, described: Mapping[str, str]) -> Iterator[str]:
    if not described:
        yield f'        """{_doc(summary)}"""'
        return
    yield f'        """{_doc(summary)}'
    yield ""
    yield "        Args:"
    for name, help_ in {"id": "its id; made from the name without one.", **described}.items():
        yield f"            {name}: {_doc(help_)}"
    yield '        """'


def _help(field: FieldInfo) -> str:
    unit = (
        field.json_schema_extra.get("x-unit") if isinstance(field.json_schema_extra, dict) else None
    )
    default = (
        "" if field.is_required() else f" Default {field.get_default(call_default_factory=True)!r}"
    )
    return f"{field.description or ''}{default}{f' {unit}' if unit and default else ''}"


def _optional(annotation: Any) -> str:  # noqa: ANN401 - any type
    """Return a type that also takes UNSET, with None last."""
    parts = _annotation(annotation).split(" | ")
    return " | ".join(
        [*(p for p in parts if p != "None"), "Unset", *(["None"] * ("None" in parts))]
    )


def _annotation(annotation: Any) -> str:  # noqa: ANN401, PLR0911 - a line per kind
    """Return the Python text of a parameter's type, as JSON holds its values."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None or annotation is type(None):
        return "None"
    if annotation in (str, int, float, bool):
        return str(annotation.__name__)
    if origin is typing.Annotated:
        return _annotation(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_annotation, arguments)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(_text(each) for each in arguments)}]"
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return f"Literal[{', '.join(_text(each.value) for each in annotation)}]"
    if origin in (list, tuple, set, frozenset):
        inner = [each for each in arguments if each is not Ellipsis]
        return f"Sequence[{' | '.join(dict.fromkeys(map(_annotation, inner))) or 'Any'}]"
    if origin is dict or (inspect.isclass(annotation) and issubclass(annotation, BaseModel)):
        return "Mapping[str, Any]"
    return "Any"


def _with_used_imports(text: str) -> str:
    """Leave out imported names that this catalog's operators do not need."""
    _, _, body = text.partition("class ")
    for line in _HEAD.splitlines():
        if line.startswith("from ") and "__future__" not in line:
            module, _, names = line.partition(" import ")
            used = [name for name in names.split(", ") if name in body]
            text = text.replace(f"{line}\n", f"{module} import {', '.join(used)}\n" if used else "")
    return text


def _is_ours(each: type[Any]) -> bool:
    return each.__module__.startswith(_OURS)


def _text(value: object) -> str:
    """Return a literal with double quotes, as the formatter wants it."""
    if not isinstance(value, str):
        return repr(value)
    return '"' + repr(value)[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def _doc(text: str) -> str:
    """Return text that can stand in a docstring, with a full stop behind it."""
    clean = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''").rstrip(".")
    return f"{clean[:1].upper()}{clean[1:]}."


if __name__ == "__main__":
    TARGET.write_text(generate(Catalog.load()), encoding="utf-8")
