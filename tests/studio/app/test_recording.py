"""The record switch: from the run bar to what a run is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QToolButton
from pytestqt.qtbot import QtBot

from aiflow.graph import edits
from aiflow_studio.app.studio import Studio
from tests.studio.fake_host import FakeHost


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for recordings."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    return folder


def button(studio: Studio) -> QToolButton:
    """Return the switch in the run bar."""
    found = studio.bar.findChild(QToolButton, "record")
    assert isinstance(found, QToolButton)
    return found


def dialog(studio: Studio, qtbot: QtBot) -> QFileDialog:
    """Return the dialog that asks for a folder, once it is open."""

    def visible() -> list[QFileDialog]:
        return [each for each in studio.window.findChildren(QFileDialog) if each.isVisible()]

    qtbot.waitUntil(lambda: bool(visible()))
    return visible()[-1]


def switch_on(studio: Studio, qtbot: QtBot, folder: Path) -> None:
    """Click the switch and choose a folder."""
    button(studio).click()
    asked = dialog(studio, qtbot)
    asked.setDirectory(str(folder))
    asked.fileSelected.emit(str(folder))
    asked.accept()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)


def asked_of(studio: Studio, host: FakeHost) -> str:
    """Run, and return where the host was asked to record."""
    studio.document.replace(edits.add_node(studio.document.graph, "counter"), "x")
    assert studio.commands.run()
    studio.runs.stop()
    return host.requests[-1].record_to


def test_the_first_switch_asks_for_a_folder_and_remembers_it(
    studio: Studio, host: FakeHost, qtbot: QtBot, folder: Path
) -> None:
    """The button and the menu show the same, and the next run is asked to record."""
    assert asked_of(studio, host) == ""

    switch_on(studio, qtbot, folder)

    assert button(studio).isChecked()
    assert studio.book.actions["record"].isChecked()
    assert studio.bar.said == f"from the next run on, each answer is kept in {folder}"
    assert asked_of(studio, host) == str(folder)
    assert studio._settings_file.read().record_folder == str(folder)


def test_it_goes_off_and_on_without_asking_again(
    studio: Studio, host: FakeHost, qtbot: QtBot, folder: Path
) -> None:
    """While the folder is there."""
    switch_on(studio, qtbot, folder)

    button(studio).click()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)
    assert (button(studio).isChecked(), asked_of(studio, host)) == (False, "")

    studio.book.actions["record"].trigger()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)
    assert (button(studio).isChecked(), asked_of(studio, host)) == (True, str(folder))

    button(studio).click()
    folder.rmdir()
    button(studio).click()
    dialog(studio, qtbot).reject()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)
    assert not button(studio).isChecked()


def test_thinking_better_of_it_leaves_the_switch_as_it_was(
    studio: Studio, host: FakeHost, qtbot: QtBot, folder: Path
) -> None:
    """Off stays off, and on stays on where another folder was to be chosen."""
    button(studio).click()
    dialog(studio, qtbot).reject()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)
    assert not button(studio).isChecked()

    switch_on(studio, qtbot, folder)
    studio.book.actions["record-into"].trigger()
    dialog(studio, qtbot).reject()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)

    assert button(studio).isChecked()
    assert asked_of(studio, host) == str(folder)
