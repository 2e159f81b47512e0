"""Graphs named on the command line: found, read, compiled."""

from __future__ import annotations

from pathlib import Path

from aiflow.graph.codec import load
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir


def read_graph(name: str) -> tuple[Graph, Path]:
    """Return a graph and the folder its relative paths start from.

    Args:
        name: a path; where there is no such file, one in the shipped graphs, so that
            `aiflow run examples/slow-speech.aiflow.json` works from an installed wheel.

    Raises:
        GraphFileError: the file cannot be read or is no graph.
    """
    path = Path(name)
    if not path.is_absolute() and not path.exists():
        shipped = graphs_dir() / path
        path = shipped if shipped.is_file() else path
    return load(path), path.resolve().parent
