"""Storing a key in the studio: from the inspector's button to the keyring, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import keyring.backends.fail
import pytest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from aiflow.graph import codec, edits
from aiflow_studio.app.studio import Studio
from aiflow_studio.ui.key_dialog import KeyDialog
from tests.keyrings import MemoryKeyring, memory_keyring, using

__all__ = ["memory_keyring"]

NAME = "POND_KEY"
KEY = "pond-secret-0123456789"


@pytest.fixture(autouse=True)
def _not_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)


@pytest.fixture
def asking(studio: Studio) -> Studio:
    """Return a studio whose selected node asks a provider with a key."""
    graph = edits.add_node(studio.document.graph, "chat", id="model")
    graph = edits.add_resource(
        graph, "provider", id="pond", params={"endpoint": "http://h", "credential": NAME}
    )
    studio.document.replace(edits.set_resource(graph, "model", "provider", "pond"), "x")
    studio.selection.set(frozenset({"model"}))
    studio.linter.check_now()
    return studio


def find(parent: QWidget, name: str) -> QWidget:
    """Return the child of that name."""
    found = parent.findChild(QWidget, name)
    assert found is not None, f"there is no {name}"
    return found


def click(parent: QWidget, name: str) -> None:
    """Click a button."""
    button = find(parent, name)
    assert isinstance(button, QPushButton)
    button.click()


def open_dialog(studio: Studio, qtbot: QtBot) -> KeyDialog:
    """Click the inspector's button and return the dialog that it opens."""
    click(studio.inspector, f"resources.provider.key.{NAME}")
    qtbot.waitUntil(lambda: studio.window.findChild(KeyDialog) is not None)
    dialog = studio.window.findChild(KeyDialog)
    assert isinstance(dialog, KeyDialog)
    return dialog


def type_key(dialog: KeyDialog, text: str) -> QLineEdit:
    """Type a key."""
    entry = find(dialog, "key")
    assert isinstance(entry, QLineEdit)
    entry.setText(text)
    return entry


def codes(studio: Studio) -> list[str]:
    """Return the codes of what the compiler finds about the key."""
    return [each.code for each in studio.linter.check_now().diagnostics if each.code == "AF505"]


def test_a_key_goes_from_the_window_into_the_keyring(
    asking: Studio,
    qtbot: QtBot,
    memory_keyring: MemoryKeyring,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Typed unseen, it is in no file, no picture, no undo step and no log; the hint goes."""
    caplog.set_level(logging.DEBUG)
    asking.linter.check_anew()
    before = codes(asking)
    steps = asking.document.undo_stack.count()
    dialog = open_dialog(asking, qtbot)

    entry = type_key(dialog, f" {KEY}\n")
    shown = entry.displayText()
    click(dialog, "store-key")
    qtbot.waitUntil(lambda: len(asking.errands) == 0)

    assert memory_keyring.kept == {("aiflow", NAME): KEY}
    # What a picture of the window would show.
    assert KEY not in shown
    assert asking.bar.said == f"the key {NAME} is in the keyring"
    assert (before, codes(asking)) == (["AF505"], [])
    assert asking.document.undo_stack.count() == steps
    codec.save(tmp_path / "saved.aiflow.json", asking.document.graph)
    assert KEY not in caplog.text
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_key_can_be_taken_back(
    asking: Studio, qtbot: QtBot, memory_keyring: MemoryKeyring
) -> None:
    """Out of the keyring; then the compiler misses it again."""
    memory_keyring.set_password("aiflow", NAME, KEY)
    asking.linter.check_anew()
    assert codes(asking) == []

    click(open_dialog(asking, qtbot), "remove-key")
    qtbot.waitUntil(lambda: len(asking.errands) == 0)

    assert memory_keyring.kept == {}
    assert codes(asking) == ["AF505"]


def test_thinking_better_of_it_changes_nothing(
    asking: Studio, qtbot: QtBot, memory_keyring: MemoryKeyring
) -> None:
    """And nothing can be stored where nothing was typed."""
    dialog = open_dialog(asking, qtbot)
    assert not find(dialog, "store-key").isEnabled()
    type_key(dialog, " ")
    assert not find(dialog, "store-key").isEnabled()
    type_key(dialog, KEY)
    assert find(dialog, "store-key").isEnabled()

    dialog.reject()
    qtbot.waitUntil(lambda: len(asking.errands) == 0)

    assert memory_keyring.kept == {}


@pytest.fixture
def no_keyring() -> Iterator[None]:
    """Be on a machine without one, such as a server."""
    yield from using(keyring.backends.fail.Keyring())


@pytest.mark.usefixtures("no_keyring")
def test_a_machine_without_a_keyring_is_told_in_a_sentence(asking: Studio, qtbot: QtBot) -> None:
    """What is missing, and what serves in its stead."""
    dialog = open_dialog(asking, qtbot)
    type_key(dialog, KEY)
    click(dialog, "store-key")
    qtbot.waitUntil(lambda: asking.window.findChild(QMessageBox, "tell") is not None)
    box = asking.window.findChild(QMessageBox, "tell")
    assert isinstance(box, QMessageBox)

    assert box.text() == (
        f"The key {NAME} was not stored: this machine has no keyring. The environment variable"
        f" {NAME} serves too, set before the studio starts."
    )
    box.close()
    QApplication.processEvents()


def test_the_dialog_says_that_the_environment_comes_first(
    asking: Studio,
    qtbot: QtBot,
    memory_keyring: MemoryKeyring,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a person would store a key and wonder that another one is sent."""
    monkeypatch.setenv(NAME, "another")
    dialog = open_dialog(asking, qtbot)

    texts = [label.text() for label in dialog.findChildren(QLabel)]
    dialog.reject()
    qtbot.waitUntil(lambda: len(asking.errands) == 0)

    assert any(f"The environment variable {NAME} is set; it comes first." in t for t in texts)


def test_a_key_has_a_button_as_long_as_it_is_named(asking: Studio) -> None:
    """A provider without a key asks for none, and one whose params are wrong cannot say."""
    graph = asking.document.graph
    for params in ({"endpoint": "http://h"}, {"credential": "no name"}):
        asking.document.replace(edits.set_resource_params(graph, "pond", params), "x")
        shown = asking.inspector.findChildren(QPushButton)
        assert not [each for each in shown if each.isVisible() and each.text().startswith("Key ")]

    asking.document.replace(
        edits.set_resource_params(graph, "pond", {"credential": "OTHER_KEY"}), "x"
    )

    assert find(asking.inspector, "resources.provider.key.OTHER_KEY").isVisible()
