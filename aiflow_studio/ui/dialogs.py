"""Dialogs without a nested event loop: `await ask(dialog)` is the only way to show one.

`dialog.exec()` would spin a second Qt loop inside a callback and hang every task of the run.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

#: What the studio's own files are called in a file dialog.
GRAPH_FILTER = "Graphs (*.aiflow.json);;JSON (*.json);;All files (*)"
_LETTERS_WIDE = 56
#: Appended to a name that was typed without any ending.
GRAPH_SUFFIX = ".aiflow.json"


class Answer(StrEnum):
    """What a person wants to happen to unsaved changes."""

    SAVE = "save"
    DISCARD = "discard"
    CANCEL = "cancel"


class Restore(StrEnum):
    """What a person wants to happen to work that a crash left behind."""

    RESTORE = "restore"
    DISCARD = "discard"
    LATER = "later"


async def ask(dialog: QDialog) -> int:
    """Show a dialog and return its result code; cancelling the task rejects it.

    The dialog is deleted afterwards; read from it before the next `await`.
    """
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def settle(code: int) -> None:
        if not answer.done():
            answer.set_result(code)

    dialog.finished.connect(settle)
    dialog.open()
    try:
        return await answer
    finally:
        dialog.finished.disconnect(settle)
        dialog.close()
        dialog.deleteLater()


async def ask_to_save(parent: QWidget, name: str) -> Answer:
    """Ask what becomes of unsaved changes; Esc and the close button mean Cancel."""
    box = QMessageBox(parent)
    box.setObjectName("ask-to-save")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Unsaved changes")
    # A file may be called what looks like markup; it is shown as it is.
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(f"Save the changes to {name}?")
    box.setInformativeText("Without saving they are lost.")
    buttons = QMessageBox.StandardButton
    box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
    box.setDefaultButton(buttons.Save)
    box.setEscapeButton(buttons.Cancel)
    code = await ask(box)
    if code == buttons.Save.value:
        return Answer.SAVE
    return Answer.DISCARD if code == buttons.Discard.value else Answer.CANCEL


async def ask_to_restore(parent: QWidget, question: str, note: str) -> Restore:
    """Ask what becomes of work that was left behind; Esc and the close button leave it there."""
    box = QMessageBox(parent)
    box.setObjectName("ask-to-restore")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Unsaved changes")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question)
    box.setInformativeText(note)
    roles = QMessageBox.ButtonRole
    answers = {
        box.addButton("Restore", roles.AcceptRole): Restore.RESTORE,
        box.addButton("Discard", roles.DestructiveRole): Restore.DISCARD,
        (later := box.addButton("Ask me later", roles.RejectRole)): Restore.LATER,
    }
    box.setDefaultButton(next(iter(answers)))
    box.setEscapeButton(later)
    clicked: list[Restore] = []
    box.buttonClicked.connect(lambda button: clicked.append(answers[button]))
    await ask(box)
    return clicked[0] if clicked else Restore.LATER


async def ask_yes_no(parent: QWidget, title: str, question: str, yes: str) -> bool:
    """Ask a question whose cautious answer, and that of Esc, is Cancel; `yes` is an imperative."""
    box = QMessageBox(parent)
    box.setObjectName("ask-yes-no")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question)
    go_on = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    clicked: list[bool] = []
    box.buttonClicked.connect(lambda button: clicked.append(button is go_on))
    await ask(box)
    return clicked == [True]


async def ask_where_to_attach(parent: QWidget) -> tuple[str, str] | None:
    """Ask for a run's address and its token, "" for the usual one; None where nobody wants it."""
    dialog = QDialog(parent)
    dialog.setObjectName("ask-where-to-attach")
    dialog.setWindowTitle("Attach to a run")
    address, token = QLineEdit(), QLineEdit()
    address.setObjectName("attach.address")
    address.setPlaceholderText("127.0.0.1:8701")
    token.setObjectName("attach.token")
    token.setEchoMode(QLineEdit.EchoMode.Password)
    token.setPlaceholderText("found by itself for a run of yours")
    note = QLabel(
        "A run that was started with aiflow run --serve tells its address and its token when it"
        " begins. Leaving it here does not end it."
    )
    note.setWordWrap(True)
    note.setProperty("tone", "muted")
    form = QFormLayout()
    form.addRow("Address", address)
    form.addRow("Token", token)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    attach = buttons.addButton("Attach", QDialogButtonBox.ButtonRole.AcceptRole)
    attach.setEnabled(False)
    attach.setDefault(True)
    address.textChanged.connect(lambda text: attach.setEnabled(bool(text.strip())))
    buttons.accepted.connect(dialog.accept)
    buttons.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog)
    column.addWidget(note)
    column.addLayout(form)
    column.addWidget(buttons)
    dialog.setMinimumWidth(_LETTERS_WIDE * dialog.fontMetrics().averageCharWidth())
    if await ask(dialog) != QDialog.DialogCode.Accepted:
        return None
    return address.text().strip(), token.text()


async def ask_for_file(parent: QWidget, title: str, folder: str) -> Path | None:
    """Ask for a graph file to read; None where the person thought better of it."""
    dialog = QFileDialog(parent, title, folder, GRAPH_FILTER)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def ask_where_to_save(parent: QWidget, title: str, suggestion: Path) -> Path | None:
    """Ask for a file to write; the dialog asks before an existing one is replaced."""
    dialog = QFileDialog(parent, title, str(suggestion.parent), GRAPH_FILTER)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setDefaultSuffix(GRAPH_SUFFIX.removeprefix("."))
    dialog.selectFile(suggestion.name)
    return await _chosen(dialog)


async def ask_for_folder(parent: QWidget, title: str, folder: str) -> Path | None:
    """Ask for a folder to write into; None where the person thought better of it."""
    dialog = QFileDialog(parent, title, folder)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    return await _chosen(dialog)


def tell(parent: QWidget, title: str, sentence: str, details: str = "") -> QMessageBox:
    """Show a sentence beside the work, without stopping it; return the open box.

    What is told already is brought to the front instead of being told twice.
    """
    for told in parent.findChildren(QMessageBox, "tell"):
        if told.isVisible() and (told.windowTitle(), told.text()) == (title, sentence):
            told.raise_()
            return told
    box = QMessageBox(parent)
    box.setObjectName("tell")
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(title)
    # An error text may hold what looks like markup; it is shown as it is.
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(sentence)
    if details:
        box.setDetailedText(details)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowModality(Qt.WindowModality.NonModal)
    box.show()
    return box


async def _chosen(dialog: QFileDialog) -> Path | None:
    chosen: list[str] = []
    dialog.fileSelected.connect(chosen.append)
    await ask(dialog)
    return Path(chosen[0]) if chosen and chosen[0] else None
