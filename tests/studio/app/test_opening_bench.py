"""The measure of opening compares like with like; how long it takes is nobody's test."""

from __future__ import annotations

import json
import subprocess
import sys

from PySide6.QtWidgets import QApplication

from aiflow.compiler.compile import compile as compile_graph
from aiflow.operators.registry import Catalog
from aiflow_studio.app.opening_bench import rows_of_chains, shapes_of
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.ui.theme import DARK


def test_the_measured_graph_runs_as_it_is() -> None:
    """A graph full of errors would be checked faster and drawn otherwise."""
    graph = rows_of_chains(23)

    assert compile_graph(graph, Catalog.load()).errors == ()
    assert len(graph.nodes) == 23


def test_the_bare_scene_has_every_card_text_and_wire(qapp: QApplication) -> None:
    """Each node gives a card and its name, each edge a line, each place of a queue a cell."""
    graph = rows_of_chains(12)

    shapes = shapes_of(graph, Catalog.load(), Style(DARK))

    texts = [text for text, _ in shapes.texts]
    assert set(graph.nodes) <= set(texts)
    assert len(shapes.lines) == len(graph.edges)
    queued = texts.count("0/8")
    ports = 2 * len(graph.edges)
    assert len(shapes.rects) == 2 * len(graph.nodes) + 8 * queued + ports


def test_one_command_gives_times_and_their_ratio() -> None:
    """`python -m` prints one JSON object, and nothing else."""
    module = "aiflow_studio.app.opening_bench"
    found = subprocess.run(
        [sys.executable, "-m", module, "--nodes", "12", "--runs", "1", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    measured = json.loads(found.stdout)
    assert measured["nodes"] == 12
    assert measured["ratio"] > 0
    assert measured["checked_ms"] >= measured["studio_ms"] > 0
    assert found.stderr == ""
