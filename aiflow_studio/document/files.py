"""Files: what a document owes its folder. Relative paths go along when it is saved elsewhere.

Reading, canonical text and the atomic write are the codec's; what a person is asked is `app`'s.
"""

from __future__ import annotations

from pathlib import Path

from aiflow.compiler.paths import rebase_paths
from aiflow.graph import codec
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog


def save_as(
    path: Path, graph: Graph, catalog: Catalog, old_folder: Path | None, *, export: bool = False
) -> Graph:
    """Write a graph to a file, with its relative paths led from there.

    Args:
        path: where to write.
        graph: what to write.
        catalog: which params are paths.
        old_folder: where its relative paths started from until now; None for no file.
        export: leave out layout, notes and frames.

    Returns:
        The graph that the file holds; the very same object where no path had to change.

    Raises:
        GraphFileError: it cannot be written; an old file is unharmed.
    """
    moved = rebase_paths(graph, catalog, old_folder, path.resolve().parent)
    codec.save(path, moved, export=export)
    return moved
