"""The dialog that takes a key: it is typed unseen, and leaves by one attribute only."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from aiflow_studio.ui.dialogs import ask


class KeyWish(StrEnum):
    """What a person wants to happen to a key."""

    STORE = "store"
    REMOVE = "remove"
    CANCEL = "cancel"


class KeyDialog(QDialog):
    """Asks for one key.

    Args:
        name: what the graph calls it.
        is_in_environment: a variable of that name is set, which comes first.

    Attributes:
        wish: what the person chose; CANCEL until then.
    """

    def __init__(self, name: str, *, is_in_environment: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("key-dialog")
        self.setWindowTitle(f"Key {name}")
        self.wish = KeyWish.CANCEL
        self._entry = QLineEdit()
        self._entry.setObjectName("key")
        self._entry.setAccessibleName(f"Key {name}")
        self._entry.setEchoMode(QLineEdit.EchoMode.Password)
        self._entry.setMinimumWidth(32 * self.fontMetrics().averageCharWidth())
        self._entry.textChanged.connect(self._on_typed)
        text = f"Kept in this system's keyring as {name}. The graph holds its name only."
        if is_in_environment:
            text += f"\nThe environment variable {name} is set; it comes first."
        label = QLabel(text)
        # A name may look like markup; it is shown as it is.
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setBuddy(self._entry)
        buttons = QDialogButtonBox()
        self._store = buttons.addButton("Store", QDialogButtonBox.ButtonRole.AcceptRole)
        self._store.setObjectName("store-key")
        remove = buttons.addButton("Remove", QDialogButtonBox.ButtonRole.DestructiveRole)
        remove.setObjectName("remove-key")
        remove.setAutoDefault(False)
        remove.setToolTip(f"Take the key {name} out of the keyring")
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._store.clicked.connect(lambda: self._choose(KeyWish.STORE))
        remove.clicked.connect(lambda: self._choose(KeyWish.REMOVE))
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(label)
        column.addWidget(self._entry)
        column.addWidget(buttons)
        self._on_typed()

    def take_secret(self) -> str:
        """Return what was typed, and forget it."""
        secret = self._entry.text().strip()
        self._entry.clear()
        return secret

    def _on_typed(self) -> None:
        self._store.setEnabled(bool(self._entry.text().strip()))

    def _choose(self, wish: KeyWish) -> None:
        self.wish = wish
        self.accept()


async def ask_for_key(
    parent: QWidget, name: str, *, is_in_environment: bool
) -> tuple[KeyWish, str]:
    """Ask for a key; return what is to happen, and the key where it is to be stored."""
    dialog = KeyDialog(name, is_in_environment=is_in_environment, parent=parent)
    await ask(dialog)
    secret = dialog.take_secret()
    return dialog.wish, secret if dialog.wish is KeyWish.STORE else ""
