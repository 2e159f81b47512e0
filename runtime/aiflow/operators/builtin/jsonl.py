"""`jsonl`: log each event as one line of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from pydantic import Field

from aiflow.errors import NamedFileError, reason_of
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.linelog import LineLog
from aiflow.operators.names import kind_of
from aiflow.operators.scope import Scope
from aiflow.policies import Policy, SideEffects, State
from aiflow.types import ANY

_LONGEST_LINE = 2**20
# What the first line of a graph, of a trace or of a run's events has, and a log's has not.
_OURS = {"format", "aiflow-trace"}


class JsonlParams(Params):
    """Parameters of `jsonl`."""

    path: str | None = Field(
        None,
        min_length=1,
        title="File",
        description="File that lines are appended to, relative to the graph's file;"
        " empty shows the lines instead.",
        json_schema_extra={"x-editor": "save-path"},
    )
    rotate_bytes: int | None = Field(
        None,
        ge=1_000,
        le=2**40,
        title="Rotate at",
        description="A file that would grow beyond it is renamed, with .1 at its name, and a new"
        " one begins; a longer line stands alone in its file. Empty lets the file grow.",
        json_schema_extra={"x-unit": "bytes"},
    )
    keep_files: int = Field(
        5,
        ge=0,
        le=1_000,
        title="Older files",
        description="Renamed files that are kept, from .1, the youngest; the oldest is deleted.",
        json_schema_extra={"x-unit": "files"},
    )


class Jsonl(Operator[JsonlParams]):
    """Log each event as one line: conversation, turn, sequence, type, payload, created_at.

    A line is written whole and handed to the system before the event counts as processed. All
    that a killed program may leave of an event that does not count is the beginning of its line,
    at the very end, and only of a line that is longer than a page of memory; who adds the next
    line takes it away. Several nodes, and on Linux and macOS several runs, may share a log.

    Emits when: never; it writes or shows one line for each event.
    Backpressures when: never by itself; the disk is waited for.
    Completes when: its input has ended.
    Fails when: the file cannot be opened or the disk is full.
    """

    name = "jsonl"
    title = "JSON lines"
    category = "sinks"
    summary = "Logs each event as one line of JSON."
    inputs = (Port("in", ANY, "anything"),)
    Params: ClassVar = JsonlParams
    state = State.SERIALIZED
    # Appending twice leaves two lines.
    side_effects = SideEffects.NON_IDEMPOTENT

    def process(self, payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        """Write one line."""
        line = json_line(payload, scope)
        log = self._log()
        if log is None:
            scope.show(line.decode())
            return
        try:
            log.add(line)
        except OSError as error:
            raise NamedFileError(
                str(self.params.path),
                f"no line can be added ({reason_of(error)}); make room or choose another",
            ) from error

    def check(self, policy: Policy) -> Iterator[str]:
        """Name the folder that is not there, and the file that is no log."""
        log = self._log()
        if log is None:
            return
        if not log.path.parent.is_dir():
            yield f"the folder of its file {self.params.path} does not exist"
            return
        if not _is_log(log.path):
            yield f"its file {self.params.path} holds something else than lines of a log"
        for older in log.older() if self.params.rotate_bytes is not None else ():
            if not _is_log(older):
                yield f"{older.name}, which would be replaced, holds something else than a log"

    def _log(self) -> LineLog | None:
        if self.params.path is None:
            return None
        path = (self.folders[0] if self.folders else Path()) / self.params.path
        return LineLog(path, self.params.rotate_bytes, self.params.keep_files)


def _is_log(path: Path) -> bool:
    """Say whether lines may be added to a file: a graph or a trace would be spoilt by them."""
    try:
        if not path.is_file():
            return True
        with path.open("rb") as file:
            first = file.readline(_LONGEST_LINE)
    except OSError:
        return True  # Whoever cannot read it may still be allowed to write; the run tells.
    if not first.strip():
        return True
    try:
        record = msgspec.json.decode(first)
    except msgspec.DecodeError:
        return False
    return isinstance(record, dict) and not _OURS & record.keys()


def json_line(payload: object, scope: Scope) -> bytes:
    """Return one event as a line of JSON, UTF-8, with its newline."""
    record = {
        "conversation": scope.conversation,
        "turn": scope.turn,
        "sequence": scope.sequence,
        "type": kind_of(payload),
        "payload": payload,
        "created_at": round(scope.created_at, 6),
    }
    # A plug-in's payload that is no plain value is better logged by its repr than lost.
    return msgspec.json.encode(record, enc_hook=repr) + b"\n"
