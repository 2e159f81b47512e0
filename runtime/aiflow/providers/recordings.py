"""The recordings of a run: each answer of each provider as a trace of its own, in one folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from aiflow.errors import TraceError
from aiflow.providers.recording import TraceRecorder
from aiflow.transport.trace import TraceEnd

SUFFIX = ".trace"
# What any file system takes; ids of conversations may be anything.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_NAME = 80


class AnswerRecordings:
    """Where the answers of one run are kept.

    A file is named by the node and the conversation that asked: `model-c1.trace`, then
    `model-c1-2.trace`. None that is there is ever replaced. What cannot be written is told, and
    the run goes on.

    Args:
        folder: made where it is not there.
        tell: called with node, conversation and a clause when a file is whole, or fails.

    Attributes:
        paths: files that were begun. `errors`: what could not be written, one sentence each.
    """

    def __init__(self, folder: Path, tell: Callable[[str, str, str], None]) -> None:
        self.folder = folder
        self.paths: list[Path] = []
        self.errors: list[str] = []
        self._tell = tell
        self._taken: set[Path] = set()
        # Where it cannot be made, the first answer says so.
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)

    def tell_to(self, tell: Callable[[str, str, str], None]) -> None:
        """Call another one from now on, see `tell`."""
        self._tell = tell

    def recorder(self, asked_by: tuple[str, str], dialect: str, secret: str) -> RunRecorder:
        """Return the recorder of one answer.

        Args:
            asked_by: the node and the conversation.
            dialect: name of the wire format.
            secret: the key that is sent, "" for none.
        """
        path = self._path_for("-".join(filter(None, asked_by)) or "answer")
        self._taken.add(path)
        return RunRecorder(self, path, asked_by, TraceRecorder(path, dialect, secret))

    def kept(self, path: Path, asked_by: tuple[str, str]) -> None:
        """Note that a file is whole."""
        self.paths.append(path)
        self._tell(*asked_by, f"recorded in {path}")

    def failed(self, error: TraceError, asked_by: tuple[str, str]) -> None:
        """Note that a file could not be written."""
        self.errors.append(f"not recorded: {error}")
        self._tell(*asked_by, f"not recorded: {error}")

    def _path_for(self, name: str) -> Path:
        name = _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]
        number = 1
        while True:
            path = self.folder / f"{name}{'' if number == 1 else f'-{number}'}{SUFFIX}"
            if path not in self._taken and not path.exists():
                return path
            number += 1


@runtime_checkable
class Records(Protocol):
    """A resource whose answers can be kept."""

    def record_into(self, recordings: AnswerRecordings) -> None:
        """Keep the answers to come; called before the start."""
        ...


class RunRecorder:
    """Records one answer of a run and never gets in its way."""

    def __init__(
        self,
        recordings: AnswerRecordings,
        path: Path,
        asked_by: tuple[str, str],
        recorder: TraceRecorder,
    ) -> None:
        self._recordings = recordings
        self._path = path
        self._asked_by = asked_by
        self._recorder: TraceRecorder | None = recorder

    def write(self, at: float, data: bytes, content_type: str) -> None:
        """Add what has come, see `TraceRecorder`."""
        if self._recorder is None:
            return
        try:
            self._recorder.write(at, data, content_type)
        except TraceError as error:
            self._give_up(error)

    def close(self, at: float, end: TraceEnd) -> None:
        """Write how it ended, if it has begun; safe to repeat."""
        recorder, self._recorder = self._recorder, None
        if recorder is None or not recorder.has_begun:
            return
        try:
            recorder.close(at, end)
        except TraceError as error:
            self._give_up(error)
        else:
            self._recordings.kept(self._path, self._asked_by)

    def _give_up(self, error: TraceError) -> None:
        self._recorder = None
        self._recordings.failed(error, self._asked_by)
