"""Tests of `aiflow_studio.app.actions`: the table is whole and its keys are distinct."""

from __future__ import annotations

from collections import Counter

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication

from aiflow_studio.app.actions import ACTIONS, MENUS, SUBMENU_TITLES, ActionBook, Situation
from aiflow_studio.app.commands import Commands


def test_every_action_has_a_handler() -> None:
    """The names in the table are methods."""
    missing = [info.handler for info in ACTIONS if not callable(getattr(Commands, info.handler, 0))]

    assert missing == []


def test_every_action_is_in_exactly_one_menu() -> None:
    """What can be done can be found, once."""
    entries = [entry for menu in MENUS.values() for entry in menu if entry is not None]
    actions = [entry for entry in entries if not entry.startswith(">")]

    assert sorted(actions) == sorted(info.id for info in ACTIONS)
    assert sorted(entry[1:] for entry in entries if entry.startswith(">")) == sorted(SUBMENU_TITLES)


def test_no_key_means_two_things() -> None:
    """Two actions with one key would both be silent."""
    keys = Counter(key for info in ACTIONS for key in info.keys)

    assert [key for key, count in keys.items() if count > 1] == []
    assert all(not QKeySequence.fromString(key).isEmpty() for key in keys)


def test_each_menu_has_distinct_mnemonics() -> None:
    """Alt and a letter leads to one entry."""
    titles = {info.id: info.text for info in ACTIONS}
    for menu, entries in MENUS.items():
        shown = [
            SUBMENU_TITLES[entry[1:]] if entry.startswith(">") else titles[entry]
            for entry in entries
            if entry is not None
        ]
        letters = [text[text.index("&") + 1].lower() for text in shown if "&" in text]
        assert len(letters) == len(set(letters)), f"{menu}: {letters}"


def test_undo_says_what_it_would_undo(qapp: QApplication) -> None:
    """The label of the step stands in the menu."""
    book = ActionBook(print)

    book.update(Situation(undo="Move 3 nodes"))

    assert book.actions["undo"].text() == "&Undo: Move 3 nodes"
    assert book.actions["undo"].isEnabled()
    assert not book.actions["redo"].isEnabled()


def test_an_action_asks_for_its_handler(qapp: QApplication) -> None:
    """Triggering says the handler's name, whatever Qt hands along."""
    asked: list[str] = []
    book = ActionBook(asked.append)

    book.actions["save-as"].trigger()

    assert asked == ["save_as"]
