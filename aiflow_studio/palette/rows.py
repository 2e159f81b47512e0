"""The rows of a list of operators, as Qt reads and paints them.

A row is a heading, an operator, or a plug-in that could not be loaded. Operators can be
dragged out: the drag carries the operator's id as `OPERATOR_MIME`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from aiflow.errors import PluginError
from aiflow_studio.palette.model import Entry, heading_of
from aiflow_studio.ui.drag import OPERATOR_MIME
from aiflow_studio.ui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ROW = Qt.ItemDataRole.UserRole
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Heading:
    """A row that names what follows."""

    text: str


Row = Heading | Entry | PluginError


def grouped(entries: Sequence[Entry], broken: Sequence[PluginError] = ()) -> tuple[Row, ...]:
    """Return entries under headings, and below them what could not be loaded."""
    rows: list[Row] = []
    for category, members in groupby(entries, key=lambda entry: entry.category):
        rows += [Heading(heading_of(category)), *members]
    if broken:
        rows += [Heading("Not loaded"), *broken]
    return tuple(rows)


class RowModel(QAbstractListModel):
    """A list of rows; only operators can be chosen and dragged."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Row, ...] = ()

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self.endResetModel()

    def entry(self, index: _Index) -> Entry | None:
        """Return the operator at an index, None where there is none."""
        row = self._rows[index.row()] if index.isValid() else None
        return row if isinstance(row, Entry) else None

    def first(self) -> QModelIndex:
        """Return the first operator's index; an invalid one where there is none."""
        for at, row in enumerate(self._rows):
            if isinstance(row, Entry):
                return self.index(at)
        return QModelIndex()

    def find(self, operator: str) -> QModelIndex:
        """Return the index of an operator by its id; an invalid one where it is not listed."""
        for at, row in enumerate(self._rows):
            if isinstance(row, Entry) and row.id == operator:
                return self.index(at)
        return QModelIndex()

    def rowCount(self, parent: _Index = _ROOT) -> int:
        """Return how many rows there are."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401 - as Qt declares it
        """Return text, tooltip or the row itself."""
        row = self._rows[index.row()]
        if role == _ROW:
            return row
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return _text(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.details if isinstance(row, Entry) else _text(row)
        return None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Let operators be chosen and dragged, and nothing else."""
        if self.entry(index) is None:
            return Qt.ItemFlag.NoItemFlags
        enabled = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return enabled | Qt.ItemFlag.ItemIsDragEnabled

    def supportedDragActions(self) -> Qt.DropAction:
        """Copy: the palette keeps what is dragged out of it."""
        return Qt.DropAction.CopyAction

    def mimeTypes(self) -> list[str]:
        """Name the one format."""
        return [OPERATOR_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return the id of the operator that is dragged."""
        data = QMimeData()
        for entry in filter(None, map(self.entry, indexes)):
            data.setData(OPERATOR_MIME, entry.id.encode())
        return data


class RowPainter(QStyledItemDelegate):
    """Paints a row: headings small and quiet, operators with the glyph of their type."""

    def __init__(self, theme_of: Callable[[], Theme]) -> None:
        super().__init__()
        self._theme_of = theme_of

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Give headings room above, and a broken plug-in's reason as many lines as it needs."""
        line, row = option.fontMetrics.height(), index.data(_ROW)
        if isinstance(row, PluginError):
            width = max(64, option.widget.width() - 32) if option.widget is not None else 180
            flags = int(Qt.TextFlag.TextWordWrap)
            area = option.fontMetrics.boundingRect(QRect(0, 0, width, 10_000), flags, _text(row))
            return QSize(width, area.height() + line // 2)
        return QSize(64, line * 2 if isinstance(row, Heading) else line + line * 2 // 5)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one row."""
        row, theme = index.data(_ROW), self._theme_of()
        painter.save()
        area = option.rect.adjusted(8, 0, -8, 0)
        if isinstance(row, Heading):
            painter.setFont(_scaled(option.font, 0.85, QFont.Weight.DemiBold))
            painter.setPen(QColor(theme.muted))
            bottom = area.adjusted(0, 0, 0, -option.fontMetrics.height() // 4)
            painter.drawText(bottom, _at(Qt.AlignmentFlag.AlignBottom), row.text.upper())
        elif isinstance(row, PluginError):
            painter.setPen(QColor(theme.muted))
            flags = _at(Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextWordWrap)
            painter.drawText(area.adjusted(8, 0, -8, 0), flags, _text(row))
        else:
            self._paint_entry(painter, option, area, row)
        painter.restore()

    def _paint_entry(
        self, painter: QPainter, option: QStyleOptionViewItem, area: QRect, entry: Entry
    ) -> None:
        theme, state = self._theme_of(), option.state
        is_chosen = bool(state & QStyle.StateFlag.State_Selected)
        if is_chosen or state & QStyle.StateFlag.State_MouseOver:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.tint("accent", 0.25) if is_chosen else theme.raised))
            painter.drawRoundedRect(area, 5, 5)
        mark = theme.type_mark(entry.mark)
        inner = area.adjusted(8, 0, -8, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(option.font)
        painter.setPen(QColor(mark.color))
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignRight | middle), mark.glyph)
        painter.setPen(QColor(theme.text))
        room = inner.adjusted(0, 0, -option.fontMetrics.horizontalAdvance("M") * 2, 0)
        title = option.fontMetrics.elidedText(
            entry.title, Qt.TextElideMode.ElideRight, room.width()
        )
        painter.drawText(room, _at(middle), title)


def _at(vertical: Qt.AlignmentFlag) -> int:
    return int(Qt.AlignmentFlag.AlignLeft | vertical)


def _scaled(font: QFont, share: float, weight: QFont.Weight) -> QFont:
    """Return the font smaller by a share, whichever unit its size is in."""
    scaled = QFont(font)
    if font.pixelSize() > 0:
        scaled.setPixelSize(max(1, round(font.pixelSize() * share)))
    else:
        scaled.setPointSizeF(font.pointSizeF() * share)
    scaled.setWeight(weight)
    return scaled


def _text(row: Row) -> str:
    if isinstance(row, Entry):
        return row.title
    return row.text if isinstance(row, Heading) else str(row)
