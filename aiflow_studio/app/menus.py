"""The submenus whose entries are not actions of the table: recent files, examples, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QDockWidget, QMenu

Open = Callable[[Path], object]


def fill_examples(
    menu: QMenu, paths: Iterable[Path], live: Iterable[Path], open_copy: Open
) -> None:
    """List the shipped examples by name, then the graphs that need a model or a device."""
    for path in paths:
        menu.addAction(path.name.split(".")[0], partial(open_copy, path))
    menu.addSeparator()
    for path in live:
        menu.addAction(f"{path.name.split('.')[0]} (live)", partial(open_copy, path))


def keep_recent(menu: QMenu, recent: Callable[[], Sequence[str]], open_path: Open) -> None:
    """List the recent files anew each time the menu is opened."""

    def fill() -> None:
        menu.clear()
        for text in recent():
            menu.addAction(text, partial(open_path, Path(text)))
        if menu.isEmpty():
            menu.addAction("Nothing yet").setEnabled(False)

    menu.aboutToShow.connect(fill)


def fill_choice(menu: QMenu, entries: Mapping[str, str], choose: Callable[[str], object]) -> None:
    """List values, `entries` is value -> title, and `choose` the one that a person picks."""
    group = QActionGroup(menu)
    for value, title in entries.items():
        action = menu.addAction(title)
        action.setCheckable(True)
        action.setData(value)
        group.addAction(action)
    group.triggered.connect(lambda action: choose(action.data()))


def show_choice(menu: QMenu, value: str) -> None:
    """Mark the value that holds now."""
    for action in menu.actions():
        action.setChecked(action.data() == value)


def fill_panels(menu: QMenu, docks: Iterable[QDockWidget]) -> None:
    """List the docks, to hide and to show them."""
    for dock in docks:
        menu.addAction(dock.toggleViewAction())
