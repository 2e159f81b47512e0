"""Tests of `aiflow_studio.output.panel`."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from aiflow.engine.outputs import OutputLine
from aiflow_studio.output.panel import MOST_CHARACTERS, MOST_COLUMNS, OutputPanel
from aiflow_studio.ui.theme import DARK, LIGHT


@pytest.fixture
def panel(qtbot: QtBot) -> OutputPanel:
    """Return an empty panel, shown."""
    panel = OutputPanel(DARK)
    qtbot.addWidget(panel)
    panel.resize(900, 200)
    panel.show()
    return panel


def lines(node: str, *texts: str, conversation: str = "c1", first: int = 1) -> list[OutputLine]:
    """Return pieces of one sink, numbered from `first`."""
    return [OutputLine(first + at, node, conversation, text) for at, text in enumerate(texts)]


def text_of(panel: OutputPanel, node: str) -> str:
    """Return what a column shows."""
    return panel.columns[node].text.toPlainText()


def test_tokens_are_joined_under_their_conversation(panel: OutputPanel) -> None:
    """Running text, not one token a line."""
    panel.append(lines("screen", "Hel", "lo ", "you"))

    assert text_of(panel, "screen") == "conversation c1\nHello you"


def test_another_conversation_gets_a_head_of_its_own(panel: OutputPanel) -> None:
    """On a line of its own, whatever stood before."""
    panel.append(lines("screen", "one"))
    panel.append(lines("screen", "two", conversation="c2", first=2))

    assert text_of(panel, "screen") == "conversation c1\none\nconversation c2\ntwo"


def test_each_sink_has_a_column(panel: OutputPanel) -> None:
    """In the order in which they first spoke, and never more than fit."""
    for at in range(MOST_COLUMNS + 3):
        panel.append(lines(f"sink-{at}", "x", first=at + 1))

    assert list(panel.columns) == [f"sink-{at}" for at in range(MOST_COLUMNS)]


def test_a_column_is_bounded(panel: OutputPanel) -> None:
    """One endless line is cut as well; the newest text stays."""
    panel.append(lines("log", "x" * MOST_CHARACTERS, "y" * 1000, "end"))

    text = text_of(panel, "log")
    assert len(text) <= MOST_CHARACTERS
    assert text.endswith("yyyend")


def test_reading_further_up_stops_following(panel: OutputPanel) -> None:
    """New text does not pull the page away from a reader, and following can be resumed."""
    panel.append(lines("log", *[f"line {n}\n" for n in range(200)]))
    column = panel.columns["log"]
    bar = column.text.verticalScrollBar()
    assert bar.value() == bar.maximum()

    bar.setValue(3)
    panel.append(lines("log", *[f"more {n}\n" for n in range(50)], first=201))
    assert bar.value() == 3
    assert not column.follow.isChecked()

    column.follow.click()
    assert bar.value() == bar.maximum()


def test_what_was_missed_is_counted(panel: OutputPanel) -> None:
    """A ring that ran over is said, never hidden."""
    panel.append(lines("log", "a"))
    panel.append(lines("log", "b", first=314))

    assert panel._note.isVisible()
    assert panel._note.text().startswith("312 pieces")


def test_clear_begins_anew(panel: OutputPanel) -> None:
    """A run does not begin with the text of the last one."""
    panel.append(lines("log", "a"))

    panel.clear()

    assert panel.columns == {}
    assert panel._pages.currentWidget() is panel._hint


def test_a_theme_repaints_the_text_that_is_there(panel: OutputPanel) -> None:
    """White text does not stay on a white page."""
    panel.append(lines("log", "a"))

    panel.set_theme(LIGHT)

    cursor = panel.columns["log"].text.textCursor()
    cursor.movePosition(cursor.MoveOperation.End)
    assert cursor.charFormat().foreground().color().name() == LIGHT.text
