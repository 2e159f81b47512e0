"""The table of findings: one row a diagnostic, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow_studio.ui.look import plain_tip
from aiflow_studio.ui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.HINT)
_GLYPHS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.HINT: "○"}


class Column(IntEnum):
    """The columns, in order."""

    SEVERITY = 0
    CODE = 1
    WHERE = 2
    MESSAGE = 3
    HINT = 4
    FIX = 5


_TITLES = {
    Column.SEVERITY: "Severity",
    Column.CODE: "Code",
    Column.WHERE: "Where",
    Column.MESSAGE: "What is wrong",
    Column.HINT: "What to do",
    Column.FIX: "",
}


class ProblemModel(QAbstractTableModel):
    """Diagnostics as a table."""

    def __init__(self, theme_of: Callable[[], Theme]) -> None:
        super().__init__()
        self._theme_of = theme_of
        self._rows: tuple[Diagnostic, ...] = ()

    @property
    def rows(self) -> tuple[Diagnostic, ...]:
        """The diagnostics in the order of the table."""
        return self._rows

    def show_findings(self, findings: Sequence[Diagnostic]) -> bool:
        """Show these, errors first; False where they are shown already."""
        rows = tuple(sorted(findings, key=lambda each: _ORDER.index(each.severity)))
        if [each.to_dict() for each in rows] == [each.to_dict() for each in self._rows]:
            # The same findings of a newer graph: their fixes are newer too.
            self._rows = rows
            return False
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()
        return True

    def rowCount(self, parent: _Index = _ROOT) -> int:
        """Return the number of diagnostics."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:  # noqa: ANN401 - as Qt declares it
        """Return the titles of the columns."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[Column(section)]
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401 - as Qt declares it
        """Return a cell's text, colour or tooltip."""
        finding = self._rows[index.row()]
        column = Column(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return _cell(finding, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(as_text(finding))
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(self._color(finding, column))
        return None

    def _color(self, finding: Diagnostic, column: Column) -> str:
        theme = self._theme_of()
        if column is Column.SEVERITY:
            by_severity = {Severity.ERROR: theme.error, Severity.WARNING: theme.warning}
            return by_severity.get(finding.severity, theme.muted)
        return theme.text if column in {Column.MESSAGE, Column.WHERE} else theme.muted


def place_of(finding: Diagnostic) -> str:
    """Return where it is: `node`, `node, field`, or the edge; "graph" where it is everywhere."""
    parts = [part for part in (finding.edge or finding.node, finding.field) if part]
    return ", ".join(parts) or "graph"


def as_text(finding: Diagnostic) -> str:
    """Return a finding as one paragraph, to be copied."""
    head = f"{finding.severity.value} {finding.code} at {place_of(finding)}: {finding.message}"
    return f"{head}; {finding.hint}" if finding.hint else head


def _cell(finding: Diagnostic, column: Column) -> str:
    texts = {
        Column.SEVERITY: f"{_GLYPHS[finding.severity]} {finding.severity.value}",
        Column.CODE: finding.code,
        Column.WHERE: place_of(finding),
        Column.MESSAGE: finding.message,
        Column.HINT: finding.hint,
        Column.FIX: "",
    }
    return texts[column]
