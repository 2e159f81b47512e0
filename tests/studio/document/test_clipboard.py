"""What is copied can be pasted; what is foreign is looked at first."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData

from aiflow.errors import GraphFileError
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.document import clipboard


def _graph() -> Graph:
    graph = edits.add_node(Graph(), "model", at=(1, 2))
    graph = edits.add_node(graph, "log", at=(3, 4), params={"path": "ä/日本.jsonl"})
    return edits.connect(graph, "model.out", "log.in")


def test_a_graph_survives_the_clipboard(qapp):
    """Nodes, edges, places and text of any script come back as they were."""
    graph = _graph()

    back = clipboard.from_mime(clipboard.to_mime(graph))

    assert (back.nodes, back.edges, back.layout) == (graph.nodes, graph.edges, graph.layout)


def test_the_text_alone_is_enough(qapp):
    """A graph that went through a mail can be pasted from its text."""
    data = QMimeData()
    data.setText(clipboard.to_mime(_graph()).text())

    assert set(clipboard.from_mime(data).nodes) == {"model", "log"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no nodes"),
        ("hello", "JSON"),
        ("[1, 2]", "not a graph"),
        ('{"nodes": []}', "not a graph"),
        ('{"format": "aiflow", "version": "9.0", "nodes": []}', "newer"),
        ("x" * (clipboard.MAX_BYTES + 1), "more than a graph may be"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(qapp, text, word):
    """Anything else on the clipboard says what is wrong with it."""
    data = QMimeData()
    data.setText(text)

    with pytest.raises(GraphFileError, match=word):
        clipboard.from_mime(data)


def test_a_clipboard_whose_owner_is_gone_holds_nothing():
    """The system may hand out no data at all; that is a sentence, not a crash."""
    with pytest.raises(GraphFileError, match="there are no nodes on it"):
        clipboard.from_mime(None)


def test_half_a_surrogate_pair_is_refused_with_a_sentence(qapp):
    """Text that is no Unicode is foreign like any other."""
    data = QMimeData()
    data.setText('{"format": "\ud800"}')

    with pytest.raises(GraphFileError, match="the clipboard"):
        clipboard.from_mime(data)
