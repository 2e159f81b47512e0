"""Where a command's words go: results to stdout, all else to stderr, and nobody to nowhere.

A closed stdout or stderr (`>&-`) is no error and no output; a reader that went away
(`| head`) ends the command quietly, see `program`.
"""

from __future__ import annotations

import json
import sys


def put(text: str) -> None:
    """Print a result, a line or more, to stdout."""
    if sys.stdout is not None:
        print(text, flush=True)


def put_json(value: object, *, indent: int | None = 2) -> None:
    """Print a result as JSON to stdout; NaN and infinities never get here."""
    put(json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False))


def say(text: str) -> None:
    """Print a line for a person to stderr."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Print an error, one line, to stderr."""
    say("aiflow: " + " ".join(text.split()))
