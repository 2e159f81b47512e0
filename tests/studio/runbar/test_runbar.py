"""Tests of `aiflow_studio.runbar.panel`."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from aiflow_studio.runbar.panel import STRATEGIES, RunBar
from aiflow_studio.ui.theme import DARK

ACTIONS = ("run", "drain", "stop", "record", "validate", "apply")


@pytest.fixture
def bar(qtbot: QtBot) -> RunBar:
    """Return a bar with actions that do nothing."""
    actions = {name: QAction(f"&{name.capitalize()}") for name in ACTIONS}
    actions["validate"].setShortcut("F7")
    bar = RunBar(actions, DARK)
    qtbot.addWidget(bar)
    bar.resize(1200, 44)
    bar.show()
    return bar


def button(bar: RunBar, name: str) -> QToolButton:
    """Return a button of the bar."""
    found = bar.findChild(QToolButton, name)
    assert isinstance(found, QToolButton)
    return found


def test_the_first_button_says_how_the_run_stands(bar: RunBar) -> None:
    """In words; colour comes on top."""
    bar.show_phase("running")
    assert button(bar, "run").text() == "Running"
    assert button(bar, "run").property("tone") == "running"

    bar.show_phase("completed")
    assert button(bar, "run").text() == "Run"
    assert button(bar, "run").property("tone") == ""


def test_buttons_follow_and_trigger_their_actions(bar: RunBar) -> None:
    """A disabled action is a disabled button."""
    stop = button(bar, "stop")
    triggered: list[bool] = []
    stop._action.triggered.connect(lambda: triggered.append(True))  # type: ignore[attr-defined]

    stop.click()
    stop._action.setEnabled(False)  # type: ignore[attr-defined]

    assert triggered == [True]
    assert not stop.isEnabled()


def test_validate_shows_its_key(bar: RunBar) -> None:
    """As in the sketch."""
    assert button(bar, "validate").text() == "Validate  F7"


def test_apply_is_hidden_until_it_is_offered(bar: RunBar, qtbot: QtBot) -> None:
    """Nothing is there that does nothing."""
    assert not button(bar, "apply").isVisible()

    bar.show_apply(True)

    qtbot.waitUntil(button(bar, "apply").isVisible)


def test_a_strategy_is_chosen_by_name(bar: RunBar) -> None:
    """An unknown name changes nothing."""
    chosen: list[str] = []
    bar.strategy_chosen.connect(chosen.append)

    bar.choose_strategy("aggregate")
    bar.choose_strategy("no such thing")

    assert chosen == ["aggregate"]
    assert bar.strategy == "aggregate"
    assert set(STRATEGIES) >= {"aiflow", "aggregate", "callback", "unbounded"}


def test_a_long_sentence_is_cut_and_kept_whole(bar: RunBar) -> None:
    """The tooltip has all of it; the buttons keep their room."""
    sentence = "a word " * 100

    bar.say(sentence, "error")

    assert bar.said == sentence
    assert bar.findChild(type(bar._said)).toolTip() == sentence
    assert len(bar._said.text()) < len(sentence)


def test_a_sentence_has_the_room_that_the_buttons_leave(bar: RunBar, qtbot: QtBot) -> None:
    """It can be read, not only be asked for."""
    qtbot.waitUntil(lambda: bar._said.width() > 400)

    bar.say("valid, at most 107 events in flight", "ok")

    assert bar._said.text() == "valid, at most 107 events in flight"


def test_buttons_give_their_words_for_a_sentence_without_room(bar: RunBar, qtbot: QtBot) -> None:
    """Some are known by their icons; the first button and the offer are not."""
    bar.show_apply(True)
    bar.resize(800, 44)
    sentence = "AF110: nothing is connected to input in of node counter"
    bar.say(sentence, "error")
    qtbot.waitUntil(lambda: bar._said.width() > 200)

    alone = Qt.ToolButtonStyle.ToolButtonIconOnly
    short = {name for name in ACTIONS if button(bar, name).toolButtonStyle() == alone}
    assert short == {"drain", "stop", "record", "validate"}
    assert button(bar, "drain").toolTip() != ""

    bar.say("")
    assert button(bar, "drain").toolButtonStyle() != alone


def test_the_words_stay_where_there_is_room_for_both(bar: RunBar) -> None:
    """The answer is the same whether the words are shown now or not."""
    bar.resize(1200, 44)
    bar.say("valid, at most 107 events in flight", "ok")
    alone = Qt.ToolButtonStyle.ToolButtonIconOnly
    wide = button(bar, "drain").toolButtonStyle()

    bar.resize(500, 44)
    narrow = button(bar, "drain").toolButtonStyle()
    bar.resize(1200, 44)

    assert (wide == alone, narrow == alone) == (False, True)
    assert button(bar, "drain").toolButtonStyle() == wide


def test_the_width_with_words_does_not_hang_on_what_is_shown(bar: RunBar) -> None:
    """Else the bar would go back and forth between the two."""
    drain = button(bar, "drain")
    with_words = drain.full_width()  # type: ignore[attr-defined]

    drain.show_words(False)  # type: ignore[attr-defined]

    assert abs(drain.full_width() - with_words) <= 4  # type: ignore[attr-defined]
