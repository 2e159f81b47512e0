"""One field of a form: what the document holds, what stands in the editor, what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from aiflow.graph.values import UNSET
from aiflow_studio.inspector.editors import Editor
from aiflow_studio.inspector.entries import write
from aiflow_studio.inspector.fields import FieldSpec


@dataclass(frozen=True, slots=True)
class Draft:
    """A red entry, kept while another node is shown.

    Attributes:
        entry: the text as typed.
        value: what the document held for the field then.
    """

    entry: str
    value: Any


class Row:
    """One field of a form: its editor, what the document holds, and what is wrong with it.

    Attributes:
        value: what the document holds, UNSET where nothing is given.
        draft: the refused entry, None where the editor shows the document's value.
        start: `value` when the person came to the field; Esc goes back to it.
    """

    def __init__(self, spec: FieldSpec, editor: Editor, reason: QLabel) -> None:
        self.spec = spec
        self.editor = editor
        self.value: Any = UNSET
        self.start: Any = UNSET
        self.draft: str | None = None
        self._reason = reason

    def show_value(self) -> None:
        """Show what the document holds."""
        shown = self.spec.default if self.value is UNSET else self.value
        self.draft = None
        self.editor.show_entry(write(self.spec, shown))

    def mark(self, reason: str) -> None:
        """Show why the entry is wrong; "" shows that it is right."""
        self._reason.setText(reason)
        self._reason.setVisible(bool(reason))
        self.editor.can_be_abandoned = self.draft is not None
        is_given = self.value is not UNSET or self.draft is not None
        # Not while a person types: on the way to another figure may stand the default.
        self.editor.widget.setEnabled(not self.spec.idle or is_given or self.editor.has_focus())
        field = self.editor.input
        field.setAccessibleDescription(reason or self.spec.help)
        _set_property(field, "invalid", bool(reason))
        _set_property(field, "isDefault", self.value is UNSET and self.draft is None)


def _set_property(widget: QWidget, name: str, value: bool) -> None:
    if widget.property(name) is not value:
        widget.setProperty(name, value)
        # Before it is shown for the first time the style has not looked yet.
        if widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            widget.style().unpolish(widget)
            widget.style().polish(widget)
