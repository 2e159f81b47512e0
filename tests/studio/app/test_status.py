"""Tests of `aiflow_studio.app.status`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from aiflow_studio.app.status import StatusBar, clock_text, describe, problem_text
from aiflow_studio.ui.theme import DARK
from tests.studio.fake_host import snapshot_at


def test_a_run_is_described_in_words(qapp: QApplication) -> None:
    """State, bound, first token, drops and conversations, as in the sketch."""
    bar = StatusBar(DARK)
    snapshot = replace(snapshot_at(6.21), in_flight=28)

    bar.show_run("running", snapshot)

    assert bar.run_text == (
        "● Running 0:06.2  in flight 28 of at most 107  first token 112 ms (model 101 ms)"
        "  dropped 0  conversations 1"
    )
    assert bar.property("tone") == "running"


def test_a_run_without_a_bound_says_so(qapp: QApplication) -> None:
    """`unbounded` has no limit to show."""
    bar = StatusBar(DARK)

    bar.show_run("running", replace(snapshot_at(1.0), bound=None, in_flight=900))

    assert "in flight 900, without limit" in bar.run_text


def test_a_failure_is_told_by_word_glyph_and_colour(qapp: QApplication) -> None:
    """Red is never the only sign."""
    bar = StatusBar(DARK)

    bar.show_run("failed", replace(snapshot_at(1.0), error="node model failed"))

    assert bar.run_text.startswith("✗ Failed 0:01.0")
    assert "node model failed" in bar.run_text
    assert bar.property("tone") == "failed"


def test_requests_that_wait_their_turn_at_a_provider_are_told(qapp: QApplication) -> None:
    """While they do: a run that seems to hang says what it waits for."""
    bar = StatusBar(DARK)

    bar.show_run("running", replace(snapshot_at(1.0), waiting_requests=3))
    waiting = bar.run_text
    bar.show_run("running", snapshot_at(1.0))

    assert "requests in line 3" in waiting
    assert "in line" not in bar.run_text


def test_before_the_first_run_there_is_nothing_to_count() -> None:
    """No zeros that look like a measurement."""
    words = describe("idle", None)

    assert words.parts == ((("○ ", False), ("Not started", True)),)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0:00.0"), (6.29, "0:06.2"), (61.0, "1:01.0"), (-1.0, "0:00.0")]
)
def test_time_is_minutes_seconds_tenths(seconds: float, text: str) -> None:
    """Never rounded up to a moment that has not come."""
    assert clock_text(seconds) == text


def test_problems_are_counted_in_words() -> None:
    """None, one, several."""
    assert [problem_text(n) for n in (0, 1, 2)] == ["valid", "1 problem", "2 problems"]


def test_markup_in_an_error_is_text(qapp: QApplication) -> None:
    """A provider's HTML answer must not be rendered."""
    bar = StatusBar(DARK)

    bar.show_run("failed", replace(snapshot_at(1.0), error="<h1>502</h1>"))

    assert "&lt;h1&gt;" in bar._run.text()


def test_a_narrow_bar_says_the_first_things_whole_and_all_in_the_tip(qtbot: QtBot) -> None:
    """It is never wider than the window: what comes last goes first."""
    bar = StatusBar(DARK)
    qtbot.addWidget(bar)
    bar.show_document(is_saved=True, has_file=True)
    bar.show()
    bar.resize(1400, 24)
    bar.show_run("running", snapshot_at(6.21))
    all_of_it = bar._run.text()

    bar.resize(560, 24)

    assert "conversations" in all_of_it
    assert "Running" in bar._run.text()
    assert "of at most" in bar._run.text()
    assert "conversations" not in bar._run.text()
    assert "conversations" in bar._run.toolTip()
    assert bar.minimumSizeHint().width() < 400

    bar.resize(1400, 24)
    assert bar._run.text() == all_of_it


def test_a_long_failure_is_cut_and_not_left_out(qtbot: QtBot) -> None:
    """The beginning of the reason is worth more than none."""
    bar = StatusBar(DARK)
    qtbot.addWidget(bar)
    bar.show()
    bar.resize(700, 24)

    bar.show_run("failed", replace(snapshot_at(1.0), error="node model failed: " + "too warm " * 9))

    assert "node model failed" in bar._run.text()
    assert "…" in bar._run.text()
