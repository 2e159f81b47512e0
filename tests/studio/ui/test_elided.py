"""Tests of `aiflow_studio.ui.elided`."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from aiflow_studio.ui.elided import ElidedLabel


@pytest.fixture
def label(qtbot: QtBot) -> ElidedLabel:
    """Return a label with a frame that only the stylesheet knows."""
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setStyleSheet("padding: 0 16px 0 12px;")
    label.show()
    return label


def test_what_has_room_is_shown_whole(label: ElidedLabel) -> None:
    """The room that is asked for is enough, whatever the frame takes."""
    label.say("slow-speech.aiflow.json")
    label.resize(label.sizeHint())

    assert label.text() == "slow-speech.aiflow.json"
    assert label.toolTip() == ""


def test_what_has_no_room_is_cut_and_told_in_the_tip(label: ElidedLabel) -> None:
    """No letter is cut in half, and nothing is out of reach."""
    label.say("a long name of a node")
    label.resize(90, 20)

    assert label.text().endswith("…")
    assert label.toolTip() == label.whole == "a long name of a node"


def test_no_text_asks_for_more_room_than_reason_has(label: ElidedLabel) -> None:
    """Neither by its length nor by its lines."""
    label.say("w")
    low = label.sizeHint().height()

    label.say("W" * 5000 + "\nand more")

    assert label.sizeHint().width() < 60 * label.fontMetrics().averageCharWidth()
    assert label.minimumSizeHint().width() < label.sizeHint().width()
    assert label.sizeHint().height() == low
    assert "\n" not in label.whole


def test_markup_is_shown_as_it_is(label: ElidedLabel) -> None:
    """A file may be called what it likes."""
    label.say("<b>x</b>")
    label.resize(label.sizeHint())

    assert label.text() == "<b>x</b>"
    assert label.sizeHint().width() > label.fontMetrics().horizontalAdvance("<b>x</b>")
