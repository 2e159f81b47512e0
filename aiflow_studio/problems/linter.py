"""Compiles the document after the last edit in a burst, and tells what was found."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from aiflow.compiler.compile import Compiled
from aiflow.compiler.compile import compile as compile_graph
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from aiflow_studio.document.document import Document
from aiflow_studio.ui.debounce import Debounce

DELAY_MS = 150


class Linter(QObject):
    """Keeps the findings of the open document up to date.

    Moving a node leaves nodes and edges the very same objects, so nothing is compiled then.

    Signals:
        compiled(compiled): the graph was compiled anew; a `Compiled`.
    """

    compiled = Signal(object)

    def __init__(self, document: Document, catalog: Catalog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._catalog = catalog
        self._base: Path | None = None
        self._seen: Graph | None = None
        self._last: Compiled | None = None
        self._debounce = Debounce(DELAY_MS, self.check_now, self)
        document.changed.connect(self._on_changed)

    @property
    def base(self) -> Path | None:
        """Folder that relative paths in the graph start from; None while it has no file."""
        return self._base

    @base.setter
    def base(self, base: Path | None) -> None:
        if base != self._base:
            self._base = base
            self._last = None
            self._debounce.call()

    def check_now(self) -> Compiled:
        """Compile what is open, unless nothing has changed since, and return the findings."""
        self._debounce.cancel()
        graph = self._document.graph
        if self._last is None or self._seen is None or not _compiles_alike(self._seen, graph):
            self._last = compile_graph(graph, self._catalog, base=self._base)
            self._seen = graph
            self.compiled.emit(self._last)
        return self._last

    def check_anew(self) -> Compiled:
        """Compile what is open though nothing in it has changed, and return the findings.

        What a graph names lies outside of it: a file may have come or gone meanwhile.
        """
        self._last = None
        return self.check_now()

    def _on_changed(self, *_: object) -> None:
        seen = self._seen
        if seen is None or not _compiles_alike(seen, self._document.graph):
            self._debounce.call()


def _compiles_alike(one: Graph, other: Graph) -> bool:
    """Say whether two graphs differ only in what the compiler does not read."""
    return (
        one.nodes is other.nodes
        and one.edges is other.edges
        and one.resources is other.resources
        and one.max_conversations == other.max_conversations
        and one.measure == other.measure
        and one.extra == other.extra
        and one.version == other.version
    )
