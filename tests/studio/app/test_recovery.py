"""Unsaved work outlives a crash, a kill and a signal; it is offered once and costs no file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow_studio.app.recovery import question
from aiflow_studio.app.studio import Studio
from aiflow_studio.document.journal import Journal, Work, file_state
from aiflow_studio.ui.dialogs import Answer
from tests.studio.app.conftest import Await
from tests.studio.app.test_files import add, box_of


@pytest.fixture
def folder(studio: Studio) -> Path:
    """Return where the studio keeps its journal."""
    folder = studio.recovery._journal._folder
    assert folder is not None
    return folder


@pytest.fixture
def path(studio: Studio, tmp_path: Path) -> Path:
    """Return an empty graph's file that is open."""
    path = tmp_path / "graph.aiflow.json"
    codec.save(path, Graph())
    studio.open_at_start(path)
    return path


def journals(folder: Path) -> list[Path]:
    """Return the journals that are written down."""
    return list(folder.glob("*.json"))


def leave_behind(folder: Path, path: Path | None, operator: str = "counter") -> Graph:
    """Keep work of a studio that ended without being closed."""
    graph = edits.add_node(Graph(), operator)
    journal = Journal(folder)
    journal.keep(graph, path, file_state(path) if path else None)
    journal.release()
    return graph


def press(box: QMessageBox, text: str) -> None:
    """Press a button by its text."""
    next(each for each in box.buttons() if each.text() == text).click()


def test_an_edit_is_written_down_and_a_save_takes_it_away(
    studio: Studio, qtbot: QtBot, wait_for: Await, path: Path, folder: Path
) -> None:
    """Without anyone asking for it, and never into the document's own file."""
    add(studio)
    qtbot.waitUntil(lambda: bool(journals(folder)))
    assert codec.load(path) == Graph()

    assert wait_for(studio.desk.save())

    assert journals(folder) == []


def test_undoing_back_to_what_is_saved_takes_it_away(
    studio: Studio, path: Path, folder: Path
) -> None:
    """There is nothing to lose then."""
    add(studio)
    studio.recovery.keep_now()
    assert len(journals(folder)) == 1

    studio.document.undo_stack.undo()

    assert journals(folder) == []


def test_an_answered_question_takes_it_away(
    studio: Studio, wait_for: Await, path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who discards is not asked again at the next start."""

    async def answer(*_: object) -> Answer:
        return Answer.DISCARD

    monkeypatch.setattr("aiflow_studio.app.files.ask_to_save", answer)
    add(studio)
    studio.recovery.keep_now()

    wait_for(studio.close())

    assert list(folder.iterdir()) == []


def test_leaving_without_a_question_keeps_the_work(
    studio: Studio, wait_for: Await, path: Path, folder: Path
) -> None:
    """A signal asks nobody, so it may throw nothing away; not even the last second."""
    add(studio)

    wait_for(studio.leave())

    (orphan,) = Journal(folder).orphans()
    assert list(orphan.work.graph.nodes) == ["counter"]
    assert orphan.work.path == path
    orphan.release()


def test_restored_work_is_unsaved_work_again(
    studio: Studio, qtbot: QtBot, path: Path, folder: Path
) -> None:
    """It is the document, can be undone to what the file holds, and outlives a second crash."""
    graph = leave_behind(folder, path)
    studio.desk._go_to(None)

    studio.errands.run(studio.recovery.offer(), "recovery")
    box = box_of(studio, qtbot)
    assert box.text().startswith("Restore the changes to graph.aiflow.json that were not saved (")
    press(box, "Restore")

    qtbot.waitUntil(lambda: studio.document.graph == graph)
    assert studio.desk.path == path
    assert studio.document.is_dirty
    qtbot.waitUntil(lambda: not studio.errands)
    assert len(journals(folder)) == 1
    assert list(Journal(folder).orphans()) == [], "it is this studio's now"
    studio.document.undo_stack.undo()
    assert studio.document.graph == Graph()


def test_esc_leaves_it_for_the_next_start(studio: Studio, qtbot: QtBot, folder: Path) -> None:
    """Not knowing is no answer."""
    leave_behind(folder, None)

    studio.errands.run(studio.recovery.offer(), "recovery")
    box_of(studio, qtbot).reject()

    qtbot.waitUntil(lambda: not studio.errands)
    assert len(journals(folder)) == 1
    assert studio.document.graph == Graph()


def test_discarding_asks_about_the_next(studio: Studio, qtbot: QtBot, folder: Path) -> None:
    """Each is a question of its own."""
    leave_behind(folder, None, "counter")
    leave_behind(folder, None, "delay")

    studio.errands.run(studio.recovery.offer(), "recovery")
    press(box_of(studio, qtbot), "Discard")
    qtbot.waitUntil(lambda: len(journals(folder)) == 1)
    press(box_of(studio, qtbot), "Discard")

    qtbot.waitUntil(lambda: not studio.errands)
    assert list(folder.iterdir()) == []


def test_work_that_its_file_holds_is_not_asked_about(
    studio: Studio, wait_for: Await, path: Path, folder: Path
) -> None:
    """A kill between saving and tidying up is no loss."""
    codec.save(path, leave_behind(folder, path))

    wait_for(studio.recovery.offer())

    assert journals(folder) == []


@pytest.mark.parametrize(
    ("is_there", "is_touched", "says"),
    [
        (True, False, "nothing is written to it until you save"),
        (True, True, "The file has been changed since"),
        (False, False, "Its file is no longer in"),
    ],
)
def test_the_question_says_what_became_of_the_file(
    tmp_path: Path, is_there: bool, is_touched: bool, says: str
) -> None:
    """A person knows before answering what saving will do."""
    path = tmp_path / "graph.aiflow.json"
    codec.save(path, Graph())
    seen = file_state(path)
    if is_touched:
        path.write_text("{}")
    if not is_there:
        path.unlink()

    _, note = question(Work(Graph(), path, seen, (), datetime(2026, 11, 29, tzinfo=UTC)))

    assert says in note


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="such signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_studio_that_is_ended_from_outside_loses_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A real process with an edit: its file is as it was, its work is there for the next."""
    path = tmp_path / "graph.aiflow.json"
    codec.save(path, Graph())
    program = (
        "import sys\n"
        "from aiflow.graph import edits\n"
        "from aiflow_studio.app import studio as module\n"
        "from PySide6.QtCore import QTimer\n"
        "opened = module.Studio.open_at_start\n"
        "def edit(self, path):\n"
        "    opened(self, path)\n"
        "    graph = edits.add_node(self.document.graph, 'counter')\n"
        "    QTimer.singleShot(0, lambda: self.document.replace(graph, 'Add'))\n"
        "module.Studio.open_at_start = edit\n"
        "keep = module.Recovery.keep_now\n"
        "def told(self):\n"
        "    keep(self)\n"
        "    print('kept', flush=True)\n"
        "module.Recovery.keep_now = told\n"
        "from aiflow_studio.app.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    places = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **places},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "kept\n"
        child.send_signal(number)
        child.wait(60)

    assert child.returncode == (-signal.SIGKILL if number is signal.SIGKILL else 0)
    assert codec.load(path) == Graph()
    (orphan,) = Journal(tmp_path / "data" / "aiflow-studio" / "recovery").orphans()
    assert list(orphan.work.graph.nodes) == ["counter"]
    assert orphan.work.path == path
    orphan.discard()


def test_a_journal_is_json_that_a_person_can_read(studio: Studio, path: Path, folder: Path) -> None:
    """Should all else fail, the graph can be taken out by hand."""
    add(studio)
    studio.recovery.keep_now()

    (file,) = journals(folder)
    assert json.loads(json.loads(file.read_text())["graph"])["nodes"][0]["operator"] == "counter"
