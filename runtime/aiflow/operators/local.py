"""Operators out of a file that somebody names, such as `--operators FILE.py`.

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

_WORD = "--operators"


def with_file(catalog: Catalog, path: str | os.PathLike[str]) -> Catalog:
    """Return a catalog that knows the operators of a Python file too.

    Raises:
        PluginError: the file cannot be loaded, has no operator, or one whose name is taken.
    """
    where = os.fspath(path)
    module = _loaded(where)
    try:
        found = operators_of(module)
    except ValueError as error:
        raise PluginError(where, _WORD, str(error)) from error
    for name in found:
        if name in catalog.operators:
            raise PluginError(where, _WORD, f"the name {name} is taken already")
    return catalog.extended(found.values())


def _loaded(where: str) -> ModuleType:
    path = Path(where)
    if not path.is_file():
        raise PluginError(where, _WORD, "there is no such file")
    name = f"aiflow_local_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(where, _WORD, "it is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Type hints are looked up by the name of the module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else error
        raise PluginError(where, _WORD, f"{type(error).__name__}: {text}{line}") from error
    return module
