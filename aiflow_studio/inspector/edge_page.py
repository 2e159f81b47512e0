"""What the panel shows for one edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field
from PySide6.QtWidgets import (
    QWidget,
)

from aiflow.compiler.compile import Compiled
from aiflow.graph import edits
from aiflow.graph.model import Edge, Feedback, Graph
from aiflow.graph.values import UNSET
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.inspector.figures import edge_rows
from aiflow_studio.inspector.form import Form
from aiflow_studio.inspector.inside import EdgeInside
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.page import Page
from aiflow_studio.inspector.parts import Desk, Figures, Section


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


class _FeedbackFields(BaseModel):
    feedback: bool = Field(
        False,
        title="Leads back",
        description="The edge closes a loop: it leads back to the node where the loop begins.",
    )


class _LimitFields(BaseModel):
    credit: int = Field(
        1,
        ge=1,
        title="Credit",
        description="Items that may be in the loop at once; what is new waits outside.",
        json_schema_extra={"x-unit": "items"},
    )
    max_returns: int = Field(
        1,
        ge=1,
        title="Returns",
        description="Events of one item that may have come back and wait, at most; each has a"
        " place of its own in the queue.",
        json_schema_extra={"x-unit": "events"},
    )
    hops: int = Field(
        1,
        ge=1,
        title="Hops",
        description="How many feedback edges an event may cross before its conversation fails.",
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
        loop = Section("Loop", self)
        self._feedback = self._form(_FeedbackFields, loop)
        self._limits = self._form(_LimitFields, loop)
        for form in (self._feedback, self._limits):
            loop.add(form)
        self.add(loop)
        self._now_section = Section("Now", self)
        self._now = Figures()
        self._now_section.add(self._now)
        self._now_section.hide()
        self.add(self._now_section)
        target = desk.document.graph.edges[edge].target.node
        self._inside = EdgeInside(desk, edge, target, self)
        self.add(self._inside)
        self.column.addStretch(1)

    def forms(self) -> tuple[Form, ...]:
        """Return all forms."""
        return (self._fanout, self._overflow, self._feedback, self._limits)

    def show_graph(self, graph: Graph) -> None:
        """Show the edge as it is now."""
        edge = graph.edges[self._edge]
        self._ends.show_rows((("from", str(edge.source)), ("to", str(edge.target))))
        self._fanout.show_given(_given(edge, "fanout"))
        self._overflow.show_given(_given(edge, "overflow"))
        self._overflow.setVisible(edge.fanout == "detached")
        feedback = edge.feedback
        self._feedback.show_given({} if feedback is None else {"feedback": True})
        self._limits.show_given(_limits_of(feedback))
        self._limits.setVisible(feedback is not None)
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
            self._inside.show_type(str(type_))

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show the live figures of the edge."""
        stats = snapshot.edges.get(self._edge) if snapshot is not None else None
        self._now_section.setVisible(stats is not None)
        if stats is not None:
            self._now.show_rows(edge_rows(stats))
        self._inside.show_snapshot(snapshot)

    def _form(self, model: type[BaseModel], parent: QWidget) -> Form:
        form = Form(model, "edge", self._offer, parent=parent)
        form.setObjectName(f"form.{model.__name__}")
        form.visit_ended.connect(self.desk.steps.end_visit)
        return form

    def _offer(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        if name in ("feedback", *_LimitFields.model_fields):
            return self._offer_feedback(name, value, is_trial)

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

    def _offer_feedback(self, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        def edit(graph: Graph) -> Graph:
            before = graph.edges[self._edge].feedback
            if name == "feedback":
                after = (before or Feedback()) if value is True else None
            else:
                limit: dict[str, Any] = {name: 1 if value is UNSET else value}
                after = replace(before or Feedback(), **limit)
            return edits.set_feedback(graph, self._edge, after)

        word = "feedback" if name == "feedback" else name.replace("_", " ")
        label = f"Set {word} of {self._edge}"
        return self.desk.steps.take(edit, label, ("edge", self._edge, name), is_trial)


def _limits_of(feedback: Feedback | None) -> dict[str, Any]:
    """Return the limits of a feedback edge that are given, which are not 1."""
    if feedback is None:
        return {}
    values = {name: getattr(feedback, name) for name in _LimitFields.model_fields}
    return {name: value for name, value in values.items() if value != 1}


def _given(edge: Edge, name: str) -> dict[str, Any]:
    """Return what the file gives for a field, as it stands there."""
    if name in edge.extra:
        return {name: edge.extra[name]}
    value = getattr(edge, name)
    return {} if value is None or value == "strict" else {name: value}
