"""What the panel shows for one node: name, params, resources, policy, bound, live figures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field
from PySide6.QtWidgets import QWidget

from aiflow.compiler.compile import Compiled
from aiflow.compiler.diagnostics import Severity
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.graph.values import UNSET
from aiflow.metrics.snapshot import Snapshot
from aiflow.policies import TUPLE, Policy
from aiflow_studio.inspector.editors import TextEditor
from aiflow_studio.inspector.fields import FieldSpec, Kind, fields_of, plain
from aiflow_studio.inspector.figures import NOT_AT_A_SOURCE, node_rows, tuple_text
from aiflow_studio.inspector.form import Form, FormStyle
from aiflow_studio.inspector.inside import NodeInside
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.page import BoundSection, Page
from aiflow_studio.inspector.parts import Desk, Figures, Fold, Section
from aiflow_studio.inspector.resources import ResourcesSection

_MOST_FINDINGS = 3


class _NodeFields(BaseModel):
    name: str = Field(
        title="Name",
        description="Unique in the graph: small letters, digits, - and _, a letter first.",
        json_schema_extra={"x-late": True},
    )


class NodePage(Page):
    """One node, from its name to how it is doing."""

    def __init__(self, desk: Desk, node: str, parent: QWidget) -> None:
        super().__init__(desk, parent)
        self._node = node
        entry = desk.document.graph.nodes[node]
        self._operator = desk.catalog.get(entry.operator)
        is_source = self._operator is not None and not self._operator.inputs
        self._without = NOT_AT_A_SOURCE if is_source else frozenset()
        self._forms: list[Form] = []
        self._add_head(entry.operator)
        self._params = self._add_params(entry.operator)
        self._raw = self._add_raw_params()
        self._resources = self._add_resources()
        self._tuple = text_label("", "tuple", wraps=True, name="policy.tuple")
        self._policy_forms = self._add_policy()
        self._bound = BoundSection(desk, node, self)
        self.add(self._bound)
        self._now_section, self._now = Section("Now", self), Figures()
        self._now_section.add(self._now)
        self._now_section.hide()
        self.add(self._now_section)
        self._inside = NodeInside(desk, node, is_source, self)
        self.add(self._inside)
        self.column.addStretch(1)

    def forms(self) -> tuple[Form, ...]:
        """Return all forms, those of the resources included."""
        further = self._resources.forms() if self._resources is not None else ()
        return (*self._forms, *further)

    def show_graph(self, graph: Graph) -> None:
        """Show the node as it is now."""
        node = graph.nodes[self._node]
        self._head.show_given({"name": node.id})
        params = node.extra.get("params", node.params)
        if self._params is not None:
            self._params.show_given(node.params)
        if self._raw is not None:
            self._raw.show_entry(json.dumps(params, indent=2, ensure_ascii=False, default=str))
        if self._resources is not None:
            self._resources.show_graph(graph, node)
        declared = {} if self._operator is None else {"state": plain(self._operator.state)}
        self._tuple.setText(tuple_text({**declared, **node.policy}, self._without))
        for form in self._policy_forms:
            form.show_given(node.policy)

    def show_compiled(self, compiled: Compiled | None) -> None:
        """Show the bound, and what was found at this node."""
        self._bound.show_compiled(compiled)
        found = [] if compiled is None else compiled.diagnostics
        own = [each for each in found if each.node == self._node]
        errors = [each.message for each in own if each.severity is not Severity.HINT]
        self._findings.setText("\n".join(errors[:_MOST_FINDINGS]))
        self._findings.setVisible(bool(errors))

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show the live figures of the node."""
        self._bound.show_snapshot(snapshot)
        stats = snapshot.nodes.get(self._node) if snapshot is not None else None
        self._now_section.setVisible(stats is not None)
        if stats is not None:
            self._now.show_rows(node_rows(stats))
        self._inside.show_snapshot(snapshot)

    def _add_head(self, operator: str) -> None:
        self._head = Form(_NodeFields, "node", self._offer_name, style=FormStyle.BARE, parent=self)
        self._register(self._head, "form.node")
        self.add(self._head)
        if self._operator is None:
            self.add(text_label(f"operator {operator}, not known here", "muted", wraps=True))
        else:
            title = self._operator.title or operator
            parts = [part for part in (title, self._operator.summary) if part]
            self.add(text_label(" · ".join(parts), "muted", wraps=True))
        self._findings = text_label("", "reason", wraps=True, name="node.findings")
        self._findings.hide()
        self.add(self._findings)

    def _add_params(self, operator: str) -> Form | None:
        if self._operator is None or not self._operator.Params.model_fields:
            return None
        section = Section("Parameters", self)
        form = Form(
            self._operator.Params,
            "params",
            self._offer_param,
            base_of=lambda: self.desk.base,
            parent=section,
        )
        self._register(form, "form.params")
        section.add(form)
        self.add(section)
        return form

    def _add_raw_params(self) -> TextEditor | None:
        if self._operator is not None:
            return None
        section = Section("Parameters", self)
        raw = TextEditor(FieldSpec("raw", "Parameters", Kind.JSON), lambda: None)
        raw.setParent(self)
        raw.text.setObjectName("params.raw")
        raw.text.setAccessibleName("Parameters as they stand in the file")
        raw.text.setReadOnly(True)
        section.add(
            text_label(
                "No operator of this name is installed. What the file says is kept as it is; "
                "install its package, or give the node another operator.",
                "muted",
                wraps=True,
            )
        )
        section.add(raw.text)
        self.add(section)
        return raw

    def _add_resources(self) -> ResourcesSection | None:
        if self._operator is None or not self._operator.resource_kinds():
            return None
        section = ResourcesSection(self.desk, self._node, self._operator, self)
        self.add(section)
        return section

    def _add_policy(self) -> tuple[Form, Form]:
        section = Section("Policy", self)
        self._tuple.setAccessibleName("Policy tuple")
        section.add(self._tuple)
        if self._without:
            note = "A source has no queue: it is read only as fast as the graph takes it."
            section.add(text_label(note, "muted", wraps=True))
        specs = {spec.name: self._as_declared(spec) for spec in fields_of(Policy)}
        members = [key for _, key in TUPLE]
        beside = tuple(spec for name, spec in specs.items() if name not in members)
        forms = (
            self._policy_form(tuple(specs[key] for key in members), section),
            self._policy_form(beside, section),
        )
        self._register(forms[0], "form.policy")
        self._register(forms[1], "form.policy.more")
        section.add(forms[0])
        section.add(Fold("More", "policy.more", forms[1], section))
        self.add(section)
        return forms

    def _policy_form(self, specs: tuple[FieldSpec, ...], parent: QWidget) -> Form:
        return Form(Policy, "policy", self._offer_policy, specs, parent=parent)

    def _as_declared(self, spec: FieldSpec) -> FieldSpec:
        """Return a field of the policy with the default that holds for this operator."""
        if self._operator is None:
            return spec
        if spec.name in self._without:
            spec = replace(spec, idle="It has no effect at a source.")
        if spec.name == "state":
            return replace(spec, default=plain(self._operator.state))
        if spec.name == "side_effects":
            declared = plain(self._operator.side_effects).replace("_", " ")
            return replace(spec, empty=f"as declared: {declared}")
        return spec

    def _register(self, form: Form, name: str) -> None:
        form.setObjectName(name)
        form.visit_ended.connect(self.desk.steps.end_visit)
        self._forms.append(form)

    def _offer_name(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        old = self._node
        return self.desk.steps.take(
            lambda graph: edits.rename_node(graph, old, value),
            f"Rename {old} to {value}",
            ("rename", old, value),
            is_trial,
        )

    def _offer_param(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        return self.desk.steps.take(
            lambda graph: edits.merge_params(graph, self._node, {name: value}),
            f"{'Reset' if value is UNSET else 'Set'} {name} of {self._node}",
            ("param", self._node, name),
            is_trial,
        )

    def _offer_policy(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        return self.desk.steps.take(
            lambda graph: edits.merge_policy(graph, self._node, {name: value}),
            f"{'Reset' if value is UNSET else 'Set'} {name} of {self._node}",
            ("policy", self._node, name),
            is_trial,
        )
