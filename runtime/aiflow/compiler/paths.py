"""Relative paths of a graph that goes to another folder: they go on meaning the same files.

Which params are paths is known to operators and resources, and the graph knows none of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog

# How a params field says that it holds the path of a file to read (`json_schema_extra`).
_EDITOR, _PATH = "x-editor", "path"


def rebase_paths(
    graph: Graph, catalog: Catalog, old_folder: Path | None, new_folder: Path
) -> Graph:
    """Return the graph with relative paths that mean the same files from another folder.

    Only a path that is found from the old folder is changed: what comes from the shipped
    graphs is found from everywhere, and what is not there yet is meant beside the graph.

    Args:
        graph: any graph.
        catalog: which params are paths; those of unknown operators stay as they are.
        old_folder: where relative paths started from; None for a graph without a file.
        new_folder: where they start from now.
    """
    if old_folder is None or old_folder.resolve() == new_folder.resolve():
        return graph
    after = graph
    for node in graph.nodes.values():
        operator = catalog.get(node.operator)
        if operator is not None:
            moved = _moved(node.params, operator.Params, old_folder, new_folder)
            after = edits.merge_params(after, node.id, moved) if moved else after
    for entry in graph.resources.values():
        resource = catalog.resources.get(entry.kind)
        if resource is not None:
            moved = _moved(entry.params, resource.Params, old_folder, new_folder)
            if moved:
                after = edits.set_resource_params(after, entry.id, {**entry.params, **moved})
    return after


def _moved(
    params: Mapping[str, Any], model: type[BaseModel], old_folder: Path, new_folder: Path
) -> dict[str, Any]:
    """Return the params that hold a path which has to change, with what they change to."""
    moved: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra
        if not isinstance(extra, dict) or extra.get(_EDITOR) != _PATH or name not in params:
            continue
        value = params[name]
        is_list = isinstance(value, list | tuple)
        after = [_rebased(each, old_folder, new_folder) for each in (value if is_list else [value])]
        if after != (list(value) if is_list else [value]):
            moved[name] = after if is_list else after[0]
    return moved


def _rebased(value: Any, old_folder: Path, new_folder: Path) -> Any:  # noqa: ANN401 - any JSON
    """Return a path as it stands in the new folder; what is no path of a file stays as it is."""
    if not isinstance(value, str) or not value or Path(value).is_absolute():
        return value
    path = old_folder / value
    return _relative(path, new_folder) if path.exists() else value


def _relative(target: Path, folder: Path) -> str:
    """Return the way to a file with slashes, whatever system wrote it."""
    try:
        return Path(os.path.relpath(target.resolve(), folder.resolve())).as_posix()
    except ValueError:  # Windows has no way from one drive to another
        return target.resolve().as_posix()
