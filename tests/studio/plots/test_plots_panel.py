"""Tests of `aiflow_studio.plots.panel`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from aiflow_studio.document.selection import Selection
from aiflow_studio.plots.panel import PlotsPanel
from aiflow_studio.runs.history import History
from aiflow_studio.ui.theme import DARK, LIGHT
from tests.studio.fake_host import snapshot_at


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[PlotsPanel]:
    """Return a panel on a run of six seconds, shown."""
    history = History()
    for step in range(1, 91):
        history.add(snapshot_at(step / 15))
    panel = PlotsPanel(history, Selection(), DARK)
    qtbot.addWidget(panel)
    panel.resize(1200, 260)
    panel.show()
    yield panel
    panel.close_plots()


def labels(panel: PlotsPanel) -> list[str]:
    """Return the words that stand in the depth plot."""
    shown = (*panel.depth_chart._labels, *panel.depth_chart._bound_labels)
    return [label.textItem.toPlainText() for label in shown if label.isVisible()]


def test_depths_are_drawn_with_their_bound(panel: PlotsPanel) -> None:
    """Every queue has a label at its line, and the bound its own."""
    assert set(labels(panel)) == {"speech", "chunks", "router", "log", "screen", "bound q = 8"}


def test_the_first_queue_to_fill_has_the_first_colour(panel: PlotsPanel) -> None:
    """Colours are given in the order of filling and kept; what stays empty stays grey."""
    assert panel._color("speech") == DARK.busy
    assert panel._color("log") == DARK.muted

    panel.set_theme(LIGHT)

    assert panel._color("speech") == LIGHT.busy


def test_waiting_and_service_of_the_slow_node_stand_apart(panel: PlotsPanel) -> None:
    """Two seconds of waiting, a quarter of a second of service."""
    shown = {
        label.textItem.toPlainText(): label.pos().y()
        for label in panel.latency_chart._labels
        if label.isVisible()
    }

    assert shown["speech, waiting"] > shown["speech, service"]


def test_labels_have_room_for_themselves(panel: PlotsPanel, qtbot: QtBot) -> None:
    """Three queues stand at eight, and three labels can be read."""
    qtbot.waitUntil(lambda: panel.depth_chart.plot.getViewBox().height() > 100)
    boxes = [
        label.mapRectToScene(label.boundingRect())
        for label in panel.depth_chart._labels
        if label.isVisible()
    ]

    overlaps = [
        (one, two)
        for at, one in enumerate(boxes)
        for two in boxes[at + 1 :]
        if one.adjusted(0, 2, 0, -2).intersects(two.adjusted(0, 2, 0, -2))
    ]
    assert overlaps == []


def test_a_hidden_panel_is_not_drawn(panel: PlotsPanel) -> None:
    """Nobody pays for plots that nobody sees; they catch up when they are shown."""
    panel.hide()
    panel._history.clear()
    panel.refresh()
    assert panel._pages.currentWidget() is panel._charts

    panel.show()
    assert panel._pages.currentWidget() is panel._hint


@pytest.mark.parametrize("width", [300, 420, 600, 1200])
@pytest.mark.parametrize("seconds", [1.0, 6.0])
def test_no_label_is_cut_off_and_none_covers_the_bound(
    panel: PlotsPanel, qtbot: QtBot, width: int, seconds: float
) -> None:
    """Also where the plot is narrow and the lines have only begun."""
    panel._history.clear()
    for step in range(1, round(seconds * 15) + 1):
        panel._history.add(snapshot_at(step / 15))
    panel.resize(width, 260)
    panel.refresh()
    qtbot.waitUntil(lambda: panel.depth_chart.plot.width() < width / 2 + 10)
    panel.refresh()
    # Labels take their places when they are painted.
    panel.grab()

    for chart in (panel.depth_chart, panel.latency_chart):
        right = chart.plot.getViewBox().sceneBoundingRect().right() + 1
        shown = [
            label.mapRectToScene(label.boundingRect())
            for label in (*chart._labels, *chart._bound_labels)
            if label.isVisible()
        ]
        assert all(box.right() <= right for box in shown)
    if width >= 420:
        bound = panel.depth_chart._bound_labels[0]
        box = bound.mapRectToScene(bound.boundingRect()).adjusted(4, 4, -4, -4)
        lines = [label for label in panel.depth_chart._labels if label.isVisible()]
        assert not any(box.intersects(each.mapRectToScene(each.boundingRect())) for each in lines)


def test_the_legend_gives_way_to_the_title(panel: PlotsPanel, qtbot: QtBot) -> None:
    """In a narrow chart it is the legend that is cut."""
    panel.resize(520, 260)
    qtbot.waitUntil(lambda: panel.latency_chart.width() < 270)

    assert panel.latency_chart._title.text() == "Latency, ms (log)"
    assert panel.latency_chart._legend.text().endswith("…")
