"""A column of editors made from a model: labels, symbols, units, and what is wrong, in red.

The form never writes: it offers a value to whoever made it (`Offer`) and shows the refusal.
A red entry stays until it is mended, abandoned with Esc, or its own value changes elsewhere;
a text that a person is typing is never overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from aiflow.graph.values import UNSET, merged, same
from aiflow_studio.inspector.editors import EDITORS, BaseOf, Editor
from aiflow_studio.inspector.entries import EntryError, expectation, fault_of, read, write
from aiflow_studio.inspector.fields import FieldSpec, Kind, fields_of
from aiflow_studio.inspector.labels import GAP_PX, set_columns, text_label
from aiflow_studio.inspector.row import Draft, Row

#: `offer(name, value, is_trial)` takes a value of a field, UNSET for "as the default", and
#: returns "" or one sentence that says why not. A trial changes nothing.
Offer = Callable[[str, Any, bool], str]


class FormStyle(Enum):
    """How the fields of a form stand.

    NESTED sets them in, for a model within a model; BARE leaves labels and units out.
    """

    PLAIN = auto()
    NESTED = auto()
    BARE = auto()


class Form(QWidget):
    """Editors for the fields of one model.

    Args:
        model: judges the values. `specs`: the fields to show; all of the model's by default.
        prefix: object names are `prefix.field`.
        offer: takes what was entered.
        base_of: where relative paths start.
        style: how the fields stand. `parent`: where the form will stand.

    Signals:
        visit_ended(): the person has left a field; what is typed next is another step.
    """

    visit_ended = Signal()

    def __init__(  # noqa: PLR0913 - a form is made of these
        self,
        model: type[BaseModel],
        prefix: str,
        offer: Offer,
        specs: tuple[FieldSpec, ...] | None = None,
        base_of: BaseOf = lambda: None,
        *,
        style: FormStyle = FormStyle.PLAIN,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._prefix = prefix
        self._offer_value = offer
        self._base_of: Callable[[], Path | None] = base_of
        self._given: Mapping[str, Any] = {}
        self._rows: dict[str, Row] = {}
        self._groups: dict[str, GroupRow] = {}
        self._own: Row | None = None
        self._style = style
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        for spec in fields_of(model) if specs is None else specs:
            self._add(spec)
        set_columns(self._grid, self)

    def show_given(self, given: Mapping[str, Any]) -> None:
        """Show what the document holds now, and keep what a person is at."""
        self._given = given
        for name, row in self._rows.items():
            before, row.value = row.value, given.get(name, UNSET)
            if row is self._own:
                continue
            has_changed = not _equal(before, row.value)
            is_typing = row.editor.is_touched and row.editor.has_focus()
            if has_changed or (row.draft is None and not is_typing):
                row.show_value()
                row.start = row.value
            if row.draft is None:
                row.mark(self._fault_in_document(row))
        for name, group in self._groups.items():
            group.show_value(given.get(name, UNSET))

    def drafts(self) -> dict[str, Draft]:
        """Return the red entries by field; those of nested models as `group.field`."""
        found = {
            name: Draft(row.draft, row.value)
            for name, row in self._rows.items()
            if row.draft is not None
        }
        for name, group in self._groups.items():
            found |= {f"{name}.{inner}": draft for inner, draft in group.form.drafts().items()}
        return found

    def restore(self, drafts: Mapping[str, Draft]) -> None:
        """Put red entries back where the document holds what it held when they were typed."""
        for name, draft in drafts.items():
            group, _, inner = name.partition(".")
            if inner and group in self._groups:
                self._groups[group].form.restore({inner: draft})
                self._groups[group].expand(True)
            elif (row := self._rows.get(name)) is not None and _equal(row.value, draft.value):
                row.editor.show_entry(draft.entry)
                self._refuse(row, draft.entry, self._judge(row, draft.entry, is_trial=True)[1])

    def _add(self, spec: FieldSpec) -> None:
        line = self._grid.rowCount()
        label = self._add_labels(line, spec)
        if spec.kind is Kind.GROUP and spec.model is not None:
            self._add_group(line, spec, label)
            return
        editor = EDITORS[spec.kind](spec, self._base_of)
        editor.setParent(self)
        _name(editor.input, f"{self._prefix}.{spec.name}", spec)
        label.setBuddy(editor.input)
        left = self._place(line, spec, editor)
        reason = text_label("", "reason", wraps=True, name=f"{self._prefix}.{spec.name}.reason")
        reason.hide()
        self._grid.addWidget(reason, line + 2, left, 1, 4 - left)
        row = self._rows[spec.name] = Row(spec, editor, reason)
        editor.edited.connect(lambda entry: self._on_edited(row, entry))
        editor.finished.connect(lambda: self._on_finished(row))
        editor.abandoned.connect(lambda: self._on_abandoned(row))

    def _add_labels(self, line: int, spec: FieldSpec) -> QLabel:
        label = text_label(spec.label, "field", wraps=True)
        label.setContentsMargins(0, 0, GAP_PX, 0)
        label.setToolTip(tooltip_of(spec))
        if self._style is FormStyle.BARE:
            label.setParent(self)
            label.hide()
        elif spec.symbol:
            badge = text_label(spec.symbol, "symbol")
            badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
            badge.setToolTip(tooltip_of(spec))
            self._grid.addWidget(badge, line, 0, Qt.AlignmentFlag.AlignLeft)
            self._grid.addWidget(label, line, 1)
        else:
            # Fields of a nested model are set in below their heading.
            left = 1 if self._style is FormStyle.NESTED else 0
            self._grid.addWidget(label, line, left, 1, 2 - left)
        return label

    def _place(self, line: int, spec: FieldSpec, editor: Editor) -> int:
        """Lay out an editor; return the column that its reason starts in."""
        if editor.is_wide or self._style is FormStyle.BARE:
            left = 1 if self._style is FormStyle.NESTED else 0
            self._grid.addWidget(editor.widget, line + 1, left, 1, 4 - left)
            return left
        unit = spec.unit if spec.unit.lower() != spec.label.lower() else ""
        if unit or spec.kind in {Kind.INTEGER, Kind.NUMBER, Kind.CHOICE}:
            self._grid.addWidget(editor.widget, line, 2)
            beside = text_label(unit, "unit")
            beside.setContentsMargins(GAP_PX, 0, 0, 0)
            self._grid.addWidget(beside, line, 3)
        else:
            self._grid.addWidget(editor.widget, line, 2, 1, 2)
        return 1

    def _add_group(self, line: int, spec: FieldSpec, label: QLabel) -> None:
        group = GroupRow(spec, self._prefix, self._offer_group, self._base_of, self)
        self._groups[spec.name] = group
        self._grid.addWidget(group.button, line, 2, 1, 2)
        self._grid.addWidget(group.form, line + 1, 0, 1, 4)
        label.setBuddy(group.button)
        group.form.visit_ended.connect(self.visit_ended)

    def _on_edited(self, row: Row, entry: str) -> None:
        self._take(row, entry, is_trial=row.spec.is_late)
        if row.draft is not None:
            self._put_back(row)

    def _on_finished(self, row: Row) -> None:
        if row.spec.is_late and row.draft is None and row.editor.is_touched:
            self._take(row, row.editor.entry(), is_trial=False)
        if row.draft is None:
            row.show_value()
            row.mark(self._fault_in_document(row))
        row.start = row.value
        self.visit_ended.emit()

    def _on_abandoned(self, row: Row) -> None:
        self._put_back(row)
        row.show_value()
        row.mark(self._fault_in_document(row))

    def _put_back(self, row: Row) -> None:
        """Give the document what it held when the person came to the field.

        On the way to a refused entry stand others that are fine, as 99 in 99x; nobody means them.
        """
        if not _equal(row.value, row.start):
            self._own = row
            self._offer_value(row.spec.name, row.start, False)
            self._own = None

    def _take(self, row: Row, entry: str, *, is_trial: bool) -> None:
        """Offer an entry, and show it red where it is refused."""
        value, fault = self._judge(row, entry, is_trial=is_trial)
        if fault:
            self._refuse(row, entry, fault)
            return
        row.draft = None
        if not is_trial:
            row.value = value
        row.mark("")
        if not is_trial:
            self._try_red_entries_again(row)

    def _judge(self, row: Row, entry: str, *, is_trial: bool) -> tuple[Any, str]:
        """Return the value of an entry and why it is refused, "" where it was taken."""
        spec = row.spec
        try:
            value = read(spec, entry)
        except EntryError as error:
            return UNSET, str(error)
        if not spec.is_required and same(value, spec.default):
            value = UNSET
        if _equal(value, row.value):
            return value, self._fault_in_document(row)
        fault = fault_of(self._model, merged(self._given, {spec.name: value}), spec)
        if fault:
            return value, fault
        self._own = row
        try:
            return value, self._offer_value(spec.name, value, is_trial)
        finally:
            self._own = None

    def _refuse(self, row: Row, entry: str, fault: str) -> None:
        row.draft = entry
        row.mark(fault)

    def _try_red_entries_again(self, changed: Row) -> None:
        # What was refused because of the other field may be right now.
        for row in self._rows.values():
            if row is not changed and row.draft is not None and not row.spec.is_late:
                _, fault = self._judge(row, row.draft, is_trial=False)
                row.draft = row.draft if fault else None
                row.mark(fault)

    def _offer_group(self, group: str, name: str, value: Any, is_trial: bool) -> str:  # noqa: ANN401 - any plain value
        given = self._given.get(group, {})
        inner = merged(given if isinstance(given, Mapping) else {}, {name: value})
        spec = self._groups[group].spec
        fault = fault_of(self._model, merged(self._given, {group: inner or UNSET}), spec)
        return fault or self._offer_value(group, inner or UNSET, is_trial)

    def _fault_in_document(self, row: Row) -> str:
        """Say what is wrong with what the document holds, as it came from a file."""
        if row.value is UNSET and not row.spec.is_required:
            return ""
        return fault_of(self._model, self._given, row.spec)

    def changeEvent(self, event: QEvent) -> None:
        """Scale the columns with the text."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            set_columns(self._grid, self)


class GroupRow:
    """A nested model: a button that says how it stands, and its fields below when opened."""

    def __init__(
        self,
        spec: FieldSpec,
        prefix: str,
        offer: Callable[[str, str, Any, bool], str],
        base_of: BaseOf,
        parent: QWidget,
    ) -> None:
        assert spec.model is not None, "a group has a model"
        self.spec = spec
        self.button = QToolButton(parent)
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        _name(self.button, f"{prefix}.{spec.name}", spec)
        self.form = Form(
            spec.model,
            f"{prefix}.{spec.name}",
            lambda name, value, is_trial: offer(spec.name, name, value, is_trial),
            base_of=base_of,
            style=FormStyle.NESTED,
            parent=parent,
        )
        self.form.hide()
        self.button.toggled.connect(self.expand)
        self.show_value(UNSET)

    def show_value(self, value: Any) -> None:  # noqa: ANN401 - any plain value
        """Show the nested value; one that is no mapping is shown as having none."""
        given = value if isinstance(value, Mapping) else {}
        self.form.show_given(given)
        parts = [
            f"{spec.label.lower()} {write(spec, given[spec.name])}"
            for spec in self.spec.members
            if spec.name in given
        ]
        self._summary = " · ".join(parts) or "none"
        if value is not UNSET and not isinstance(value, Mapping):
            self._summary = f"{value!r} is none"
        self._label()

    def expand(self, is_open: bool) -> None:
        """Open or close the fields."""
        self.button.setChecked(is_open)
        self.form.setVisible(is_open)
        self._label()

    def _label(self) -> None:
        arrow = "▾" if self.button.isChecked() else "▸"
        self.button.setText(f"{self._summary} {arrow}")


def tooltip_of(spec: FieldSpec) -> str:
    """Return what hovering over a field says: help, what it takes, its default."""
    parts = [each for each in (spec.help, spec.idle) if each]
    if spec.kind in {Kind.INTEGER, Kind.NUMBER}:
        parts.append(expectation(spec))
    if not spec.is_required and spec.default is not None and spec.kind is not Kind.GROUP:
        parts.append(f"Default: {write(spec, spec.default) or 'empty'}.")
    return "\n".join(parts)


def _name(widget: QWidget, name: str, spec: FieldSpec) -> None:
    widget.setObjectName(name)
    widget.setAccessibleName(f"{spec.symbol} {spec.label}".strip())
    widget.setAccessibleDescription(spec.help)
    widget.setToolTip(tooltip_of(spec))


def _equal(one: object, other: object) -> bool:
    return one is other or (one is not UNSET and other is not UNSET and same(one, other))
