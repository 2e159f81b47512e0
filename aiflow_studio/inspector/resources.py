"""What a node is handed: choose a resource of the graph, make one, edit it in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from aiflow.graph import edits
from aiflow.graph.model import Graph, Node, Resource
from aiflow.graph.values import UNSET, merged
from aiflow.operators.base import Operator
from aiflow_studio.inspector.editors import ChoiceBox
from aiflow_studio.inspector.form import Form
from aiflow_studio.inspector.keys import KeyButtons, key_names
from aiflow_studio.inspector.labels import set_columns, text_label
from aiflow_studio.inspector.parts import Desk, Fold, Section


@dataclass(frozen=True, slots=True)
class _New:
    """The choice of a resource that is not there yet."""

    kind: str


class ResourcesSection(Section):
    """One row per resource that an operator can be handed."""

    def __init__(
        self, desk: Desk, node: str, operator: type[Operator[Any]], parent: QWidget
    ) -> None:
        super().__init__("Resources", parent)
        self._rows = [
            _ResourceRow(desk, node, name, kind, self, is_needed=name in operator.requires)
            for name, kind in operator.resource_kinds().items()
        ]
        for row in self._rows:
            self.add(row)

    def show_graph(self, graph: Graph, node: Node) -> None:
        """Show what the node is handed."""
        for row in self._rows:
            row.show_graph(graph, node)

    def forms(self) -> tuple[Form, ...]:
        """Return the forms of the resources that are shown."""
        return tuple(row.form for row in self._rows if row.form is not None)


class _ResourceRow(QWidget):
    """Which resource serves under one name, and its own fields below."""

    def __init__(
        self, desk: Desk, node: str, name: str, kind: str, parent: QWidget, *, is_needed: bool
    ) -> None:
        super().__init__(parent)
        self._desk, self._node, self._name, self._kind = desk, node, name, kind
        self._is_needed = is_needed
        self._bound: str | None = None
        self.form: Form | None = None
        self._fold: Fold | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        top = QWidget()
        self._grid = QGridLayout(top)
        self._grid.setContentsMargins(0, 0, 0, 0)
        set_columns(self._grid, self)
        label = text_label(name.replace("_", " ").replace("-", " ").capitalize(), "field")
        self._choice = ChoiceBox()
        self._choice.setObjectName(f"resources.{name}")
        self._choice.setAccessibleName(f"{name} of {node}")
        self._choice.setToolTip(f"The {kind} that this node works with.")
        self._choice.activated.connect(self._on_chosen)
        label.setBuddy(self._choice)
        self._grid.addWidget(label, 0, 0, 1, 2)
        self._grid.addWidget(self._choice, 0, 2, 1, 2)
        self._note = text_label("", "muted", wraps=True)
        self._note.setObjectName(f"resources.{name}.note")
        self._keys = KeyButtons(f"resources.{name}.key", desk.wants_key, self)
        self._column.addWidget(top)
        self._column.addWidget(self._note)
        self._column.addWidget(self._keys)

    def show_graph(self, graph: Graph, node: Node) -> None:
        """Show the choice, and the fields of what is chosen."""
        bound = node.resources.get(self._name)
        self._fill(graph, bound)
        resource = graph.resources.get(bound) if bound is not None else None
        if bound != self._bound or (resource is None) != (self.form is None):
            self._rebuild(bound if resource is not None else None)
            self._bound = bound
        if resource is not None and self.form is not None:
            self.form.show_given(resource.params)
        self._show_keys(bound, resource)
        self._note.setText(self._sentence(graph, bound))
        is_missing = resource is None and (self._is_needed or bound is not None)
        self._note.setProperty("role", "reason" if is_missing else "muted")
        self._note.style().unpolish(self._note)
        self._note.style().polish(self._note)
        self._note.setVisible(bool(self._note.text()))

    def _show_keys(self, bound: str | None, resource: Resource | None) -> None:
        described = None if resource is None else self._desk.catalog.resources.get(resource.kind)
        names: tuple[str, ...] = ()
        if described is not None and resource is not None:
            names = key_names(described, bound or "", resource.params)
        self._keys.show_names(names)

    def _fill(self, graph: Graph, bound: str | None) -> None:
        ids = [id for id, each in graph.resources.items() if self._fits(each.kind)]
        choices: list[tuple[str, Any]] = [("none", None)]
        choices += [(id, id) for id in ids]
        if bound is not None and bound not in ids:
            choices.append((bound, bound))
        fitting = [kind for kind in self._desk.catalog.resources if self._fits(kind)]
        # The very kind that is asked for comes first.
        fitting.sort(key=lambda kind: kind != self._kind)
        choices += [(f"New {kind}…", _New(kind)) for kind in fitting]
        self._choice.show_choices(choices, bound)

    def _sentence(self, graph: Graph, bound: str | None) -> str:
        if bound is None and self._is_needed:
            return f"This node needs a {self._called(self._kind)}: choose one or make a new one."
        if bound is None:
            return f"It works without; a {self._called(self._kind)} can be chosen or made."
        if bound not in graph.resources:
            return f"There is no resource {bound} in this graph; choose another."
        kind = graph.resources[bound].kind
        if not self._fits(kind):
            asked = self._called(self._kind)
            return f"{bound} is a {self._called(kind)}, and this node needs a {asked}."
        users = [node.id for node in graph.nodes.values() if bound in node.resources.values()]
        if len(users) > 1:
            return f"Shared by {', '.join(users)}: a change counts for all of them."
        return ""

    def _called(self, kind: str) -> str:
        """Return what a person calls a kind of resource: "a tools" is none."""
        known = self._desk.catalog.resources.get(kind)
        return known.title.lower() if known and known.title else kind

    def _rebuild(self, resource: str | None) -> None:
        if self._fold is not None:
            self._fold.setParent(None)
            self._fold.deleteLater()
            self._fold = self.form = None
        if resource is None:
            return
        kind = self._desk.document.graph.resources[resource].kind
        described = self._desk.catalog.resources.get(kind)
        if described is None:
            return
        prefix = f"resources.{self._name}"
        form = Form(
            described.Params,
            prefix,
            lambda name, value, is_trial: self._offer(resource, name, value, is_trial),
            base_of=lambda: self._desk.base,
            parent=self,
        )
        form.setObjectName(f"form.resources.{self._name}.{resource}")
        form.visit_ended.connect(self._desk.steps.end_visit)
        self.form = form
        self._fold = Fold(f"Settings of {resource}", f"{prefix}.edit", form, self)
        # The keys stand below what names them.
        self._column.insertWidget(self._column.indexOf(self._keys), self._fold)
        # One that says nothing yet is there to be filled in.
        self._fold.open(not self._desk.document.graph.resources[resource].params)

    def _on_chosen(self) -> None:
        chosen = self._choice.currentData()
        if isinstance(chosen, _New):
            self._make(chosen.kind)
        else:
            self._desk.steps.take(
                lambda graph: edits.set_resource(graph, self._node, self._name, chosen),
                f"Set {self._name} of {self._node}",
                ("resource", self._node, self._name),
            )
        self._desk.steps.end_visit()

    def _fits(self, kind: str) -> bool:
        """Say whether a resource of `kind` may serve here."""
        described = self._desk.catalog.resources.get(kind)
        return kind == self._kind or (described is not None and described.fits(self._kind))

    def _make(self, kind: str) -> None:
        """Add a resource and hand it to the node, as one step; its fields open."""

        def edit(graph: Graph) -> Graph:
            after = edits.add_resource(graph, kind)
            return edits.set_resource(after, self._node, self._name, list(after.resources)[-1])

        self._desk.steps.take(
            edit, f"Add a {kind} for {self._node}", ("add-resource", self._node, self._name)
        )

    def _offer(self, resource: str, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        def edit(graph: Graph) -> Graph:
            given = graph.resources[resource].params if resource in graph.resources else {}
            return edits.set_resource_params(graph, resource, merged(given, {name: value}))

        label = f"{'Reset' if value is UNSET else 'Set'} {name} of {resource}"
        return self._desk.steps.take(edit, label, ("resource-param", resource, name), is_trial)

    def changeEvent(self, event: QEvent) -> None:
        """Scale the columns with the text."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            set_columns(self._grid, self)
