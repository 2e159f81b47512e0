"""The output panel: one column of running text for each sink that shows something.

Text comes as the sinks wrote it, tokens joined, a head before each conversation. A column is
bounded, follows its end, and stops following while somebody reads further up.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from aiflow.engine.outputs import OutputLine
from aiflow_studio.ui.elided import ElidedLabel
from aiflow_studio.ui.theme import Theme

#: Characters a column keeps; once they are exceeded, a quarter is let go at a time.
MOST_CHARACTERS = 200_000
#: Lines a column keeps.
MOST_LINES = 5_000
#: Columns side by side at most; a graph with more text sinks than that is rare.
MOST_COLUMNS = 8


class OutputPanel(QWidget):
    """What the sinks of a run have shown."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("output")
        self._theme = theme
        self._columns: dict[str, Column] = {}
        self._seen = 0
        self._missed = 0
        self._hint = QLabel("What the sinks show appears here, as it comes, once the graph runs.")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setWordWrap(True)
        self._hint.setProperty("tone", "muted")
        self._note = QLabel()
        self._note.setProperty("tone", "muted")
        self._note.setVisible(False)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        filled = QWidget()
        column = QVBoxLayout(filled)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        # Eight columns side by side need room that a small window does not have.
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._splitter)
        column.addWidget(scroll, 1)
        column.addWidget(self._note)
        self._filled = filled
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self._hint)
        self._pages.addWidget(filled)

    @property
    def columns(self) -> dict[str, Column]:
        """Sink -> its column, in the order in which they first showed something."""
        return dict(self._columns)

    def clear(self) -> None:
        """Forget the text of the last run."""
        for column in self._columns.values():
            column.setParent(None)
            column.deleteLater()
        self._columns.clear()
        self._seen = self._missed = 0
        self._note.setVisible(False)
        self._pages.setCurrentWidget(self._hint)

    def append(self, lines: Sequence[OutputLine]) -> None:
        """Take what sinks have shown since the last call, oldest first."""
        if lines:
            self._count_gap(lines[0].number, lines[-1].number)
        # One insertion for all that a sink showed in one conversation: tokens come by the hundred.
        pieces: dict[tuple[str, str], list[str]] = {}
        for line in lines:
            pieces.setdefault((line.node, line.conversation), []).append(line.text)
        for (node, conversation), texts in pieces.items():
            column = self._column(node)
            if column is not None:
                column.append(conversation, "".join(texts))

    def set_theme(self, theme: Theme) -> None:
        """Write what comes in the theme's colours."""
        self._theme = theme
        for column in self._columns.values():
            column.set_theme(theme)

    def _count_gap(self, first: int, last: int) -> None:
        missed, self._seen = first - self._seen - 1, last
        if missed > 0:
            self._missed += missed
            self._note.setText(f"{self._missed:,} pieces came faster than they could be shown")
            self._note.setVisible(True)

    def _column(self, node: str) -> Column | None:
        column = self._columns.get(node)
        if column is None and len(self._columns) < MOST_COLUMNS:
            column = Column(node, self._theme)
            self._columns[node] = column
            self._splitter.addWidget(column)
            self._splitter.setSizes([1000] * len(self._columns))
            self._pages.setCurrentWidget(self._filled)
        return column


class Column(QWidget):
    """The text of one sink.

    Args:
        node: id of the sink, shown above its text.
    """

    def __init__(self, node: str, theme: Theme) -> None:
        super().__init__()
        self.setObjectName(f"output-{node}")
        self._theme = theme
        self._conversation = ""
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setMaximumBlockCount(MOST_LINES)
        self.text.setAccessibleName(f"Output of {node}")
        self.follow = QPushButton("Follow")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.setToolTip("Keep the newest text in sight")
        title = ElidedLabel(node)
        title.setProperty("role", "heading")
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 8, 4)
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(self.follow)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self.text, 1)
        self._is_writing = False
        self.text.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.follow.clicked.connect(self._follow_end)

    def append(self, conversation: str, text: str) -> None:
        """Put text behind what is there, under its conversation's head."""
        self._is_writing = True
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if conversation != self._conversation:
            self._conversation = conversation
            self._write_head(cursor, conversation)
        cursor.insertText(text, self._format(self._theme.text))
        self._trim()
        self._is_writing = False
        self._follow_end()

    def set_theme(self, theme: Theme) -> None:
        """Write what comes next in the theme's colours, and repaint what is there."""
        self._theme = theme
        cursor = QTextCursor(self.text.document())
        cursor.select(QTextCursor.SelectionType.Document)
        recolored = QTextCharFormat()
        recolored.setForeground(QColor(theme.text))
        cursor.mergeCharFormat(recolored)

    def _write_head(self, cursor: QTextCursor, conversation: str) -> None:
        if not cursor.atBlockStart():
            cursor.insertText("\n")
        head = self._format(self._theme.muted)
        head.setFontWeight(QFont.Weight.DemiBold)
        cursor.insertText(f"conversation {conversation}\n", head)

    def _format(self, color: str) -> QTextCharFormat:
        text = QTextCharFormat()
        text.setForeground(QColor(color))
        return text

    def _trim(self) -> None:
        over = self.text.document().characterCount() - MOST_CHARACTERS
        if over > 0:
            cursor = QTextCursor(self.text.document())
            cursor.setPosition(over + MOST_CHARACTERS // 4, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()

    def _scrolled(self, value: int) -> None:
        """Stop following when somebody scrolls up; follow again at the end."""
        if not self._is_writing:
            self.follow.setChecked(value >= self.text.verticalScrollBar().maximum())

    def _follow_end(self) -> None:
        if self.follow.isChecked():
            bar = self.text.verticalScrollBar()
            bar.setValue(bar.maximum())
