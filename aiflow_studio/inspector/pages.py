"""What the panel shows for the graph itself, for an edge, and for several things at once.

A node's page has a module of its own, `node_page`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from aiflow.compiler.compile import Compiled
from aiflow.graph import edits
from aiflow.graph.model import DEFAULT_MAX_CONVERSATIONS, Edge, Graph
from aiflow.graph.values import UNSET
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.inspector.figures import bound_sentence, edge_rows, flight_sentence
from aiflow_studio.inspector.form import Draft, Form
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.parts import BoundBar, Desk, Figures, Section


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
            f"{_count(len(graph.nodes), 'node')}, {_count(len(graph.edges), 'edge')}"
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

    def _offer(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401
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


class _FanoutFields(BaseModel):
    fanout: Literal["strict", "detached"] = Field(
        "strict",
        title="Fan-out",
        description="A strict edge holds its sender back when the queue behind it is full;"
        " a detached one never does.",
    )


class _OverflowFields(BaseModel):
    # Never `block`: a detached edge that blocks would be a strict one.
    overflow: Literal["drop_oldest", "drop_newest", "error"] = Field(
        "drop_oldest",
        title="When full",
        description="What becomes of an event when the queue behind a detached edge is full.",
        json_schema_extra={"x-symbol": "o"},
    )


class EdgePage(Page):
    """One edge: what it joins, what travels on it, what it does when the queue is full."""

    def __init__(self, desk: Desk, edge: str, parent: QWidget) -> None:
        super().__init__(desk, parent)
        self._edge = edge
        self.add(text_label("Edge", "title"))
        self._ends = Figures()
        self.add(self._ends)
        section = Section("When it is full", self)
        self._fanout = self._form(_FanoutFields, section)
        self._overflow = self._form(_OverflowFields, section)
        self._note = text_label("", "muted", wraps=True)
        for widget in (self._fanout, self._overflow, self._note):
            section.add(widget)
        self.add(section)
        self._now_section = Section("Now", self)
        self._now = Figures()
        self._now_section.add(self._now)
        self._now_section.hide()
        self.add(self._now_section)
        self.column.addStretch(1)

    def forms(self) -> tuple[Form, ...]:
        """Return both forms."""
        return (self._fanout, self._overflow)

    def show_graph(self, graph: Graph) -> None:
        """Show the edge as it is now."""
        edge = graph.edges[self._edge]
        self._ends.show_rows((("from", str(edge.source)), ("to", str(edge.target))))
        self._fanout.show_given(_given(edge, "fanout"))
        self._overflow.show_given(_given(edge, "overflow"))
        self._overflow.setVisible(edge.fanout == "detached")
        target = graph.nodes.get(edge.target.node)
        full = "block" if target is None else str(target.policy.get("overflow", "block"))
        self._note.setText(
            f"{edge.source.node} never waits for {edge.target.node}."
            if edge.fanout == "detached"
            else f"What a full queue does is said at {edge.target.node}: {full.replace('_', ' ')}."
        )

    def show_compiled(self, compiled: Compiled | None) -> None:
        """Show the type of what travels here."""
        type_ = compiled.edge_types.get(self._edge) if compiled is not None else None
        if type_ is not None:
            mark = self.desk.theme.type_mark(str(type_))
            self._ends.show_rows((("type", f"{mark.glyph} {type_}"),))

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show the live figures of the edge."""
        stats = snapshot.edges.get(self._edge) if snapshot is not None else None
        self._now_section.setVisible(stats is not None)
        if stats is not None:
            self._now.show_rows(edge_rows(stats))

    def _form(self, model: type[BaseModel], parent: QWidget) -> Form:
        form = Form(model, "edge", self._offer, parent=parent)
        form.setObjectName(f"form.{model.__name__}")
        form.visit_ended.connect(self.desk.steps.end_visit)
        return form

    def _offer(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401
        def edit(graph: Graph) -> Graph:
            edge = graph.edges[self._edge]
            overflow = edge.overflow if name == "fanout" else value
            fanout = value if name == "fanout" else edge.fanout
            return edits.set_fanout(
                graph,
                self._edge,
                "strict" if fanout is UNSET else fanout,
                None if overflow is UNSET else overflow,
            )

        word = "fan-out" if name == "fanout" else "overflow"
        label = f"Set {word} of {self._edge}"
        return self.desk.steps.take(edit, label, ("edge", self._edge, name), is_trial)


class ManyPage(Page):
    """Several things at once: how many, and a way to delete them."""

    def __init__(
        self, desk: Desk, nodes: frozenset[str], edges: frozenset[str], parent: QWidget
    ) -> None:
        super().__init__(desk, parent)
        self._nodes, self._edges = nodes, edges
        parts = [_count(len(nodes), "node")] * bool(nodes) + [_count(len(edges), "edge")] * bool(
            edges
        )
        self._what = " and ".join(parts)
        self.add(text_label(f"{self._what} selected", "title", wraps=True))
        names = text_label(", ".join(sorted(nodes)), "muted", wraps=True)
        self.add(names)
        names.setVisible(bool(nodes))
        button = QPushButton("Delete")
        button.setObjectName("selection.delete")
        button.clicked.connect(self._delete)
        self.column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addStretch(1)

    def _delete(self) -> None:
        self.desk.steps.take(
            lambda graph: edits.remove(graph, self._nodes, self._edges),
            f"Delete {self._what}",
            ("delete", self._nodes, self._edges),
        )
        self.desk.steps.end_visit()


def _given(edge: Edge, name: str) -> dict[str, Any]:
    """Return what the file gives for a field, as it stands there."""
    if name in edge.extra:
        return {name: edge.extra[name]}
    value = getattr(edge, name)
    return {} if value is None or value == "strict" else {name: value}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
