"""A file of lines that a run writes while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aiflow.cli.exits import UsageError, unwritable
from aiflow.cli.files import is_replaceable

# How every file of a run begins, see `engine.eventlog`.
_FIRST_BYTES = b'{"record":"run"'


class LineFile:
    """Writes lines until the file fails; a full disk ends the run in order, not in mid-event.

    Args:
        name: path of the file; that of an earlier run is replaced, any other is left alone.

    Attributes:
        error: why no more is written, None while all is well.
        on_error: called once when the file fails.

    Raises:
        UsageError: it cannot be opened, or holds something else than a run.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.error: UsageError | None = None
        self.on_error: Callable[[], None] | None = None
        try:
            if not is_replaceable(Path(name), _FIRST_BYTES):
                reason = "it exists and holds something else than an earlier run"
                raise UsageError(f"{name} is not replaced: {reason}; choose another name")
            self._file = open(name, "w", encoding="utf-8", newline="\n")  # noqa: SIM115 - see close
        except OSError as error:
            raise unwritable(name, error) from error

    def write(self, line: str) -> None:
        """Add a line; never raises."""
        if self.error is None:
            try:
                self._file.write(line + "\n")
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Write what is left and close; never raises, safe to repeat."""
        try:
            self._file.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if self.error is None:
            self.error = unwritable(self._name, error)
            if self.on_error is not None:
                self.on_error()
