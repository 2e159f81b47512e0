"""The command line: parse, call, print; one file a command.

What a command does is in the rooms below; nothing imports this one. `main` is the program
`aiflow`, and `python -m aiflow`.
"""

from __future__ import annotations

from collections.abc import Sequence

_INTERRUPTED = 130

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `program.main`."""
    try:
        # Reading all the modules takes most of a short command's time: Ctrl+C in it is no bug.
        from aiflow.cli import program  # noqa: PLC0415

        return program.main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
