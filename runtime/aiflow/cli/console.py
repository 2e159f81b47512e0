"""Where a command's words go: results to stdout, all else to stderr, and nobody to nowhere.

A closed stdout or stderr (`>&-`) is no error and no output; a reader that went away
(`| head`) ends the command quietly, see `program`.
"""

from __future__ import annotations

import json
import sys

from aiflow.errors import reason_of

# A file, a provider or a model may put anything into a text: what would move the cursor or
# recolour the terminal is shown by the picture Unicode has for it.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


class OutputError(OSError):
    """Stdout takes no more, for another reason than that its reader has gone."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"stdout cannot be written: {reason_of(cause)}; make room for it")


def printable(text: str) -> str:
    """Return text that a terminal shows and does not obey; newlines and tabs stay."""
    return text.translate(_CONTROLS)


def put(text: str) -> None:
    """Print a result for a person, a line or more, to stdout."""
    put_data(printable(text))


def put_data(text: str) -> None:
    """Print a result for a program, such as a line of JSON, to stdout, letter for letter."""
    if sys.stdout is None:
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from error


def put_json(value: object, *, indent: int | None = 2) -> None:
    """Print a result as JSON to stdout; NaN and infinities never get here."""
    put_data(json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False))


def say(text: str) -> None:
    """Print a line for a person to stderr."""
    if sys.stderr is not None:
        print(printable(text), file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Print an error, one line, to stderr."""
    say("aiflow: " + " ".join(text.split()))
