"""Operators and tools out of a file that somebody names, such as `--operators FILE.py`.

A file is only ever loaded when it is asked for by name: opening a graph never runs code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from aiflow.errors import PluginError
from aiflow.operators.registry import Catalog, operators_of
from aiflow.tools.offered import Offer, installed_names, offers_in
from aiflow.tools.resource import Tools

_WORD = "--operators"


def with_file(catalog: Catalog, path: str | os.PathLike[str]) -> Catalog:
    """Return a catalog that knows the operators and the tools of a Python file too.

    Tools are offered to every tool set, each of which still has to name them.

    Raises:
        PluginError: the file cannot be loaded, has neither operator nor tool, or one whose name is
            taken.
    """
    where = os.fspath(path)
    module = _loaded(where)
    try:
        offers = offers_in(module)
        found = operators_of(module, may_be_none=bool(offers))
    except ValueError as error:
        raise PluginError(where, _WORD, str(error)) from error
    for name in found:
        if name in catalog.operators:
            raise PluginError(where, _WORD, f"the name {name} is taken already")
    try:
        return with_tools(catalog.extended(found.values()), *offers.values())
    except ValueError as error:
        raise PluginError(where, _WORD, str(error)) from error


def with_tools(catalog: Catalog, *offers: Offer) -> Catalog:
    """Return a catalog whose tool sets may name these tools and servers too.

    Raises:
        ValueError: there is one of that name already.
    """
    tool_set = catalog.resources.get(Tools.kind, Tools)
    if not offers or not issubclass(tool_set, Tools):
        return catalog
    for offer in offers:
        if offer.name in tool_set.offered or offer.name in installed_names():
            raise ValueError(f"there is a tool {offer.name} already")
    return catalog.extended(resources=[tool_set.offering({each.name: each for each in offers})])


def _loaded(where: str) -> ModuleType:
    path = Path(where)
    if not path.is_file():
        what = "it is no file" if path.exists() else "there is no such file"
        raise PluginError(where, _WORD, f"{what}; name one that ends in .py")
    name = f"aiflow_local_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(where, _WORD, "it is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Type hints are looked up by the name of the module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else error
        raise PluginError(where, _WORD, f"{type(error).__name__}: {text}{line}") from error
    return module
