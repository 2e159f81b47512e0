"""The window in little room: small screens, large letters, long names."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from aiflow.graph import codec, edits
from aiflow.graph.shipped import graphs_dir
from aiflow_studio.app.studio import Studio
from aiflow_studio.ui.look import SCALES
from aiflow_studio.ui.theme import DARK, PROJECTOR, THEMES, Theme
from tests.studio.fake_host import FakeHost

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"
SMALL = QSize(800, 600)


def test_a_small_window_stays_small_whatever_happens_in_it(
    studio: Studio, host: FakeHost, qtbot: QtBot
) -> None:
    """A run, an error, a selection, an offer to restart: none makes it wider than a screen."""
    studio.open_at_start(EXAMPLE)
    studio.window.resize(SMALL)
    studio.selection.set(frozenset({"speech"}))

    studio.book.actions["run"].trigger()
    host.show("screen", "text")
    host.show("log", "text")
    qtbot.waitUntil(lambda: len(studio.output.columns) == 2)
    studio.document.replace(edits.add_node(studio.document.graph, "counter"), "Add")
    host.phase, host.error = "failed", "node model failed: " + "it was too warm " * 20
    qtbot.waitUntil(lambda: studio.runs.phase == "failed")

    assert studio.window.size() == SMALL


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("theme", [DARK, PROJECTOR], ids=lambda theme: theme.name)
def test_a_small_window_stays_small_with_larger_letters(
    studio: Studio, theme: Theme, scale: float
) -> None:
    """Whoever needs them has no larger screen."""
    studio.open_at_start(EXAMPLE)
    studio.window.resize(SMALL)
    studio.selection.set(frozenset({"speech"}))

    studio.look.set_theme(theme)
    studio.look.set_scale(scale)

    assert studio.window.minimumSizeHint().width() <= SMALL.width()


def test_the_largest_letters_fit_the_smallest_laptop(studio: Studio) -> None:
    """At every scale and in every theme the window can be 1,280 x 720."""
    studio.open_at_start(EXAMPLE)
    studio.selection.set(frozenset({"speech"}))

    needs = []
    for theme in THEMES.values():
        studio.look.set_theme(theme)
        studio.look.set_scale(SCALES[-1])
        needs.append(studio.window.minimumSizeHint())

    assert all(size.width() <= 1280 and size.height() <= 720 for size in needs)


def test_no_name_makes_the_window_wider(studio: Studio, tmp_path: Path, host: FakeHost) -> None:
    """Names of graphs, files and nodes are as long as somebody likes."""
    studio.open_at_start(EXAMPLE)
    before = studio.window.minimumSizeHint().width()
    graph = edits.rename_node(studio.document.graph, "screen", "s" * 200)
    path = tmp_path / f"{'n' * 200}.aiflow.json"
    codec.save(path, graph)

    studio.open_at_start(path)
    studio.book.actions["run"].trigger()
    host.show("s" * 200, "text")
    studio.runs.sample()

    assert studio.window.minimumSizeHint().width() <= before
    assert studio.window.file_label.width() < studio.window.width() / 2


def test_the_window_is_no_larger_than_the_screen(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hangs off the edge, such as the status bar, could not be seen."""

    class Screen:
        def availableGeometry(self) -> QRect:
            return QRect(0, 0, 1280, 800)

    monkeypatch.setattr(studio.window, "screen", Screen)

    studio.window.fit_screen()

    assert studio.window.width() <= 1280
    assert studio.window.height() <= 800 - studio.window.menuBar().height()


def test_a_theme_of_the_same_letters_leaves_the_docks_alone(studio: Studio, qtbot: QtBot) -> None:
    """What a person has dragged stays where it is; other letters share the room anew."""
    palette = studio.window.docks()[0]
    studio.window.resizeDocks([palette], [300], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: palette.width() == 300)

    studio.look.set_theme(THEMES["light"])
    QApplication.processEvents()
    kept = palette.width()
    studio.look.set_theme(PROJECTOR)

    qtbot.waitUntil(lambda: palette.width() < 300)
    assert kept == 300


def test_the_example_is_readable_on_a_projector(studio: Studio, qtbot: QtBot) -> None:
    """The docks leave the canvas enough room to show it at three quarters at least."""
    studio.look.set_theme(PROJECTOR)
    studio.open_at_start(EXAMPLE)
    qtbot.waitUntil(lambda: studio.canvas.widget().width() > 900)

    studio.canvas.fit()

    assert studio.canvas.zoom() >= 0.75


def test_a_low_screen_leaves_the_most_to_the_graph(
    studio: Studio, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 1280 x 720 the plots take a third of the height, not half of it."""

    class Screen:
        def availableGeometry(self) -> QRect:
            return QRect(0, 0, 1280, 720)

    monkeypatch.setattr(studio.window, "screen", Screen)

    studio.window.fit_screen()

    bottom = studio.window.docks()[2]
    qtbot.waitUntil(lambda: bottom.height() < studio.window.height() * 0.36)
    assert studio.canvas.widget().height() > bottom.height()


def test_the_graph_alone_is_readable_on_a_small_projector(studio: Studio, qtbot: QtBot) -> None:
    """F11 puts the panels away and fits the graph; again, and they are as they were."""
    studio.look.set_theme(PROJECTOR)
    studio.window.resize(1264, 672)
    studio.open_at_start(EXAMPLE)
    palette, inspector, bottom = studio.window.docks()
    inspector.hide()

    studio.book.actions["graph-only"].trigger()

    qtbot.waitUntil(lambda: studio.canvas.zoom() > 0.75)
    assert not any(dock.isVisible() for dock in (palette, inspector, bottom))
    studio.book.actions["graph-only"].trigger()
    assert (palette.isVisible(), inspector.isVisible(), bottom.isVisible()) == (True, False, True)


def test_on_a_small_projector_the_graph_has_the_room_of_the_palette(
    studio: Studio, qtbot: QtBot
) -> None:
    """It comes back with smaller letters, or when somebody goes to its search."""
    palette, inspector, bottom = studio.window.docks()
    studio.window.resize(1264, 672)
    studio.open_at_start(EXAMPLE)

    studio.look.set_theme(PROJECTOR)

    assert palette.isHidden()
    assert inspector.isVisible()
    assert bottom.isVisible()
    qtbot.waitUntil(lambda: studio.canvas.widget().width() > 800)
    studio.canvas.fit()
    assert studio.canvas.zoom() > 0.6
    studio.look.set_theme(DARK)
    assert palette.isVisible()
    studio.look.set_theme(PROJECTOR)
    studio.commands.find_operator()
    assert palette.isVisible()


def test_a_palette_that_was_put_away_for_room_is_not_remembered_as_closed(
    studio: Studio,
) -> None:
    """One that a person has closed is."""
    palette = studio.window.docks()[0]
    studio.window.resize(1264, 672)
    studio.look.set_theme(PROJECTOR)
    assert palette.isHidden()
    state = studio.window.docks_state()

    studio.look.set_theme(DARK)
    studio.window.restore_docks(state)
    assert palette.isVisible()
    studio.look.set_theme(PROJECTOR)
    studio.window.restore_docks(state)
    assert palette.isHidden()
    studio.look.set_theme(DARK)
    palette.hide()
    state = studio.window.docks_state()
    studio.look.set_theme(PROJECTOR)
    studio.look.set_theme(DARK)
    studio.window.restore_docks(state)
    assert palette.isHidden()
