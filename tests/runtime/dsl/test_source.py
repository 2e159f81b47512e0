"""Tests of `aiflow.dsl.source`: a graph as a program is the same graph again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from aiflow.dsl.source import source_of
from aiflow.errors import GraphFileError
from aiflow.graph import codec, edits
from aiflow.graph.model import Feedback, Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from tests.runtime.graph.drawn import DOCUMENTS, graphs

CATALOG = Catalog.load()
FILES = sorted(graphs_dir().glob("*/*.aiflow.json"))


def made_by(source: str) -> Any:
    """Run a program and return its flow."""
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "program", "exec"), names)
    return names["flow"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".aiflow.json"))
def test_every_shipped_graph_comes_back_to_the_byte(path: Path) -> None:
    """Broken ones and those of newer versions too."""
    graph = codec.load(path)

    flow = made_by(source_of(graph, CATALOG))

    assert flow.graph == graph
    assert codec.dumps(flow.graph) == codec.dumps(graph)


@settings(max_examples=60)
@given(graphs())
def test_any_graph_is_the_same_after_a_round_through_python(graph: Graph) -> None:
    """DSL → graph → source → graph → source: the identity, twice."""
    source = source_of(graph, CATALOG)

    again = made_by(source).graph

    assert again == graph
    assert codec.dumps(again) == codec.dumps(graph)
    assert source_of(again, CATALOG) == source


@settings(max_examples=60)
@given(DOCUMENTS)
def test_whatever_a_file_holds_survives_too(document: dict[str, Any]) -> None:
    """Wrong shapes, unknown fields, edges to nowhere, numbers as they were written."""
    import json  # noqa: PLC0415 - only to write a drawn document

    try:
        graph = codec.loads(json.dumps(document))
    except GraphFileError:
        return

    assert codec.dumps(made_by(source_of(graph, CATALOG)).graph) == codec.dumps(graph)


def test_export_leaves_out_what_only_the_canvas_reads() -> None:
    """The same as exporting the file."""
    graph = codec.load(graphs_dir() / "examples" / "slow-speech.aiflow.json")

    again = made_by(source_of(graph, CATALOG, export=True)).graph

    assert codec.dumps(again) == codec.dumps(graph, export=True)


def test_the_source_reads_as_a_person_would_write_it() -> None:
    """Methods, attributes and `P`; nothing is put in by hand."""
    source = source_of(codec.load(graphs_dir() / "examples" / "slow-speech.aiflow.json"), CATALOG)

    for line in (
        "from aiflow import Flow, P\n",
        'provider = flow.provider("provider", trace="traces/slow-speech.trace")\n',
        'chunks = flow.chunker("chunks", max_tokens=5)\n',
        'speech = flow.speech("speech", policy=P(sigma="serialized"))\n',
        "model.out >> router\n",
        'router.reasoning.to(log, fanout="detached")\n',
        "flow.measure(log)\n",
    ):
        assert line in source
    assert "put(" not in source


def test_numbers_stay_as_they_were_written() -> None:
    """0.250 is 0.25 to a run, and another file."""
    text = '{"format": "aiflow", "version": "1.0", "nodes": [{"id": "d", "operator": "delay",'
    graph = codec.loads(text + '"params": {"seconds": 0.250, "jitter": 1e0}}]}')

    assert '"seconds": 0.250' in codec.dumps(made_by(source_of(graph, CATALOG)).graph)


def test_names_that_python_keeps_are_given_an_underscore() -> None:
    """A node may be called like a keyword, a builtin or the flow itself."""
    graph = Graph()
    for id in ("flow", "class", "list", "a-b", "a_b"):
        graph = edits.add_node(graph, "delay", id=id)
    graph = edits.connect(graph, "flow.out", "class.in")
    graph = edits.set_feedback(graph, "flow.out>class.in", Feedback(credit=3))

    source = source_of(graph, CATALOG)

    assert made_by(source).graph == graph
    assert "flow_.out.to(class_, feedback=Feedback(credit=3))" in source


def test_the_program_prints_its_graph(tmp_path: Path) -> None:
    """As a file that is run by itself."""
    path = graphs_dir() / "examples" / "semantic-routing.aiflow.json"
    program = tmp_path / "graph.py"
    program.write_text(source_of(codec.load(path), CATALOG), encoding="utf-8")

    done = subprocess.run([sys.executable, program], capture_output=True, check=True)

    assert done.stdout.decode() == path.read_text(encoding="utf-8")


def test_a_long_description_is_broken_into_lines_and_kept() -> None:
    """Quotes, newlines and runs of blanks within it too."""
    text = '  It says "wait", isn\'t it?\n\n' * 9 + "x" * 200 + "   "
    graph = edits.set_description(Graph(), text)

    source = source_of(graph, CATALOG)

    assert made_by(source).graph == graph
    assert source.count("\n") > 9
