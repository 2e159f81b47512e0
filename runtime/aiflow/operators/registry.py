"""Catalog: which operators and resources this process knows, found by entry points.

Built-ins come the same way as plug-ins do (`aiflow.operators`, `aiflow.resources`). What
cannot be loaded is kept as a finding in `Catalog.broken`, so that one bad package never
keeps a graph from opening. What an operator is: `base`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from inspect import isclass
from types import MappingProxyType, ModuleType
from typing import Any

from aiflow.errors import PluginError
from aiflow.operators.base import Operator, Params
from aiflow.resources import Resource

OPERATOR_GROUP = "aiflow.operators"
RESOURCE_GROUP = "aiflow.resources"

# Ours first: a plug-in that takes a built-in's name is the one that is refused.
_OURS = "aiflow-runtime"
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class Catalog:
    """The operators and resources that a graph may name.

    Args:
        operators: operator name -> class.
        resources: resource kind -> class.
        broken: entry points that could not be loaded, in the order in which they were tried.
    """

    def __init__(
        self,
        operators: Mapping[str, type[Operator[Any]]],
        resources: Mapping[str, type[Resource[Any]]] | None = None,
        broken: Iterable[PluginError] = (),
    ) -> None:
        self._operators = MappingProxyType(dict(operators))
        self._resources = MappingProxyType(dict(resources or {}))
        self._broken = tuple(broken)

    @classmethod
    def load(cls) -> Catalog:
        """Find all that is installed; never raises for a broken plug-in."""
        broken: list[PluginError] = []
        operators = _collect(OPERATOR_GROUP, operators_of, broken)
        resources = _collect(RESOURCE_GROUP, _resources_of, broken)
        return cls(operators, resources, broken)

    @classmethod
    def of(
        cls,
        *operators: type[Operator[Any]],
        resources: Mapping[str, type[Resource[Any]]] | None = None,
    ) -> Catalog:
        """Return a catalog of exactly these classes, for tests and embedders.

        Raises:
            ValueError: a class is no complete operator, or two have one name.
        """
        named: dict[str, type[Operator[Any]]] = {}
        for operator in operators:
            if fault := operator_fault(operator):
                raise ValueError(f"{operator.__name__}: {fault}")
            if operator.name in named:
                raise ValueError(f"two operators are called {operator.name}")
            named[operator.name] = operator
        return cls(named, resources)

    def extended(
        self,
        operators: Iterable[type[Operator[Any]]] = (),
        resources: Iterable[type[Resource[Any]]] = (),
    ) -> Catalog:
        """Return a catalog that knows these classes too; one of the same name gives way.

        Raises:
            ValueError: a class is no complete operator.
        """
        kinds = {resource.kind: resource for resource in resources}
        named = {operator.name: operator for operator in operators}
        for operator in named.values():
            if fault := operator_fault(operator):
                raise ValueError(f"{operator.__name__}: {fault}")
        if not named and not kinds:
            return self
        together = dict(sorted({**self._operators, **named}.items()))
        shared = dict(sorted({**self._resources, **kinds}.items()))
        return Catalog(together, shared, self._broken)

    @property
    def operators(self) -> Mapping[str, type[Operator[Any]]]:
        """Operator name -> class, in order of name."""
        return self._operators

    @property
    def resources(self) -> Mapping[str, type[Resource[Any]]]:
        """Resource kind -> class, in order of kind."""
        return self._resources

    @property
    def broken(self) -> tuple[PluginError, ...]:
        """What could not be loaded, and why."""
        return self._broken

    def get(self, name: str) -> type[Operator[Any]] | None:
        """Return the operator of that name, None where there is none."""
        return self._operators.get(name)


def operator_fault(operator: type[Operator[Any]]) -> str:
    """Say in one clause why a class cannot serve as an operator; "" where it can."""
    name = getattr(operator, "name", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"its name is {name!r}, which is not lower-case letters, digits and hyphens"
    declared: object = operator.Params
    if not (isclass(declared) and issubclass(declared, Params)):
        return "its Params is no subclass of aiflow.operators.base.Params"
    for side, ports in (("in-ports", operator.inputs), ("out-ports", operator.outputs)):
        names = [port.name for port in ports]
        if len(set(names)) < len(names):
            return f"two of its {side} have one name ({', '.join(names)})"
    if operator.max_outputs < 1:
        return f"its max_outputs is {operator.max_outputs}, which is less than 1"
    return ""


def operators_of(loaded: object, *, may_be_none: bool = False) -> dict[str, type[Operator[Any]]]:
    """Return the operators that a module has of its own, or that one class is; name -> class.

    Args:
        loaded: a module or a class.
        may_be_none: that there is no operator in it is no error.

    Raises:
        TypeError: it is neither a module nor a class.
        ValueError: there is none, one of them is incomplete, or two have one name.
    """
    found: dict[str, type[Operator[Any]]] = {}
    for each in _classes_of(loaded):
        if not issubclass(each, Operator):
            continue
        if fault := operator_fault(each):
            raise ValueError(f"{each.__name__}: {fault}")
        if found.setdefault(each.name, each) is not each:
            raise ValueError(f"the name {each.name} is taken already")
    if not found and not may_be_none:
        raise ValueError("it has no public operator, neither class nor function")
    return found


def _collect(group: str, read: Any, broken: list[PluginError]) -> dict[str, Any]:  # noqa: ANN401 - it reads classes of several kinds
    """Load every entry point of a group; what fails is added to `broken`."""
    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=group), key=_precedence):
        try:
            classes = read(entry.load())
        except Exception as error:  # noqa: BLE001 - foreign code: any failure of it is a finding
            broken.append(_plugin_error(entry, f"{type(error).__name__}: {error}"))
            continue
        for name, loaded in classes.items():
            if name in found and found[name] is not loaded:
                broken.append(_plugin_error(entry, f"the name {name} is taken already"))
            else:
                found[name] = loaded
    return dict(sorted(found.items()))


def _resources_of(loaded: object) -> dict[str, type[Resource[Any]]]:
    """Return the resources that an entry point stands for: a module's own, or one class."""
    classes = [each for each in _classes_of(loaded) if issubclass(each, Resource)]
    if not classes:
        raise ValueError("it has no public subclass of aiflow.resources.Resource")
    for each in classes:
        kind = getattr(each, "kind", "")
        if not isinstance(kind, str) or not _NAME.fullmatch(kind):
            raise ValueError(f"{each.__name__}: its kind is {kind!r}, which is no name")
    return {each.kind: each for each in classes}


def _classes_of(loaded: object) -> list[type[Any]]:
    if isclass(loaded):
        return [loaded]
    if not isinstance(loaded, ModuleType):
        raise TypeError(f"it is a {type(loaded).__name__}, neither a module nor a class")
    return [
        value
        for name, value in vars(loaded).items()
        # A class that was only imported there belongs to another entry point.
        if isclass(value) and not name.startswith("_") and value.__module__ == loaded.__name__
    ]


def _precedence(entry: EntryPoint) -> tuple[bool, str, str]:
    owner = _distribution(entry)
    return (owner != _OURS, owner, entry.name)


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"


def _plugin_error(entry: EntryPoint, reason: str) -> PluginError:
    return PluginError(entry.name, _distribution(entry), reason)
