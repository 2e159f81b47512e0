"""What opening and saving do to work that is not this window's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow_studio.app.studio import Studio
from aiflow_studio.ui.dialogs import Answer
from tests.studio.app.conftest import Await

FILES = "aiflow_studio.app.files"


def add(studio: Studio, operator: str = "counter") -> None:
    """Make the document dirty."""
    studio.document.replace(edits.add_node(studio.document.graph, operator), f"Add {operator}")


def write_as_another(path: Path, graph: Graph) -> None:
    """Write a file as another program does, some time later."""
    codec.save(path, graph)
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def box_of(studio: Studio, qtbot: QtBot) -> QMessageBox:
    """Return the question that is open, once it is."""

    def open_ones() -> list[QMessageBox]:
        return [each for each in studio.window.findChildren(QMessageBox) if each.isVisible()]

    qtbot.waitUntil(lambda: bool(open_ones()))
    return open_ones()[-1]


@pytest.fixture
def path(studio: Studio, tmp_path: Path) -> Path:
    """Return an empty graph's file that is open."""
    path = tmp_path / "graph.aiflow.json"
    codec.save(path, Graph())
    studio.open_at_start(path)
    return path


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer Save to the question about unsaved changes."""

    async def answer(*_: object) -> Answer:
        return Answer.SAVE

    monkeypatch.setattr(f"{FILES}.ask_to_save", answer)


def test_opening_the_open_file_again_shows_what_was_saved_on_the_way(
    studio: Studio, wait_for: Await, path: Path, saves: None
) -> None:
    """What is read is the file as it is after the question, not as it was before."""
    add(studio)

    assert wait_for(studio.desk.open_path(path)) is True

    assert list(studio.document.graph.nodes) == ["counter"]
    assert codec.load(path).nodes == studio.document.graph.nodes


def test_work_of_another_program_is_not_overwritten_without_a_yes(
    studio: Studio, qtbot: QtBot, path: Path
) -> None:
    """Save asks, Esc keeps the other's file and this document."""
    add(studio)
    write_as_another(path, edits.add_node(Graph(), "screen"))

    studio.book.actions["save"].trigger()
    box = box_of(studio, qtbot)
    said = box.text()
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(studio.errands) == 0)

    assert "graph.aiflow.json has been changed by another program" in said
    assert list(codec.load(path).nodes) == ["screen"]
    assert studio.document.is_dirty


def test_after_a_yes_it_is_overwritten_and_asked_no_more(
    studio: Studio, wait_for: Await, qtbot: QtBot, path: Path
) -> None:
    """One answer is for one change by others."""
    add(studio)
    write_as_another(path, edits.add_node(Graph(), "screen"))

    studio.book.actions["save"].trigger()
    box = box_of(studio, qtbot)
    next(each for each in box.buttons() if each.text() == "Overwrite").click()
    qtbot.waitUntil(lambda: not studio.document.is_dirty)
    add(studio, "speech")

    assert wait_for(studio.desk.save()) is True
    assert list(codec.load(path).nodes) == ["counter", "speech"]


def test_a_file_that_is_gone_is_written_again_without_a_question(
    studio: Studio, wait_for: Await, path: Path
) -> None:
    """Nothing is harmed by it."""
    add(studio)
    path.unlink()

    assert wait_for(studio.desk.save()) is True
    assert list(codec.load(path).nodes) == ["counter"]


def test_what_is_edited_while_the_run_ends_is_asked_about(
    studio: Studio, wait_for: Await, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run may take seconds to end; an edit made meanwhile does not go with it."""
    other = tmp_path / "other.aiflow.json"
    codec.save(other, Graph())
    asked: list[str] = []

    async def answer(_: object, name: str) -> Answer:
        asked.append(name)
        return Answer.CANCEL

    async def end() -> None:
        add(studio)

    monkeypatch.setattr(f"{FILES}.ask_to_save", answer)
    monkeypatch.setattr(studio.runs, "end", end)

    assert wait_for(studio.desk.open_path(other)) is False
    assert asked == ["graph.aiflow.json"]
    assert list(studio.document.graph.nodes) == ["counter"]


def test_undo_after_save_as_keeps_paths_that_can_be_found(
    studio: Studio, wait_for: Await, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file lies is no step: no undo makes paths start from the old folder again."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    (old / "a.trace").write_text("{}")
    graph = edits.add_resource(Graph(), "provider", params={"trace": "a.trace"})
    codec.save(old / "graph.aiflow.json", graph)
    studio.open_at_start(old / "graph.aiflow.json")
    add(studio)

    async def chosen(*_: object) -> Path:
        return new / "graph.aiflow.json"

    monkeypatch.setattr(f"{FILES}.ask_where_to_save", chosen)
    wait_for(studio.desk.save_as())
    undone = studio.document.undo_stack.undoText()
    studio.document.undo_stack.undo()

    resource = next(iter(studio.document.graph.resources.values()))
    assert undone == "Add counter"
    assert resource.params["trace"] == "../old/a.trace"


def test_a_document_without_a_file_is_not_said_to_be_saved(studio: Studio, wait_for: Await) -> None:
    """A copy of an example has no changes and no file either."""
    example = graphs_dir() / "examples" / "slow-speech.aiflow.json"

    wait_for(studio.commands.open_path(example, as_copy=True))

    assert studio.window.status._saved.text() == "not saved"
