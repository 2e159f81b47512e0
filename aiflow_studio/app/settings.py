"""Settings: what the studio remembers between starts. A bad file never blocks a start."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from PySide6.QtCore import QStandardPaths

from aiflow_studio.ui.theme import DARK

MOST_RECENT = 10
_FILE = "settings.json"
_log = logging.getLogger(__name__)


class Settings(BaseModel):
    """What a person chose; the defaults are what a first start shows.

    Attributes:
        theme: name of a theme. `text_scale`: 1.0 is as designed.
        recent: paths of graphs, newest first, at most `MOST_RECENT`.
        runs_apart: runs live in a process of their own.
        geometry: the window's place and docks, as Qt saved them, in base 64; "" for none.
        record_folder: where answers were recorded last, "" for nowhere yet.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    theme: str = DARK.name
    text_scale: float = Field(1.0, ge=0.5, le=3.0, allow_inf_nan=False)
    recent: tuple[str, ...] = ()
    runs_apart: bool = False
    geometry: str = ""
    record_folder: str = ""

    def with_recent(self, path: Path) -> Settings:
        """Return the settings with `path` as the newest file.

        On Linux a name need not be text; such a one has no form in JSON and is not remembered.
        """
        text = str(path)
        if not _is_text(text):
            return self
        others = [other for other in self.recent if other != text]
        return self.model_copy(update={"recent": (text, *others)[:MOST_RECENT]})


class SettingsFile:
    """The file the settings live in.

    Args:
        folder: where it lies; None where nothing is to be remembered.
        journals: folder for unsaved work that is to outlive a crash; None keeps none.
    """

    def __init__(self, folder: Path | None, journals: Path | None = None) -> None:
        self._path = folder / _FILE if folder is not None else None
        self.journals = journals

    @staticmethod
    def of_this_user(*, forgets: bool = False) -> SettingsFile:
        """Return the file in the folders that this system keeps for it.

        Args:
            forgets: remember nothing but unsaved work.
        """
        places = QStandardPaths.StandardLocation
        settings, state = (
            QStandardPaths.writableLocation(place)
            for place in (places.AppConfigLocation, places.AppLocalDataLocation)
        )
        return SettingsFile(
            Path(settings) if settings and not forgets else None,
            Path(state) / "recovery" if state else None,
        )

    def read(self) -> Settings:
        """Return what the file holds; the defaults where it holds nothing usable."""
        if self._path is None:
            return Settings()
        try:
            return Settings.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Settings()
        except (OSError, ValidationError) as error:
            _log.info(
                "settings are as at the first start: %s cannot be used: %s", self._path, error
            )
            return Settings()

    def write(self, settings: Settings) -> None:
        """Write the file whole or not at all; a failure costs nothing but memory of choices."""
        if self._path is None:
            return
        data = settings.model_dump_json(indent=2) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=_FILE)
        except OSError as error:
            _log.info("settings are not kept: %s", error)
            return
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(data)
            Path(temporary).replace(self._path)
        except OSError as error:
            _log.info("settings are not kept: %s", error)
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
