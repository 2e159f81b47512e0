"""Tests of `aiflow_studio.ui.dialogs` and `aiflow_studio.ui.debounce`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from aiflow_studio.app.loop import new_loop
from aiflow_studio.ui.debounce import Debounce
from aiflow_studio.ui.dialogs import Answer, ask, ask_to_save, ask_yes_no, tell


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Return a window to ask in front of."""
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    return window


def answer(work: Any, window: QWidget, qtbot: QtBot, act: Callable[[QMessageBox], None]) -> Any:
    """Start asking, do something to the box, return what was answered."""
    loop = new_loop()
    try:
        with loop.attached():
            task = loop.create_task(work)
            qtbot.waitUntil(lambda: any(b.isVisible() for b in window.findChildren(QMessageBox)))
            act(next(b for b in window.findChildren(QMessageBox) if b.isVisible()))
            qtbot.waitUntil(task.done)
            return task.result()
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("button", "expected"),
    [
        (QMessageBox.StandardButton.Save, Answer.SAVE),
        (QMessageBox.StandardButton.Discard, Answer.DISCARD),
        (QMessageBox.StandardButton.Cancel, Answer.CANCEL),
    ],
)
def test_the_save_question_has_three_answers(
    window: QWidget, qtbot: QtBot, button: QMessageBox.StandardButton, expected: Answer
) -> None:
    """Each button means what it says."""
    work = ask_to_save(window, "a.json")

    assert answer(work, window, qtbot, lambda box: box.button(button).click()) is expected


def test_esc_is_cancel(window: QWidget, qtbot: QtBot) -> None:
    """In both questions."""
    esc = Qt.Key.Key_Escape

    assert (
        answer(ask_to_save(window, "a"), window, qtbot, lambda box: qtbot.keyClick(box, esc))
        is Answer.CANCEL
    )
    assert not answer(
        ask_yes_no(window, "T", "Q?", "Go"), window, qtbot, lambda box: qtbot.keyClick(box, esc)
    )


def test_other_tasks_run_while_a_question_is_open(window: QWidget, qtbot: QtBot) -> None:
    """A dialog is no nested loop."""
    loop = new_loop()
    steps: list[int] = []

    async def work() -> None:
        for step in range(5):
            await asyncio.sleep(0)
            steps.append(step)

    with loop.attached():
        question = loop.create_task(ask_to_save(window, "a"))
        other = loop.create_task(work())
        qtbot.waitUntil(other.done)
        assert not question.done()
        question.cancel()
        qtbot.waitUntil(question.done)
    loop.close()

    assert steps == [0, 1, 2, 3, 4]


def test_a_cancelled_question_takes_its_dialog_along(window: QWidget, qtbot: QtBot) -> None:
    """Nothing is left open when the window goes."""
    loop = new_loop()
    dialog = QDialog(window)
    rejected: list[bool] = []
    dialog.rejected.connect(lambda: rejected.append(True))
    with loop.attached():
        task = loop.create_task(ask(dialog))
        qtbot.waitUntil(dialog.isVisible)
        task.cancel()
        qtbot.waitUntil(task.done)
    loop.close()

    assert rejected == [True]


def test_a_burst_is_one_action(qtbot: QtBot, window: QWidget) -> None:
    """However often it is asked for."""
    done: list[int] = []
    debounce = Debounce(5, lambda: done.append(1), window)

    for _ in range(10):
        debounce.call()

    assert done == []
    qtbot.waitUntil(lambda: done == [1])
    assert not debounce.is_pending


def test_flush_runs_now_and_cancel_never(qtbot: QtBot, window: QWidget) -> None:
    """Nothing happens twice, nothing after a cancel."""
    done: list[int] = []
    debounce = Debounce(1000, lambda: done.append(1), window)

    debounce.call()
    debounce.flush()
    debounce.flush()
    debounce.call()
    debounce.cancel()

    assert done == [1]
    assert not debounce.is_pending


@pytest.mark.parametrize("asks", ["save", "yes-no"])
def test_a_name_that_looks_like_markup_is_asked_about_as_it_is(
    window: QWidget, qtbot: QtBot, asks: str
) -> None:
    """A file may be called what it likes."""
    name = "<b>plan</b>.json"
    work = ask_to_save(window, name) if asks == "save" else ask_yes_no(window, "Open", name, "Open")
    formats: list[Qt.TextFormat] = []

    def look(box: QMessageBox) -> None:
        formats.append(box.textFormat())
        box.reject()

    answer(work, window, qtbot, look)

    assert formats == [Qt.TextFormat.PlainText]


def test_what_is_told_already_is_not_told_twice(window: QWidget) -> None:
    """Pressing save again on a full disk leaves one box, not a pile of them."""
    boxes = [tell(window, "Not saved", sentence) for sentence in ("full", "full", "gone")]

    assert boxes[0] is boxes[1]
    assert boxes[2] is not boxes[0]
    for box in boxes:
        box.close()
