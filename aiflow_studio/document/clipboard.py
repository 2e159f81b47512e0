"""Clipboard: nodes and the edges between them, as a graph file in text and under a type of our own.

The text is a whole graph file, so it can be pasted into a mail or an editor and back. What
comes from a clipboard is foreign: it is read, limited and checked before a document sees it.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData

from aiflow.errors import GraphFileError
from aiflow.graph import codec
from aiflow.graph.model import Graph

#: The version is that of the wrapping; what is inside carries the graph file's own.
MIME = "application/x-aiflow-graph; version=1"
MAX_BYTES = 4 * 1024 * 1024

_WHERE = "the clipboard"


def to_mime(fragment: Graph) -> QMimeData:
    """Return a graph as clipboard data, as our own type and as text.

    Raises:
        GraphFileError: something in it has no form in JSON.
    """
    text = codec.dumps(fragment)
    data = QMimeData()
    data.setData(MIME, text.encode("utf-8"))
    data.setText(text)
    return data


def from_mime(data: QMimeData | None) -> Graph:
    """Return the graph that a clipboard holds.

    Args:
        data: what the system hands out; None where its owner is gone.

    Raises:
        GraphFileError: it holds none, or one that this program must not take apart.
    """
    raw = _raw(data) if data is not None else b""
    if not raw.strip():
        raise GraphFileError(_WHERE, "there are no nodes on it", "copy some first")
    if len(raw) > MAX_BYTES:
        size = f"{len(raw) / 1024 / 1024:.0f} MB"
        raise GraphFileError(
            _WHERE, f"it holds {size}, more than a graph may be", "open it as a file"
        )
    graph = codec.loads(raw, _WHERE)
    if codec.is_read_only(graph):
        raise GraphFileError(
            _WHERE,
            "its graph is of a newer version than this program",
            "paste it in a newer AiFlow",
        )
    return graph


def _raw(data: QMimeData) -> bytes:
    if data.hasFormat(MIME):
        return bytes(data.data(MIME).data())
    # Half of a surrogate pair is no text; the codec says so when it meets it.
    return data.text().encode("utf-8", "surrogatepass")
