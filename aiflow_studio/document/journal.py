"""The journal of unsaved work: what a crash, a kill or a signal would otherwise take away.

One file per studio in a folder of the user's own, readable by nobody else, there exactly while
there is something to lose. A lock beside it tells whether its studio still lives, so that no
running one is asked about, and no crashed one twice at once. What looks like a key is masked:
nobody chose to write this file, so it holds less than a saved one may. When to write and what
to ask is `app.recovery`'s.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QLockFile

from aiflow.errors import GraphFileError
from aiflow.graph import codec
from aiflow.graph.model import Graph
from aiflow.graph.secrets import secrets_in, without_secrets

FileState = tuple[int, int]
_VERSION = 1
_SUFFIX = ".journal.json"
_ASIDE = ".unreadable"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """Unsaved work.

    Attributes:
        graph: the document as it was; what looked like a key is masked.
        path: its file; None where it had none.
        seen: time and size of that file when it was last read or written; None for none.
        masked: what was masked, such as `credential of nebula`.
        kept_at_utc: when it was written down.
    """

    graph: Graph
    path: Path | None
    seen: FileState | None
    masked: tuple[str, ...]
    kept_at_utc: datetime


class Journal:
    """The journal of one studio.

    Args:
        folder: where all studios of a user keep theirs; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file = folder / f"{secrets.token_hex(8)}{_SUFFIX}" if folder is not None else None
        self._lock: QLockFile | None = None
        self._has_complained = False

    def keep(self, graph: Graph, path: Path | None, seen: FileState | None) -> None:
        """Write unsaved work down, whole or not at all; a failure is logged once."""
        if self._file is None:
            return
        try:
            text = _text_of(graph, path, seen)
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._lock is None:
                self._lock = _lock_of(self._file)
                self._lock.tryLock(0)
            _write(self._file, text)
        except (OSError, GraphFileError) as error:
            if not self._has_complained:
                _log.warning("unsaved work is not kept for a crash: %s", error)
            self._has_complained = True

    def forget(self) -> None:
        """There is nothing to lose any more."""
        if self._file is not None and self._lock is not None:
            _remove(self._file)

    def release(self) -> None:
        """The studio ends; what is written down is for the next one."""
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def orphans(self) -> Iterator[Orphan]:
        """Give what ended studios left behind, newest first; each is held until it is settled."""
        if self._folder is None:
            return
        for file in self._left_behind():
            lock = _lock_of(file)
            # A studio that runs holds its own; one that was killed left a lock that is stale.
            if file == self._file or not lock.tryLock(0):
                continue
            _sweep(file)
            orphan = _read(file, lock) if file.exists() else None
            if orphan is None:
                lock.unlock()
            else:
                yield orphan

    def _left_behind(self) -> list[Path]:
        """Return where journals are or were to be, newest first."""
        assert self._folder is not None, "asked for only where journals are kept"
        files = {*self._folder.glob(f"*{_SUFFIX}")}
        # Killed while it wrote for the first time, it left a lock and a draft.
        files |= {lock.with_suffix(".json") for lock in self._folder.glob("*.lock")}
        return sorted(files, key=lambda file: file_state(file) or (0, 0), reverse=True)


class Orphan:
    """Work of a studio that ended without it being saved.

    Args:
        work: what it was.
        file: where it is written down.
        lock: held, so that no other studio offers it too.
    """

    def __init__(self, work: Work, file: Path, lock: QLockFile) -> None:
        self.work = work
        self._file = file
        self._lock = lock

    @property
    def is_saved(self) -> bool:
        """Whether its file holds all of it already: the studio ended just after saving."""
        path, graph = self.work.path, self.work.graph
        if path is None or self.work.masked:
            return False
        try:
            return codec.dumps(codec.load(path)) == codec.dumps(graph)
        except GraphFileError:
            return False

    def discard(self) -> None:
        """Take it away for good."""
        _remove(self._file)
        self._lock.unlock()

    def release(self) -> None:
        """Leave it for the next start."""
        self._lock.unlock()


def file_state(path: Path) -> FileState | None:
    """Return how a file is now; None where there is none, or nobody may know."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def _text_of(graph: Graph, path: Path | None, seen: FileState | None) -> str:
    masked = [f"{found.field} of {found.id}" for found in secrets_in(graph)]
    entry: dict[str, Any] = {
        "aiflow_journal": _VERSION,
        "file": None if path is None else os.fsencode(path).hex(),
        "seen": seen,
        "masked": masked,
        "graph": codec.dumps(_masked(graph) if masked else graph),
    }
    return json.dumps(entry, indent=1) + "\n"


def _masked(graph: Graph) -> Graph:
    nodes = {
        id: replace(node, params=without_secrets(node.params), extra=without_secrets(node.extra))
        for id, node in graph.nodes.items()
    }
    resources = {
        id: replace(entry, params=without_secrets(entry.params), extra=without_secrets(entry.extra))
        for id, entry in graph.resources.items()
    }
    return replace(graph, nodes=nodes, resources=resources)


def _write(file: Path, text: str) -> None:
    """Replace a file by a private one; what outlives the program need not outlive a power cut."""
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(draft).replace(file)
    except BaseException:
        _remove(Path(draft))
        raise


def _read(file: Path, lock: QLockFile) -> Orphan | None:
    """Return what a journal holds; one that nobody can read is set aside and told."""
    try:
        entry = json.loads(file.read_text(encoding="utf-8"))
        path = None if entry["file"] is None else Path(os.fsdecode(bytes.fromhex(entry["file"])))
        work = Work(
            graph=codec.loads(entry["graph"]),
            path=path,
            seen=None if entry["seen"] is None else (int(entry["seen"][0]), int(entry["seen"][1])),
            masked=tuple(map(str, entry["masked"])),
            kept_at_utc=datetime.fromtimestamp(file.stat().st_mtime, UTC),
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, GraphFileError) as error:
        _log.warning("%s cannot be read and is set aside: %s", file, error)
        with contextlib.suppress(OSError):
            file.replace(file.with_name(file.name + _ASIDE))
        return None
    return Orphan(work, file, lock)


def _sweep(file: Path) -> None:
    """Remove the drafts of a journal whose studio was killed while it wrote."""
    for draft in file.parent.glob(f".{file.name}*"):
        _remove(draft)


def _lock_of(file: Path) -> QLockFile:
    lock = QLockFile(str(file.with_suffix(".lock")))
    # A lock is stale when its process is gone, however long it has been held.
    lock.setStaleLockTime(0)
    return lock


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
