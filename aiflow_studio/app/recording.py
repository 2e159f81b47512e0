"""The record switch: whether the answers of the next runs are kept, and in which folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from aiflow_studio.ui.dialogs import ask_for_folder


class RecordSwitch:
    """Off at each start: to keep what a model says is asked for anew.

    Args:
        action: checkable; shows the state in menu and run bar.
        window: parent of the dialog.
        folder: the one that was chosen last, "" for none.
        remember: called with the folder that a person has chosen.
        say: called with a sentence about what will happen.
    """

    def __init__(
        self,
        action: QAction,
        window: QWidget,
        folder: str,
        remember: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self._action = action
        self._window = window
        self._folder = folder
        self._remember = remember
        self._say = say
        self._is_asking = False

    @property
    def record_to(self) -> str:
        """Folder in which the next run keeps answers, "" for none."""
        return self._folder if self._action.isChecked() else ""

    async def toggle(self) -> None:
        """Follow the action; the first time, and where the folder has gone, ask for one."""
        if not self._action.isChecked():
            self._say("answers are not recorded any more")
        elif self._has_folder():
            self._tell()
        else:
            await self.choose()

    async def choose(self) -> None:
        """Ask for a folder and switch on; thinking better of it changes nothing."""
        if self._is_asking:
            return
        self._is_asking, had_one = True, self._has_folder()
        folder: Path | None = None
        try:
            folder = await ask_for_folder(
                self._window, "Keep the answers of models in", self._folder
            )
        finally:
            self._is_asking = False
            if folder is None and not had_one:
                self._action.setChecked(False)
        if folder is not None:
            self._folder = str(folder)
            self._remember(self._folder)
            self._action.setChecked(True)
            self._tell()

    def _has_folder(self) -> bool:
        return bool(self._folder) and Path(self._folder).is_dir()

    def _tell(self) -> None:
        self._say(f"from the next run on, each answer is kept in {self._folder}")
