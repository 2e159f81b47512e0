"""What every page of the inspector has: how it is told, and the section on the bound."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLabel,
    QVBoxLayout,
    QWidget,
)

from aiflow.compiler.compile import Compiled
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.inspector.figures import bound_sentence, flight_sentence
from aiflow_studio.inspector.form import Form
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.parts import BoundBar, Desk, Section
from aiflow_studio.inspector.row import Draft


class Page(QWidget):
    """What every page of the inspector can be told."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.desk = desk
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(14, 12, 14, 16)
        self.column.setSpacing(6)

    def show_graph(self, graph: Graph) -> None:
        """Show what the document holds now."""

    def show_compiled(self, compiled: Compiled | None) -> None:
        """Show what the compiler found; None before it has looked."""

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show how the run stands; None when there is none."""

    def drafts(self) -> dict[str, dict[str, Draft]]:
        """Return the red entries by form, to be put back when the page is shown again."""
        return {form.objectName(): drafts for form in self.forms() if (drafts := form.drafts())}

    def restore(self, drafts: dict[str, dict[str, Draft]]) -> None:
        """Put red entries back."""
        for form in self.forms():
            form.restore(drafts.get(form.objectName(), {}))

    def forms(self) -> tuple[Form, ...]:
        """Return the forms of this page, each with an object name of its own."""
        return ()

    def add(self, widget: QWidget) -> None:
        """Append a widget."""
        self.column.addWidget(widget)


class BoundSection(Section):
    """What the graph and a node may hold, and how much of it is used."""

    def __init__(self, desk: Desk, node: str | None, parent: QWidget) -> None:
        super().__init__("Bound", parent)
        self._node = node
        self._sentence = QLabel()
        self._sentence.setTextFormat(Qt.TextFormat.RichText)
        self._sentence.setWordWrap(True)
        self._sentence.setObjectName("bound.sentence")
        self._bar = BoundBar(lambda: desk.theme)
        self._flight = text_label("", "muted", wraps=True, name="bound.flight")
        self.add(self._sentence)
        self.add(self._bar)
        self.add(self._flight)
        self.show_compiled(None)
        self.show_snapshot(None)

    def show_compiled(self, compiled: Compiled | None) -> None:
        """Show the bound."""
        self.setVisible(compiled is not None)
        if compiled is not None:
            self._sentence.setText(bound_sentence(self._node, compiled.plan))

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show how much of it is used in a run."""
        self._bar.setVisible(snapshot is not None and snapshot.bound is not None)
        self._flight.setVisible(snapshot is not None)
        if snapshot is not None:
            self._bar.show_share(snapshot.in_flight / snapshot.bound if snapshot.bound else 0.0)
            self._flight.setText(flight_sentence(snapshot.in_flight, snapshot.max_in_flight))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 node`, `1,000 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
