"""Where a command's words go: results to stdout, all else to stderr, and nobody to nowhere.

A closed stdout or stderr (`>&-`) is no error and no output; a reader that went away
(`| head`) ends the command quietly, see `program`.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import sys
from collections.abc import Iterator, Mapping

from aiflow.errors import reason_of

# A file, a provider or a model may put anything into a text: what would move the cursor or
# recolour the terminal is shown by the picture Unicode has for it.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
# How letters are written that an encoding does not have: see `never_fail_to_encode`.
_PLAIN, _ESCAPES = "aiflow-plain", "aiflow-escapes"
_SIGNS = {
    **{"│": "|", "·": "-", "–": "-", "→": "->", "←": "<-", "…": "...", "−": "-"},
    **{"■": "#", "□": ".", "×": "x", "≥": ">=", "≤": "<=", "µ": "u", "∞": "no limit"},
    **{"ρ": "rho", "σ": "sigma"},
}
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
    shown = printable(text)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == _ESCAPES:
        encoding = sys.stdout.encoding
        shown = shown.encode(encoding, _PLAIN).decode(encoding)
    put_data(shown)


def put_data(text: str) -> None:
    """Print a result for a program, such as a line of JSON, to stdout, letter for letter."""
    if sys.stdout is None:
        return
    with plain_failure():
        print(text, flush=True)


@contextlib.contextmanager
def plain_failure() -> Iterator[None]:
    """Say that it is stdout that takes no more; a reader that went away stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from error


def never_fail_to_encode() -> None:
    """Let stdout and stderr write what their encoding has no letters for.

    For a person our own signs, such as a bar, become plain letters; for a program, which reads
    JSON, every letter becomes JSON's escape of it. Without this an old terminal would end a run.
    """
    codecs.register_error(_PLAIN, lambda error: _written(error, _SIGNS))
    codecs.register_error(_ESCAPES, lambda error: _written(error, {}))
    for stream, for_person in ((sys.stdout, False), (sys.stderr, True)):
        if isinstance(stream, io.TextIOWrapper):
            is_plain = for_person or stream.isatty()
            stream.reconfigure(errors=_PLAIN if is_plain else _ESCAPES)


def _written(error: UnicodeError, signs: Mapping[str, str]) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    return signs.get(letter) or json.dumps(letter)[1:-1], error.start + 1


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
