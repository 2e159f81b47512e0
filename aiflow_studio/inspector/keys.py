"""The keys that a resource names: a button for each, which asks for the key itself.

A graph holds names only. What is typed goes to the system's keyring, by whoever hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from aiflow.compiler.values import made
from aiflow.resources import Resource


def key_names(
    described: type[Resource[Any]], id: str, params: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the names of the keys that a resource asks for; () where its params are wrong."""
    names, _ = made(
        lambda: described(id, described.Params.model_validate(dict(params))).credentials()
    )
    return names or ()


class KeyButtons(QWidget):
    """One button per key.

    Args:
        prefix: begins the object name of each, followed by its key's name.
        wants_key: called with a key's name when a person wants to store it.
    """

    def __init__(self, prefix: str, wants_key: Callable[[str], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._prefix = prefix
        self._wants_key = wants_key
        self._names: tuple[str, ...] = ()
        self._buttons: list[QPushButton] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.setVisible(False)

    def show_names(self, names: tuple[str, ...]) -> None:
        """Offer these keys."""
        if names != self._names:
            self._names = names
            for button in self._buttons:
                # It may be the sender of what brought us here, so it goes a little later.
                button.hide()
                button.setObjectName("")
                button.deleteLater()
            self._buttons = [self._button(name) for name in names]
        self.setVisible(bool(names))

    def _button(self, name: str) -> QPushButton:
        button = QPushButton(f"Key {name}…", self)
        button.setObjectName(f"{self._prefix}.{name}")
        button.setAccessibleName(f"Store the key {name}")
        button.setToolTip(
            f"Store the key {name} in this system's keyring. The graph holds its name only."
        )
        button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        button.setMinimumWidth(1)
        button.clicked.connect(lambda: self._wants_key(name))
        self._column.addWidget(button)
        return button
