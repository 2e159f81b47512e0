"""`jsonl`: log each event as one line of JSON."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from pydantic import Field

from aiflow.errors import NamedFileError
from aiflow.operators.base import Operator, Params, Port
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


class Jsonl(Operator[JsonlParams]):
    """Log each event as one line: conversation, turn, sequence, type, payload, created_at.

    A line is written whole and handed to the system before the event counts as processed,
    so a log that breaks off ends with a whole line.

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

    def process(self, payload: Any, scope: Scope) -> None:  # noqa: ANN401
        """Write one line."""
        line = json_line(payload, scope)
        path = self._path()
        if path is None:
            scope.show(line.decode())
            return
        try:
            # Opened anew for each line: nobody need close it when a turn is cancelled.
            with path.open("ab", buffering=0) as file:
                _append(file, line)
        except OSError as error:
            raise NamedFileError(
                str(self.params.path),
                f"no line can be added ({error.strerror or error}); make room or choose another",
            ) from error

    def check(self, policy: Policy) -> Iterator[str]:
        """Name the folder that is not there, and the file that is no log."""
        path = self._path()
        if path is None:
            return
        if not path.parent.is_dir():
            yield f"the folder of its file {self.params.path} does not exist"
        elif not _is_log(path):
            yield f"its file {self.params.path} holds something else than lines of a log"

    def _path(self) -> Path | None:
        if self.params.path is None:
            return None
        return (self.folders[0] if self.folders else Path()) / self.params.path


def _append(file: io.FileIO, line: bytes) -> None:
    """Add a line, whole: a disk that is nearly full takes a part and says nothing."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


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
