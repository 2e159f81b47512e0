"""The graph file: text to graph and back, and the file itself, written whole or not at all.

Reading never raises anything but `GraphFileError` and runs nothing. What a graph means, and
whether it may run, is the compiler's question. The JSON is in `json_text`, the fields in
`reader` and `writer`, older versions in `migrations`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from aiflow.errors import GraphFileError, reason_of
from aiflow.graph.json_text import MAX_BYTES, parse, render, too_large
from aiflow.graph.migrations import MIGRATIONS, Migration, migrate
from aiflow.graph.model import FORMAT, VERSION, Graph
from aiflow.graph.reader import read_graph
from aiflow.graph.writer import document_of

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_DRAFT = re.compile(r"\.aiflow-[0-9a-f]{16}\.tmp", re.ASCII)
#: No save takes so long.
_DRAFT_LIVES_S = 60.0
_OURS = f"{VERSION[0]}.{VERSION[1]}"


def loads(
    text: str | bytes, where: str = "graph", *, steps: Sequence[Migration] = MIGRATIONS
) -> Graph:
    """Return the graph that a text holds.

    Mistakes that a graph can hold are kept for the compiler to report; an older version is
    migrated; a newer one opens, see `is_newer` and `is_read_only`.

    Args:
        text: JSON in UTF-8, at most 16 MB.
        where: path or name of what is read, for the error.
        steps: the migrations that are known.

    Raises:
        GraphFileError: it is no graph, or none that this program can hold.
    """
    document = parse(text, where)
    if not isinstance(document, dict):
        raise GraphFileError(where, "not a graph: it must be a JSON object", _what_is_one())
    if document.get("format") != FORMAT:
        found = document.get("format")
        has = f'its "format" is "{found}"' if isinstance(found, str) else 'it has no "format"'
        raise GraphFileError(where, f"not a graph: {has[:80]}", _what_is_one())
    version = _version(document.get("version"), where)
    document, version = migrate(document, version, where, steps)
    try:
        return read_graph(document, version, where)
    except GraphFileError as error:
        if version[0] <= VERSION[0]:
            raise
        reason = f"version {version[0]}.{version[1]} is newer than this program's {_OURS}"
        raise GraphFileError(where, reason, "open it with a newer AiFlow") from error


def load(path: str | os.PathLike[str]) -> Graph:
    """Return the graph in a file.

    Raises:
        GraphFileError: the file cannot be read or is no graph.
    """
    where = os.fspath(path)
    with _clear_errors(where, "cannot be read", "check the path"):
        # The size is asked for first: nobody should wait for a file that is refused anyway.
        found = Path(where).stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "", where)
        if not stat.S_ISREG(found.st_mode):
            raise GraphFileError(where, "cannot be read: it is no ordinary file", "check the path")
        if found.st_size > MAX_BYTES:
            raise too_large(where, found.st_size)
        with Path(where).open("rb") as file:
            return loads(file.read(MAX_BYTES + 1), where)


def dumps(graph: Graph, *, export: bool = False) -> str:
    """Return the canonical text of a graph.

    Args:
        graph: any graph, also one with mistakes.
        export: leave out layout, notes and frames.

    Raises:
        GraphFileError: something in it has no form in JSON, such as a parameter that is NaN.
    """
    where = graph.name or "graph"
    lines = [
        f"  {render(key, where)}: "
        + render(value, where, 1, open_levels=0 if key in _ONE_LINE else 1)
        for key, value in document_of(graph, export=export).items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(path: str | os.PathLike[str], graph: Graph, *, export: bool = False) -> None:
    """Write a graph to a file, whole or not at all; whatever fails, an old file is unharmed.

    A symlink is followed, the file's mode is kept.

    Raises:
        GraphFileError: it cannot be written, or the graph is of a newer major version.
    """
    where = os.fspath(path)
    if is_read_only(graph):
        reason = f"not saved: the graph is of version {graph.version[0]}, newer than {_OURS}"
        raise GraphFileError(where, reason, "open it with a newer AiFlow to change it")
    data = dumps(graph, export=export).encode("utf-8")
    with _clear_errors(where, "cannot be saved", "save it in another place; no file was changed"):
        _write_atomically(Path(os.path.realpath(where)), data)


def is_newer(graph: Graph) -> bool:
    """Say whether the file came from a newer version, so that it may hold unknown fields."""
    return graph.version > VERSION


def is_read_only(graph: Graph) -> bool:
    """Say whether the graph is of a newer major version: it may be looked at, not saved."""
    return graph.version[0] > VERSION[0]


_ONE_LINE = ("measure",)


def _what_is_one() -> str:
    return f'a graph file begins with {{"format": "{FORMAT}", "version": "{_OURS}", …'


def _version(given: object, where: str) -> tuple[int, int]:
    match = _VERSION.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        has = 'it has no "version"' if given is None else 'its "version" is not of the form "1.0"'
        raise GraphFileError(where, f"not a graph: {has}", _what_is_one())
    return int(match[1]), int(match[2])


@contextlib.contextmanager
def _clear_errors(where: str, what: str, hint: str) -> Iterator[None]:
    """Turn what the system says into one sentence."""
    try:
        yield
    except OSError as error:
        raise GraphFileError(where, f"{what}: {reason_of(error)}", hint) from error
    except ValueError as error:  # a path with a NUL in it
        raise GraphFileError(where, f"{what}: {error}", hint) from error


def _write_atomically(target: Path, data: bytes) -> None:
    mode = None
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "", str(target))
        # A rename would not ask: it needs the folder's permission only.
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "", str(target))
    draft = target.with_name(f".aiflow-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        # Not `tempfile`, whose files are private: a new file gets what the umask says.
        with os.fdopen(os.open(draft, flags, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _sync_folder(target.parent)
    # By the folder's own clock, which on a network is not this machine's.
    sweep_drafts(target.parent, target.stat().st_mtime)


def sweep_drafts(folder: str | os.PathLike[str], now_s: float) -> None:
    """Remove what saves that were killed have left in a folder; called after each save there.

    Args:
        folder: where graphs are saved.
        now_s: the time as the files' own times are counted; a draft that may still be written,
            by another program, stays.
    """
    with contextlib.suppress(OSError):
        for draft in Path(folder).glob(".aiflow-*.tmp"):
            with contextlib.suppress(OSError):
                is_old = draft.lstat().st_mtime < now_s - _DRAFT_LIVES_S
                if is_old and _DRAFT.fullmatch(draft.name) and draft.is_file():
                    draft.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
