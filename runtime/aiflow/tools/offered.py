"""What this machine offers to graphs: Python tools and MCP servers, by name.

A graph may come from anywhere, so it never says what code or program runs, only a name. What a
name means is said by whoever owns the machine: an installed package (entry points
`aiflow.tools`) or a file that is loaded when asked for (`--operators FILE.py`). Names can be
looked at without importing anything; loading is for the start of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from aiflow.errors import PluginError
from aiflow.tools.functions import PythonTool
from aiflow.tools.servers import McpServer

GROUP = "aiflow.tools"

Offer = PythonTool[..., Any] | McpServer


@cache
def installed_names() -> tuple[str, ...]:
    """Return the names that installed packages offer, sorted; nothing is imported.

    Looked up once: going through all packages takes milliseconds, and a graph is checked often.
    """
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def load_installed(name: str) -> Offer:
    """Import what an installed package offers under a name.

    Raises:
        PluginError: there is no such name, or it is neither a tool nor a server.
    """
    for entry in entry_points(group=GROUP, name=name):
        return _loaded(entry)
    raise PluginError(name, "this installation", "no package offers a tool of that name")


def offers_in(module: ModuleType) -> Mapping[str, Offer]:
    """Return the tools and servers that a module has, by the names under which graphs know them.

    Raises:
        ValueError: two of them have one name.
    """
    found: dict[str, Offer] = {}
    for variable, value in vars(module).items():
        if variable.startswith("_") or not isinstance(value, PythonTool | McpServer):
            continue
        name = value.name
        if found.setdefault(name, value) is not value:
            raise ValueError(f"two tools are called {name}")
    return found


def _loaded(entry: EntryPoint) -> Offer:
    owner = entry.dist.name if entry.dist is not None else "an unknown package"
    try:
        value = entry.load()
    except Exception as error:
        raise PluginError(entry.name, owner, f"{type(error).__name__}: {error}") from error
    if not isinstance(value, PythonTool | McpServer):
        raise PluginError(
            entry.name, owner, "it is neither a function under @tool nor an McpServer"
        )
    if value.name != entry.name:
        raise PluginError(entry.name, owner, f"it calls itself {value.name}")
    return value
