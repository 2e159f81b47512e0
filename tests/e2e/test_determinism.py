"""The same graph in two processes gives the same bytes, however those processes hash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiflow.graph.shipped import graphs_dir

EXAMPLES = sorted((graphs_dir() / "examples").glob("*.aiflow.json"))
#: One each of: turns, joins, loops with tools, retries with chance, and several workers.
SOME = ("barge-in", "join", "tool-loop", "retry-and-dead-letter", "ordered-workers")

#: One process for all graphs: starting it takes longer than most of them.
PROGRAM = """
import sys
from pathlib import Path
from aiflow.cli import main

for graph in map(Path, sys.argv[1:]):
    log = graph.name + ".events"
    ended = main(["run", str(graph), "--clock", "virtual", "--json", "--events", log])
    assert ended == 0, graph
"""


def begun(folder: Path, graphs: list[Path], hash_seed: int) -> subprocess.Popen[bytes]:
    """Run graphs in a process of its own, which writes what they do into a folder."""
    folder.mkdir()
    with (folder / "reports").open("wb") as reports:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, graphs)],
            cwd=folder,
            env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
            stdout=reports,
        )


def written(folder: Path) -> dict[str, bytes]:
    """Return what stands in the files of a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    "names",
    [SOME, pytest.param(None, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_two_processes_that_hash_differently_write_the_same_bytes(
    names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """Event logs and reports: nothing hangs on the order of a set, or on an address."""
    graphs = [graph for graph in EXAMPLES if names is None or graph.name.partition(".")[0] in names]
    folders = [tmp_path / "one", tmp_path / "two"]

    processes = [begun(folder, graphs, seed) for seed, folder in enumerate(folders, start=1)]
    ended = [process.wait() for process in processes]

    assert ended == [0, 0]
    assert len(graphs) == (len(EXAMPLES) if names is None else len(names))
    one, two = map(written, folders)
    assert one.keys() == two.keys() == {"reports", *(f"{graph.name}.events" for graph in graphs)}
    assert [name for name in one if one[name] != two[name]] == []
