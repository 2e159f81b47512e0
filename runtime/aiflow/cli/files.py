"""Files named on the command line: graphs that are read, and what may be written over."""

from __future__ import annotations

import sys
from pathlib import Path

from aiflow.graph.codec import load, loads
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir


def read_graph(name: str) -> tuple[Graph, Path]:
    """Return a graph and the folder its relative paths start from.

    Args:
        name: a path, or `-` for standard input; where there is no such file, one in the
            shipped graphs, so that `aiflow run examples/slow-speech.aiflow.json` works from an
            installed wheel.

    Raises:
        GraphFileError: the file cannot be read or is no graph.
    """
    if name == "-":
        given = b"" if sys.stdin is None else sys.stdin.buffer.read()
        return loads(given, "standard input"), Path.cwd()
    path = Path(name)
    if not path.is_absolute() and not path.exists():
        shipped = graphs_dir() / path
        path = shipped if shipped.is_file() else path
    return load(path), path.resolve().parent


def is_replaceable(path: Path, beginning: bytes) -> bool:
    """Say whether nobody would miss what is there: a slip must not cost a graph or a trace.

    Args:
        path: where something is to be written.
        beginning: how every file begins that is of the kind to be written.

    Raises:
        OSError: what is there cannot be read.
    """
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return file.read(len(beginning)) in (b"", beginning)
