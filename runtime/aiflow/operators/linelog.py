"""A log of lines that makes room by renaming, and mends what a killed program left behind.

Nothing is kept open between two lines, so nobody need close it. Each line is written whole with
the file locked: two nodes or two runs may share a log. What a kill can leave is the beginning of
one line, at the very end; whoever adds the next line takes it away first.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from itertools import pairwise
from pathlib import Path

import msgspec

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # Windows, where one program writes a log
    flock = None  # type: ignore[assignment]

_HAS_LOCKS = flock is not None
_BLOCK = 2**16


class LineLog:
    """A file, and older ones beside it with `.1` (the youngest), `.2` and so on at their names.

    Args:
        path: where lines are added.
        rotate_bytes: a file that would grow beyond it becomes an older one; None is never.
        keep_files: older files that are kept; the oldest goes.
    """

    def __init__(self, path: Path, rotate_bytes: int | None = None, keep_files: int = 0) -> None:
        self.path = path
        self._name = str(path)
        self._rotate_bytes = rotate_bytes
        self._keep_files = keep_files

    def older(self) -> list[Path]:
        """Return the names that older files have, the youngest first."""
        return [
            self.path.with_name(f"{self.path.name}.{number}")
            for number in range(1, self._keep_files + 1)
        ]

    def add(self, line: bytes) -> None:
        """Add a line, which ends with its newline.

        Raises:
            OSError: it cannot be written; what was there before is whole.
        """
        while not self._try_to_add(line):
            pass

    def _try_to_add(self, line: bytes) -> bool:
        """Add a line unless the file has just become an older one."""
        with self._opened() as file:
            if not file.readable():
                _append(file, line)
                return True
            if _HAS_LOCKS:
                # Some network file systems know no locks.
                with contextlib.suppress(OSError):
                    flock(file, LOCK_EX)
                if not self._is_there(file):
                    return False
            size = _mended(file)
            limit = self._rotate_bytes
            if limit is None or not size or size + len(line) <= limit:
                _append(file, line)
                return True
            if not _HAS_LOCKS:
                file.close()  # Windows renames nothing that is open.
            self._make_room()
            return False

    def _opened(self) -> io.FileIO:
        """Return the file, readable where it is a file that may be read."""
        try:
            is_file = stat.S_ISREG(os.stat(self._name).st_mode)
        except FileNotFoundError:
            is_file = True
        if is_file:
            with contextlib.suppress(PermissionError):
                return io.FileIO(self._name, "a+")
        return io.FileIO(self._name, "a")

    def _is_there(self, file: io.FileIO) -> bool:
        """Say whether an open file is still the one at the path."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self._name))
        except FileNotFoundError:
            return False

    def _make_room(self) -> None:
        """Let each file become the next older one, up to a gap; the last makes way."""
        names = [self.path]
        for older in self.older():
            names.append(older)
            if not older.exists():
                break  # A rotation was broken off here: nothing beyond has to move.
        if len(names) == 1:
            self.path.unlink(missing_ok=True)
        # The oldest first: whenever this is broken off, no file is lost but the last.
        for younger, older in reversed(list(pairwise(names))):
            younger.replace(older)


def _mended(file: io.FileIO) -> int:
    """Let a file end with a whole line; return its size then."""
    size = file.seek(0, io.SEEK_END)
    if not size or _read(file, size - 1, 1) == b"\n":
        return size
    start, tail = size, b""
    while start and b"\n" not in tail:
        begin = max(0, start - _BLOCK)
        tail = _read(file, begin, start - begin) + tail
        start = begin
    torn = tail.rpartition(b"\n")[2]
    try:
        msgspec.json.decode(torn)
    except msgspec.DecodeError:
        return file.truncate(size - len(torn))
    # Another program leaves out the last newline; the record is whole.
    _append(file, b"\n")
    return size + 1


def _read(file: io.FileIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size) or b""


def _append(file: io.FileIO, line: bytes) -> None:
    """Add a line, whole: a disk that is nearly full takes a part and says nothing."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]
