"""What the panel shows for the graph itself, while nothing is selected."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from aiflow.compiler.compile import Compiled
from aiflow.graph import edits
from aiflow.graph.model import DEFAULT_MAX_CONVERSATIONS, Graph
from aiflow.graph.values import UNSET
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.inspector.form import Form
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.page import BoundSection, Page, counted
from aiflow_studio.inspector.parts import Desk, Section


class _GraphFields(BaseModel):
    name: str = Field("", title="Name", description="What the graph is called.")
    description: str = Field(
        "",
        title="Lesson",
        description="What the graph shows, in a few sentences; it stands in the file.",
        json_schema_extra={"x-editor": "multiline"},
    )
    max_conversations: int = Field(
        DEFAULT_MAX_CONVERSATIONS,
        ge=1,
        le=1_000_000,
        title="Conversations",
        description="Conversations that are active at once; further ones wait at their source.",
        json_schema_extra={"x-symbol": "C", "x-unit": "at once"},
    )


class GraphPage(Page):
    """The graph's own fields; shown while nothing is selected."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(desk, parent)
        self._title = text_label("", "title", wraps=True)
        self.add(self._title)
        self._counts = text_label("", "muted")
        self.add(self._counts)
        section = Section("Graph", self)
        self._form = Form(_GraphFields, "graph", self._offer, parent=section)
        self._form.setObjectName("form.graph")
        self._form.visit_ended.connect(desk.steps.end_visit)
        section.add(self._form)
        self.add(section)
        self._sinks = _SinksSection(desk, self)
        self.add(self._sinks)
        self._resources = _ResourcesSection(desk, self)
        self.add(self._resources)
        self._bound = BoundSection(desk, None, self)
        self.add(self._bound)
        self.column.addStretch(1)

    def forms(self) -> tuple[Form, ...]:
        """Return the one form."""
        return (self._form,)

    def show_graph(self, graph: Graph) -> None:
        """Show the graph's fields and its sinks."""
        self._title.setText(graph.name or "Untitled graph")
        self._counts.setText(
            f"{counted(len(graph.nodes), 'node')}, {counted(len(graph.edges), 'edge')}"
        )
        # A value that no graph can hold stands in `extra`, as it came from the file.
        self._form.show_given(
            {
                name: graph.extra.get(name, getattr(graph, name))
                for name in _GraphFields.model_fields
            }
        )
        self._sinks.show_graph(graph)
        self._resources.show_graph(graph)

    def show_compiled(self, compiled: Compiled | None) -> None:
        """Show the bound."""
        self._bound.show_compiled(compiled)

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show how much of the bound is used."""
        self._bound.show_snapshot(snapshot)

    def _offer(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        def edit(graph: Graph) -> Graph:
            if name == "name":
                return edits.set_name(graph, "" if value is UNSET else value)
            if name == "description":
                return edits.set_description(graph, "" if value is UNSET else value)
            count = DEFAULT_MAX_CONVERSATIONS if value is UNSET else value
            return edits.set_max_conversations(graph, count)

        label = f"Set the graph's {_GraphFields.model_fields[name].title}".lower().capitalize()
        return self.desk.steps.take(edit, label, ("graph", name), is_trial)


class _SinksSection(Section):
    """Which sinks the time to the first processed token is taken at."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__("Measured sinks", parent)
        self._desk = desk
        self._boxes: dict[str, QCheckBox] = {}
        self._note = text_label("", "muted", wraps=True)
        self.add(self._note)

    def show_graph(self, graph: Graph) -> None:
        """Show a box for each sink, and for whatever else is measured."""
        names = [
            node for node in graph.nodes if self._is_sink(graph, node) or node in graph.measure
        ]
        for gone in [name for name in self._boxes if name not in names]:
            self._boxes.pop(gone).deleteLater()
        for name in names:
            if name not in self._boxes:
                self._boxes[name] = self._box(name)
            self._boxes[name].setChecked(name in graph.measure)
        self._note.setText(
            "Time to the first processed token counts at the first of any sink."
            if not graph.measure
            else "Time to the first processed token counts at the first of these."
        )
        self.setVisible(bool(names))

    def _is_sink(self, graph: Graph, node: str) -> bool:
        operator = self._desk.catalog.get(graph.nodes[node].operator)
        return operator is not None and not operator.outputs

    def _box(self, name: str) -> QCheckBox:
        box = QCheckBox(name)
        box.setObjectName(f"graph.measure.{name}")
        box.setAccessibleName(f"Measure at {name}")
        box.setToolTip(f"Take the time to the first processed token at {name}.")
        # A long name is cut rather than making the dock wider.
        box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        box.clicked.connect(self._take)
        self.add(box)
        return box

    def _take(self) -> None:
        chosen = [name for name, box in self._boxes.items() if box.isChecked()]
        self._desk.steps.take(
            lambda graph: edits.set_measure(graph, chosen),
            "Choose measured sinks",
            ("graph", "measure"),
        )


class _ResourcesSection(Section):
    """The graph's resources, and a way to be rid of those that nobody uses."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__("Resources", parent)
        self._desk = desk
        self._rows: dict[str, tuple[QWidget, QLabel]] = {}

    def show_graph(self, graph: Graph) -> None:
        """Show one line a resource."""
        for gone in [id for id in self._rows if id not in graph.resources]:
            self._rows.pop(gone)[0].deleteLater()
        for id, resource in graph.resources.items():
            if id not in self._rows:
                self._rows[id] = self._row(id)
            users = [node.id for node in graph.nodes.values() if id in node.resources.values()]
            used = f"used by {', '.join(users)}" if users else "not used"
            self._rows[id][1].setText(f"{resource.kind}, {used}")
        self.setVisible(bool(graph.resources))

    def _row(self, id: str) -> tuple[QWidget, QLabel]:
        row, note = QWidget(), text_label("", "muted", wraps=True)
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(text_label(id, "field", wraps=True), 1)
        line.addWidget(note, 1)
        button = QPushButton("Remove")
        button.setObjectName(f"graph.resources.{id}.remove")
        button.setAccessibleName(f"Remove resource {id}")
        button.clicked.connect(lambda: self._remove(id))
        line.addWidget(button)
        self.add(row)
        return row, note

    def _remove(self, id: str) -> None:
        self._desk.steps.take(
            lambda graph: edits.remove_resource(graph, id),
            f"Remove resource {id}",
            ("remove-resource", id),
        )
        self._desk.steps.end_visit()
