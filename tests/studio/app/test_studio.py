"""Tests of the whole window on a fake host: files, edits, runs, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QDialog, QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from aiflow.graph import codec, edits
from aiflow.graph.shipped import graphs_dir
from aiflow_studio.app.screenshot import report, take
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.studio import Studio
from aiflow_studio.app.window import dropped_file
from aiflow_studio.ui.theme import LIGHT
from tests.studio.app.conftest import Await
from tests.studio.fake_host import FakeHost

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"


def edit(studio: Studio) -> None:
    """Make the document dirty."""
    graph = studio.document.graph
    studio.document.replace(edits.add_node(graph, "counter"), "Add Counter")


def trigger(studio: Studio, action: str) -> None:
    """Do what a menu entry does, which must be usable."""
    assert studio.book.actions[action].isEnabled(), f"{action} cannot be used now"
    studio.book.actions[action].trigger()


def open_dialog(studio: Studio, qtbot: QtBot, kind: type[QDialog] = QMessageBox) -> QDialog:
    """Return the dialog that is open, once it is."""

    def visible() -> list[QDialog]:
        return [each for each in studio.window.findChildren(kind) if each.isVisible()]

    qtbot.waitUntil(lambda: bool(visible()))
    return visible()[-1]


def press(box: QDialog, button: QMessageBox.StandardButton) -> None:
    """Answer a question."""
    assert isinstance(box, QMessageBox)
    box.button(button).click()


def test_a_file_opens_clean_and_saves_the_same_bytes(studio: Studio, tmp_path: Path) -> None:
    """Opening changes nothing, and saving what was opened gives the file back."""
    path = tmp_path / "copy.aiflow.json"
    path.write_bytes(EXAMPLE.read_bytes())

    studio.open_at_start(path)
    trigger(studio, "save")

    assert not studio.document.is_dirty
    assert path.read_bytes() == EXAMPLE.read_bytes()


def test_a_dirty_document_is_marked_until_it_is_saved(
    studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    """The title carries a dot while there are changes that are in no file."""
    path = tmp_path / "graph.aiflow.json"
    codec.save(path, studio.document.graph)
    studio.open_at_start(path)

    edit(studio)

    assert "graph.aiflow.json •" in studio.window.windowTitle()
    assert studio.window.isWindowModified()

    trigger(studio, "save")
    qtbot.waitUntil(lambda: not studio.window.isWindowModified())

    assert "•" not in studio.window.windowTitle()
    assert list(codec.load(path).nodes) == ["counter"]


def test_undoing_all_edits_is_clean_again(studio: Studio) -> None:
    """The mark follows the document, not the number of edits."""
    edit(studio)

    trigger(studio, "undo")

    assert not studio.window.isWindowModified()
    assert studio.book.actions["redo"].text() == "&Redo: Add Counter"


def test_esc_in_the_close_prompt_keeps_the_window(studio: Studio, qtbot: QtBot) -> None:
    """Esc is Cancel: nothing is closed, nothing is lost."""
    edit(studio)

    studio.window.close()
    qtbot.keyClick(open_dialog(studio, qtbot), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(studio.errands) == 0)

    assert studio.window.isVisible()
    assert studio.document.is_dirty
    assert not studio.closed.done()


def test_discard_closes_and_ends_the_run(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """A window that closes leaves no run behind."""
    edit(studio)
    trigger(studio, "run")

    studio.window.close()
    press(open_dialog(studio, qtbot), QMessageBox.StandardButton.Discard)
    qtbot.waitUntil(studio.closed.done)

    assert not studio.window.isVisible()
    assert host.phase == "cancelled"


def test_leaving_twice_is_leaving_once(
    studio: Studio, host: FakeHost, wait_for: Await, tmp_path: Path
) -> None:
    """An impatient second end finds nothing to do, also when everything is taken down."""
    wait_for(studio.leave())
    (tmp_path / "settings" / "settings.json").unlink()

    wait_for(studio.leave())

    assert host.calls.count("kill") == 1
    assert not (tmp_path / "settings" / "settings.json").exists()


def test_save_in_the_prompt_asks_for_a_name_and_cancel_there_keeps_the_window(
    studio: Studio, qtbot: QtBot
) -> None:
    """Whoever thinks better of the second question has lost nothing."""
    edit(studio)

    studio.window.close()
    press(open_dialog(studio, qtbot), QMessageBox.StandardButton.Save)
    open_dialog(studio, qtbot, QFileDialog).reject()
    qtbot.waitUntil(lambda: len(studio.errands) == 0)

    assert studio.window.isVisible()
    assert studio.document.is_dirty


def test_save_as_adds_the_ending_and_goes_on_with_the_new_file(
    studio: Studio, wait_for: Await, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After save as, the document is that file and clean."""
    edit(studio)

    async def chosen(*_: object) -> Path:
        return tmp_path / "new.aiflow.json"

    monkeypatch.setattr("aiflow_studio.app.files.ask_where_to_save", chosen)
    trigger(studio, "save-as")
    qtbot.waitUntil(lambda: not studio.document.is_dirty)

    assert studio.desk.path == tmp_path / "new.aiflow.json"
    assert studio.bar.said == "Saved new.aiflow.json"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("bad.aiflow.json", b"{", "not JSON"),
        ("other.json", b'{"nodes": []}', "not a graph"),
        ("newer.aiflow.json", b'{"format": "aiflow", "version": "x"}', "version"),
    ],
)
def test_a_file_that_cannot_be_opened_costs_nothing(
    studio: Studio,
    wait_for: Await,
    qtbot: QtBot,
    tmp_path: Path,
    name: str,
    content: bytes,
    says: str,
) -> None:
    """One sentence beside the work; the document stays as it was, without a question."""
    edit(studio)
    before = studio.document.graph
    (tmp_path / name).write_bytes(content)

    assert wait_for(studio.desk.open_path(tmp_path / name)) is False

    box = open_dialog(studio, qtbot)
    assert isinstance(box, QMessageBox)
    assert name in box.text()
    assert says in box.text()
    assert studio.document.graph is before
    box.close()


def test_a_save_that_fails_keeps_everything(
    studio: Studio, wait_for: Await, qtbot: QtBot, tmp_path: Path
) -> None:
    """The document is still dirty, the box says what to do, and no file appears."""
    path = tmp_path / "gone" / "graph.aiflow.json"
    path.parent.mkdir()
    codec.save(path, studio.document.graph)
    studio.open_at_start(path)
    edit(studio)
    path.unlink()
    path.parent.rmdir()

    assert wait_for(studio.desk.save()) is False

    box = open_dialog(studio, qtbot)
    assert isinstance(box, QMessageBox)
    assert "cannot be saved" in box.text()
    assert studio.document.is_dirty
    assert not path.exists()
    box.close()


def test_export_of_a_graph_with_errors_asks_first(
    studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    """A node of an unknown operator is an error; Cancel writes nothing."""
    graph = edits.add_node(studio.document.graph, "no-such-operator")
    studio.document.replace(graph, "Add")

    trigger(studio, "export")
    box = open_dialog(studio, qtbot)
    assert isinstance(box, QMessageBox)
    assert "Export it all the same?" in box.text()
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(studio.errands) == 0)

    assert list(tmp_path.glob("*.json")) == []


def test_an_example_opens_as_an_untitled_copy(studio: Studio, wait_for: Await) -> None:
    """Nobody overwrites a shipped example by pressing save."""
    wait_for(studio.commands.open_path(EXAMPLE, as_copy=True))

    assert studio.desk.path is None
    assert "not saved" in studio.window.windowTitle()
    assert len(studio.document.graph.nodes) == 6


def test_opening_runs_nothing_and_ends_the_run_of_the_old_graph(
    studio: Studio, host: FakeHost, wait_for: Await
) -> None:
    """The numbers on the canvas are never those of another graph."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")

    wait_for(studio.commands.open_path(EXAMPLE, as_copy=True))

    assert host.calls == ["start", "kill"]
    assert studio.runs.phase == "idle"
    assert studio.runs.snapshot is None


def test_run_drain_and_stop_follow_the_phase(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """Buttons can be used when they mean something, and the bar says how the run stands."""
    studio.open_at_start(EXAMPLE)
    actions = studio.book.actions
    assert (actions["run"].isEnabled(), actions["stop"].isEnabled()) == (True, False)

    trigger(studio, "run")
    qtbot.waitUntil(lambda: host.elapsed_s > 0.3)

    assert (actions["run"].isEnabled(), actions["stop"].isEnabled()) == (False, True)
    assert "Running" in studio.window.status.run_text
    assert "of at most 107" in studio.window.status.run_text
    assert host.requests[0].repeats

    trigger(studio, "drain")
    assert "Draining" in studio.window.status.run_text
    assert not actions["drain"].isEnabled()

    trigger(studio, "stop")
    assert "Stopped" in studio.window.status.run_text
    assert actions["run"].isEnabled()


def test_apply_is_offered_while_the_document_differs_from_the_run(
    studio: Studio, host: FakeHost, qtbot: QtBot
) -> None:
    """An edit offers a restart; moving a node does not; applying takes the offer away."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")

    moved = edits.move(studio.document.graph, {"log": (1.0, 2.0)})
    studio.document.replace(moved, "Move log")
    assert not studio.book.actions["apply"].isEnabled()

    edit(studio)
    assert studio.book.actions["apply"].isEnabled()

    trigger(studio, "apply")
    qtbot.waitUntil(lambda: len(host.requests) == 2)
    assert not studio.book.actions["apply"].isEnabled()
    assert '"counter"' in host.requests[1].graph


def test_another_strategy_is_a_difference_too(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """The drop-down takes effect at the next start, and says so by the offer."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")

    studio.bar.choose_strategy("unbounded")
    trigger(studio, "apply")
    qtbot.waitUntil(lambda: len(host.requests) == 2)

    assert [request.strategy for request in host.requests] == ["aiflow", "unbounded"]


def test_a_refused_start_says_why(studio: Studio, host: FakeHost) -> None:
    """The sentence stands in the run bar and nothing runs."""
    host.refuses = "AF301: it cannot be"
    studio.open_at_start(EXAMPLE)

    trigger(studio, "run")

    assert studio.bar.said == "Not started: AF301: it cannot be"
    assert not studio.runs.is_active


def test_a_failed_run_is_said_in_words(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """The error of the run reaches the status bar and the run bar."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")

    host.phase, host.error = "failed", "node model failed: it was too warm"
    qtbot.waitUntil(lambda: studio.runs.phase == "failed")

    assert "Failed" in studio.window.status.run_text
    assert studio.bar.said == "node model failed: it was too warm"


def test_plots_stay_after_the_end(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """What was drawn is still there when the run is over."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")
    qtbot.waitUntil(lambda: host.elapsed_s > 0.5)

    trigger(studio, "stop")

    assert any(curve.isVisible() for curve in studio.plots.depth_chart._curves)


def test_validate_names_the_bound(studio: Studio) -> None:
    """F7 on a valid graph says how many events it may hold."""
    studio.open_at_start(EXAMPLE)

    trigger(studio, "validate")

    assert studio.bar.said == "valid, at most 107 events in flight"


def test_validate_leads_to_the_first_problem(studio: Studio) -> None:
    """F7 on a graph with an error selects the culprit and shows the problems."""
    graph = edits.add_node(studio.document.graph, "no-such-operator")
    studio.document.replace(graph, "Add")

    trigger(studio, "validate")

    assert studio.bar.said.startswith("AF1")
    assert studio.selection.nodes == frozenset({"no-such-operator"})
    assert studio.window.tabs.currentWidget() is studio.problems


def test_duplicate_keeps_the_inner_edges_and_the_clipboard(studio: Studio) -> None:
    """Two connected nodes become four with two edges, in one undo step."""
    studio.open_at_start(EXAMPLE)
    studio.selection.set(frozenset({"chunks", "speech"}))

    trigger(studio, "duplicate")

    assert len(studio.document.graph.nodes) == 8
    assert len(studio.document.graph.edges) == 6
    assert len(studio.selection.nodes) == 2

    trigger(studio, "undo")
    assert len(studio.document.graph.nodes) == 6


def test_ctrl_plus_makes_all_text_larger_and_ctrl_0_resets(studio: Studio) -> None:
    """Application, canvas and plots grow together."""
    before = studio.window.fontInfo().pixelSize()

    trigger(studio, "text-larger")
    larger = studio.window.fontInfo().pixelSize()
    trigger(studio, "text-reset")

    assert larger > before
    assert studio.window.fontInfo().pixelSize() == before


def test_choices_are_remembered(studio: Studio, wait_for: Await, tmp_path: Path) -> None:
    """Theme, text size and recent files are there at the next start."""
    studio.open_at_start(EXAMPLE)
    studio.look.set_theme(LIGHT)
    studio.look.set_scale(1.3)

    wait_for(studio.leave())

    settings = SettingsFile(tmp_path / "settings").read()
    assert (settings.theme, settings.text_scale) == ("light", 1.3)
    assert settings.recent == (str(EXAMPLE),)
    assert settings.geometry


def test_a_dropped_graph_is_asked_about(studio: Studio, qtbot: QtBot) -> None:
    """Dropping a file opens it only after a yes."""
    studio.window.dropped.emit(EXAMPLE)
    box = open_dialog(studio, qtbot)
    assert isinstance(box, QMessageBox)
    assert box.text() == "Open slow-speech.aiflow.json?"

    next(button for button in box.buttons() if button.text() == "Open").click()
    qtbot.waitUntil(lambda: len(studio.document.graph.nodes) == 6)


def test_a_file_dragged_over_the_canvas_reaches_the_window(studio: Studio, qtbot: QtBot) -> None:
    """The canvas takes operators only; a file goes on to the window below it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(EXAMPLE))])
    view = studio.canvas.widget()
    assert isinstance(view, QAbstractScrollArea)
    viewport = view.viewport()
    copy, left, none = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )

    enter = QDragEnterEvent(viewport.rect().center(), copy, data, left, none)
    QApplication.sendEvent(viewport, enter)
    assert enter.isAccepted()

    QApplication.sendEvent(studio.window, QDropEvent(QPointF(500, 300), copy, data, left, none))
    box = open_dialog(studio, qtbot)
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(studio.errands) == 0)
    assert len(studio.document.graph.nodes) == 0


def test_only_one_local_file_can_be_dropped(tmp_path: Path) -> None:
    """Folders, several files and addresses are no graph to open."""
    data = QMimeData()

    data.setUrls([QUrl.fromLocalFile(str(EXAMPLE))])
    assert dropped_file(data) == EXAMPLE

    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    assert dropped_file(data) is None

    data.setUrls([QUrl("http://example.org/graph.json")])
    assert dropped_file(data) is None


def test_an_uncaught_error_shows_one_dialog_and_the_run_goes_on(
    studio: Studio, host: FakeHost, qtbot: QtBot, allow_log: Callable[[str, str], None]
) -> None:
    """Two errors, two log lines, one box."""
    allow_log("aiflow_studio.app.crash", "uncaught: ZeroDivisionError")
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")

    studio.crash.report(ZeroDivisionError("by nought"))
    studio.crash.report(ZeroDivisionError("again"))

    boxes = [box for box in studio.window.findChildren(QMessageBox) if box.isVisible()]
    assert len(boxes) == 1
    assert "by nought" in boxes[0].text()
    assert host.phase == "running"
    boxes[0].close()


def test_the_screenshot_line_counts_and_names_depths(
    studio: Studio,
    host: FakeHost,
    wait_for: Await,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One JSON object on stdout, a picture of the default size in the file."""
    studio.open_at_start(EXAMPLE)
    trigger(studio, "run")
    host.elapsed_s = 6.0

    assert wait_for(take(studio, tmp_path / "shot.png", 0.0)) == 0

    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert '"state": "running", "nodes": 6, "edges": 5, "problems": 0' in line
    assert report(studio)["max_depth"]["speech"] == 8
    assert (tmp_path / "shot.png").stat().st_size > 20_000
    assert (studio.window.width(), studio.window.height()) == (1600, 1000)


def test_a_picture_that_cannot_be_written_is_one_sentence(
    studio: Studio, wait_for: Await, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line on stdout, a sentence on stderr, exit code 2."""
    assert wait_for(take(studio, tmp_path / "no" / "shot.png", 0.0)) == 2

    caught = capsys.readouterr()
    assert caught.out == ""
    assert "the picture cannot be written" in caught.err
