"""When the document is compiled, and when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from aiflow.transport.trace import TraceWriter
from aiflow_studio.document.document import Document
from aiflow_studio.problems.linter import DELAY_MS, Linter

CATALOG = Catalog.load()


@pytest.fixture
def document(qapp):
    """Return a document with two nodes."""
    graph = edits.add_node(Graph(), "synthetic", id="source", at=(0, 0))
    return Document(edits.add_node(graph, "screen", at=(200, 0)))


@pytest.fixture
def linter(document):
    """Return a linter that has compiled once."""
    linter = Linter(document, CATALOG)
    linter.check_now()
    return linter


def test_a_burst_of_edits_is_compiled_once(qtbot, document, linter):
    """After the last of them."""
    found: list[object] = []
    linter.compiled.connect(found.append)

    for count in (2, 3, 4):
        document.replace(edits.set_max_conversations(document.graph, count), "x")
    assert found == []
    qtbot.waitUntil(lambda: bool(found), timeout=50 * DELAY_MS)

    assert len(found) == 1
    assert linter.check_now() is found[0]


def test_moving_a_node_compiles_nothing(document, linter):
    """Its nodes and edges are the very same objects."""
    before = linter.check_now()

    document.replace(edits.move(document.graph, {"screen": (5, 5)}), "Move")

    assert not linter._debounce.is_pending
    assert linter.check_now() is before


def test_asking_now_does_not_wait(qtbot, document, linter):
    """Validate is answered at once, and what was pending is done."""
    connected = edits.connect(document.graph, "source.out", "screen.in")
    document.replace(connected, "Connect")

    with qtbot.waitSignal(linter.compiled, timeout=0) as told:
        compiled = linter.check_now()

    assert told.args == [compiled]
    assert compiled.plan is not None
    assert not linter._debounce.is_pending


@pytest.mark.parametrize("field", ["max_conversations", "measure"])
def test_what_the_bound_depends_on_is_compiled_anew(document, linter, field):
    """Though no node has changed."""
    value = 3 if field == "max_conversations" else ("screen",)
    document.replace(replace(document.graph, **{field: value}), "x")

    assert linter._debounce.is_pending
    linter.check_now()


def test_a_file_that_has_come_is_seen_when_asked_anew(tmp_path, document, linter):
    """Nothing in the graph has changed, and still its answer is another."""
    linter.base = tmp_path
    graph = edits.add_node(document.graph, "replay", params={"path": "late.trace"})
    document.replace(edits.connect(graph, "replay.out", "screen.in"), "Replay")
    missing = [each.node for each in linter.check_now().errors]

    with TraceWriter(tmp_path / "late.trace", "openai-chat") as writer:
        writer.write(0.0, b"data: [DONE]\n\n")

    assert "replay" in missing
    assert "replay" in [each.node for each in linter.check_now().errors]
    assert "replay" not in [each.node for each in linter.check_anew().errors]


def test_another_folder_is_compiled_anew(tmp_path, linter):
    """Paths in the graph may lead elsewhere now."""
    before = linter.check_now()
    linter.base = tmp_path

    assert linter.check_now() is not before
