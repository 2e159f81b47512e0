"""Which widget serves which kind of field: `EDITORS[kind]`.

An editor speaks entries (texts) only: what an entry means is `entries`' question, what
happens to it `form`'s. Free text stays free: nothing is clamped, so that a wrong entry can be
shown red and mended. The wheel never changes a field that has no focus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from aiflow_studio.inspector.entries import write
from aiflow_studio.inspector.fields import FieldSpec, Kind

#: Where relative paths start, asked for when a file is chosen; None while nothing is saved.
BaseOf = Callable[[], Path | None]

# A menu or a drop-down takes the focus for a moment only; the person is still in the field.
_PASSING = frozenset({Qt.FocusReason.PopupFocusReason, Qt.FocusReason.MenuBarFocusReason})

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_FEWEST_LINES, _MOST_LINES = 2, 8
# A text is a little higher than its lines.
_SLACK_PX = 4


class Editor(QObject):
    """One editor: the widget to lay out, the widget that takes the entry, and its signals.

    Attributes:
        input: takes the keys; carries the object name.
        widget: what stands in the form; mostly the same widget.
        is_wide: wants the full width of the form, below its label.
        is_touched: the person has changed it since it got the focus.
        can_be_abandoned: Esc has something to undo here.

    Signals:
        edited(entry): the person changed the entry.
        finished(): the person is done with it: Enter, or the focus has left.
        abandoned(): Esc: the entry of before is wanted back.
    """

    edited = Signal(str)
    finished = Signal()
    abandoned = Signal()

    is_wide = False

    def __init__(self, spec: FieldSpec, input_: QWidget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.input = input_
        self.widget = input_
        self.is_touched = False
        self.can_be_abandoned = False
        # The dock's width is the same for all; a field makes do with what is left.
        input_.setMinimumWidth(1)
        input_.installEventFilter(self)

    def entry(self) -> str:
        """Return what stands in the widget."""
        raise NotImplementedError

    def show_entry(self, entry: str) -> None:
        """Put a text into the widget, as if nobody had touched it."""
        raise NotImplementedError

    def has_focus(self) -> bool:
        """Say whether the person is in this field."""
        return self.input.hasFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell Esc, the end of a visit, and a wheel that was meant for the form."""
        kind = event.type()
        if kind == QEvent.Type.Wheel and not self.input.hasFocus():
            event.ignore()
            return True
        if (
            isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self._is_escapable()
        ):
            if kind == QEvent.Type.KeyPress:
                self.abandoned.emit()
            event.accept()
            return kind in {QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride}
        if kind == QEvent.Type.FocusOut and isinstance(event, QFocusEvent):
            self._on_focus_out(event.reason())
        return super().eventFilter(watched, event)

    def _on_focus_out(self, reason: Qt.FocusReason) -> None:
        if reason not in _PASSING:
            self._finish()

    def _is_escapable(self) -> bool:
        return self.is_touched or self.can_be_abandoned

    def _touch(self, entry: str) -> None:
        self.is_touched = True
        self.edited.emit(entry)

    def _finish(self) -> None:
        self.finished.emit()
        self.is_touched = False


class LineEditor(Editor):
    """A line of free text."""

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        self._line = QLineEdit()
        super().__init__(spec, self._line)
        self._line.setPlaceholderText(_placeholder(spec))
        self._line.textEdited.connect(self._touch)
        self._line.returnPressed.connect(self._on_return)

    def entry(self) -> str:
        """Return the text in it."""
        return self._line.text()

    def show_entry(self, entry: str) -> None:
        """Put a text into it."""
        if self._line.text() != entry:
            self._line.setText(entry)
            self._line.setCursorPosition(0)
        self.is_touched = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave Undo and Redo to the document once the line has nothing of its own to undo."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            undoes = (
                event.matches(QKeySequence.StandardKey.Undo) and not self._line.isUndoAvailable()
            )
            redoes = (
                event.matches(QKeySequence.StandardKey.Redo) and not self._line.isRedoAvailable()
            )
            if undoes or redoes:
                event.ignore()
                return True
        return super().eventFilter(watched, event)

    def _on_return(self) -> None:
        self._finish()
        self._line.selectAll()


class TextEditor(Editor):
    """Several lines of free text; grows with them.

    Attributes:
        text: the widget.
    """

    is_wide = True

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        self.text = QPlainTextEdit()
        super().__init__(spec, self.text)
        self.text.setPlaceholderText(_placeholder(spec))
        self.text.setTabChangesFocus(True)
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        if spec.kind in {Kind.CODE, Kind.JSON, Kind.LINES}:
            self.text.setProperty("role", "code")
        self.text.textChanged.connect(self._on_changed)
        # The wheel reaches a scroll area by its viewport.
        self.text.viewport().installEventFilter(self)
        self._fit()

    def entry(self) -> str:
        """Return the text in it."""
        return self.text.toPlainText()

    def show_entry(self, entry: str) -> None:
        """Put a text into it."""
        if self.text.toPlainText() != entry:
            with QSignalBlocker(self.text):
                self.text.setPlainText(entry)
            self._fit()
        self.is_touched = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow font and width, and leave Undo to the document as a line does."""
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.Resize}:
            # Not now: a layout forgets a change of size that is made while it lays out.
            QTimer.singleShot(0, self, self._fit)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            document = self.text.document()
            undoes = event.matches(QKeySequence.StandardKey.Undo) and not document.isUndoAvailable()
            redoes = event.matches(QKeySequence.StandardKey.Redo) and not document.isRedoAvailable()
            if undoes or redoes:
                event.ignore()
                return True
        return super().eventFilter(watched, event)

    def _on_changed(self) -> None:
        self._fit()
        self._touch(self.text.toPlainText())

    def _fit(self) -> None:
        """Be as high as the text, within limits; lines count as they are wrapped."""
        layout = self.text.document().documentLayout()
        # A plain text's layout measures in lines.
        shown = min(_MOST_LINES, max(_FEWEST_LINES, round(layout.documentSize().height())))
        # Under a stylesheet the frame's width has border and padding in it.
        margins = 2 * (self.text.frameWidth() + int(self.text.document().documentMargin()))
        height = shown * self.text.fontMetrics().lineSpacing() + margins + _SLACK_PX
        if height != self.text.height():
            self.text.setFixedHeight(height)


class ChoiceBox(QComboBox):
    """A drop-down that may be narrower than its longest item and ignores a passing wheel."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumWidth(1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def show_choices(self, choices: Sequence[tuple[str, object]], chosen: object) -> None:
        """Show (text, value) pairs and choose a value, as if nobody had touched it."""
        with QSignalBlocker(self):
            if [(self.itemText(at), self.itemData(at)) for at in range(self.count())] != [*choices]:
                self.clear()
                for text, value in choices:
                    self.addItem(text, value)
            values = [value for _, value in choices]
            self.setCurrentIndex(values.index(chosen) if chosen in values else -1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw an arrow that has the size and the colour of the text."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        room = self.rect().adjusted(0, 0, -self.fontMetrics().averageCharWidth(), 0)
        painter.drawText(room, int(_RIGHT), "▾")
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the form unless the person is in this field."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class ChoiceEditor(Editor):
    """One of a few values, from a drop-down."""

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        self._combo = ChoiceBox()
        super().__init__(spec, self._combo)
        self._choices: list[tuple[str, object]] = [(_placeholder(spec), "")] * spec.is_optional
        for choice in spec.choices:
            entry = write(spec, choice)
            self._choices.append((entry.replace("_", " "), entry))
        self._combo.activated.connect(self._on_activated)

    def entry(self) -> str:
        """Return the text in it."""
        return str(self._combo.currentData() or "")

    def show_entry(self, entry: str) -> None:
        """Put a text into it; one that is none of the choices is shown too."""
        is_known = any(value == entry for _, value in self._choices)
        odd: list[tuple[str, object]] = [] if is_known else [(entry, entry)]
        self._combo.show_choices([*self._choices, *odd], entry)
        self.is_touched = False

    def _on_activated(self) -> None:
        self._touch(self.entry())


class SwitchEditor(Editor):
    """Yes or no."""

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        self._box = QCheckBox()
        super().__init__(spec, self._box)
        self._raw = ""
        self._box.clicked.connect(self._on_clicked)

    def entry(self) -> str:
        """Return the text in it."""
        return self._raw

    def show_entry(self, entry: str) -> None:
        """Put a text into it."""
        self._raw = entry
        with QSignalBlocker(self._box):
            self._box.setChecked(entry == "true")
            self._box.setText("" if entry in {"true", "false"} else entry)
        self.is_touched = False

    def _on_clicked(self) -> None:
        self._raw = "true" if self._box.isChecked() else "false"
        self._box.setText("")
        self._touch(self._raw)


class SuggestEditor(Editor):
    """A line of free text with a drop-down of likely ones."""

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        self._combo = ChoiceBox()
        super().__init__(spec, self._combo)
        self._combo.setEditable(True)
        self._combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        for choice in spec.choices:
            self._combo.addItem(write(spec, choice))
        self._line = line = QLineEdit()
        self._combo.setLineEdit(line)
        # It would put letters into the line that nobody has typed.
        line.setCompleter(None)  # type: ignore[arg-type]
        line.setPlaceholderText(_placeholder(spec))
        line.textEdited.connect(self._touch)
        line.returnPressed.connect(self._finish)
        self._combo.activated.connect(self._on_activated)

    def entry(self) -> str:
        """Return the text in it."""
        return self._combo.currentText()

    def show_entry(self, entry: str) -> None:
        """Put a text into it."""
        if self._combo.currentText() != entry:
            with QSignalBlocker(self._combo), QSignalBlocker(self._line):
                self._combo.setCurrentIndex(self._combo.findText(entry))
                self._combo.setEditText(entry)
        self.is_touched = False

    def _on_activated(self) -> None:
        self._touch(self._combo.currentText())


class PathEditor(LineEditor):
    """The path of a file, typed or chosen."""

    is_wide = True

    def __init__(self, spec: FieldSpec, base_of: BaseOf) -> None:
        super().__init__(spec, base_of)
        self._base_of = base_of
        self.widget = QWidget()
        row = QHBoxLayout(self.widget)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._line, 1)
        button = QToolButton()
        button.setText("…")
        button.setToolTip("Choose a file")
        button.setAccessibleName(f"Choose a file for {spec.label}")
        button.clicked.connect(self._choose)
        row.addWidget(button)

    def _choose(self) -> None:
        base = self._base_of()
        dialog = QFileDialog(self.widget.window(), self.spec.label, str(base or ""))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.spec.kind is Kind.SAVE_PATH:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, chosen: str) -> None:
        path, base = Path(chosen), self._base_of()
        inside = base is not None and path.is_relative_to(base)
        entry = path.relative_to(base).as_posix() if base is not None and inside else str(path)
        self.show_entry(entry)
        self._touch(entry)
        self._finish()


EDITORS: dict[Kind, Callable[[FieldSpec, BaseOf], Editor]] = {
    Kind.TEXT: LineEditor,
    Kind.INTEGER: LineEditor,
    Kind.NUMBER: LineEditor,
    Kind.SECRET_NAME: LineEditor,
    Kind.MULTILINE: TextEditor,
    Kind.CODE: TextEditor,
    Kind.LINES: TextEditor,
    Kind.JSON: TextEditor,
    Kind.SWITCH: SwitchEditor,
    Kind.CHOICE: ChoiceEditor,
    Kind.SUGGEST: SuggestEditor,
    Kind.PATH: PathEditor,
    Kind.SAVE_PATH: PathEditor,
}


def _placeholder(spec: FieldSpec) -> str:
    if spec.kind is Kind.SECRET_NAME:
        return "NAME_OF_VARIABLE"
    return spec.empty if spec.is_optional else ""
