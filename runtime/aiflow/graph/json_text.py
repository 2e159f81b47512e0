"""JSON text and back, with numbers kept as written and one canonical form.

Knows nothing of graphs: `reader` and `writer` do. What the standard parser lets through and
we refuse: keys that come twice, NaN and Infinity, text that is too long or nested too deep.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any, NoReturn

from aiflow.errors import GraphFileError

#: Bytes of a file that we read at most; the largest graph that makes sense has a hundredth.
MAX_BYTES = 16 * 2**20
#: Arrays and objects inside one another, at most.
MAX_DEPTH = 64
#: Columns that an array or object may take to stay on one line.
WIDTH = 100

# Python refuses to turn longer texts into an int and back, so they stay text.
_LONGEST_INT = 4000
_LARGEST_INT = 10**_LONGEST_INT
#: How the files of `aiflow run --events` and `--metrics` begin, which are easily taken for graphs.
_RUN = '{"record":"run"'
_SURROGATE = re.compile("[\ud800-\udfff]")
_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|-?Infinity|NaN', re.DOTALL)


class WrittenNumber(float):
    """A number that remembers how it was written, such as `0.250` or `1e3`."""

    __slots__ = ("text",)

    def __new__(cls, text: str) -> WrittenNumber:
        """Read a JSON number; one too large for a float is infinite and keeps its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __reduce__(self) -> tuple[type[WrittenNumber], tuple[str]]:
        return WrittenNumber, (self.text,)


class _FlawError(Exception):
    """Something the standard parser does not mind; where it stands is looked up afterwards."""


def parse(text: str | bytes, where: str) -> Any:  # noqa: ANN401 - JSON is any value
    """Return the value that a JSON text stands for.

    Args:
        text: at most `MAX_BYTES`; a byte order mark is skipped.
        where: what is read, for the error.

    Raises:
        GraphFileError: it is not the JSON that a graph file may hold.
    """
    if len(text) > MAX_BYTES:
        raise too_large(where, len(text))
    text = _decode(text, where).removeprefix("\ufeff")
    if not text.strip():
        raise GraphFileError(where, "the file is empty", "open a graph, or start with a new one")
    try:
        value = json.loads(
            text,
            parse_float=WrittenNumber,
            parse_int=_parse_int,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        if text.startswith(_RUN):
            reason, hint = "it is the record of a run, not a graph", "open the graph that was run"
            raise GraphFileError(where, reason, hint) from error
        reason = f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        hint = "mend that place in a text editor, or take a copy of the file"
        raise GraphFileError(where, reason, hint) from error
    except _FlawError as error:
        raise _flaw(text, where) from error
    except RecursionError as error:
        raise _too_deep(where) from error
    if _depth_exceeds(value, MAX_DEPTH):
        raise _too_deep(where)
    return value


def render(value: Any, where: str, depth: int = 0, *, open_levels: int = 0) -> str:  # noqa: ANN401 - any plain value
    """Return the canonical JSON text of a value.

    What fits on one line of `WIDTH` columns stands on one line; the rest is indented by two
    spaces per level. Text outside ASCII is not escaped.

    Args:
        value: plain JSON values.
        where: what is written, for the error.
        depth: level at which the text will stand, for the indentation.
        open_levels: so many levels are never put on one line, unless they are empty.

    Raises:
        GraphFileError: something in it has no form in JSON.
    """
    if not isinstance(value, Mapping | list | tuple):
        return _scalar(value, where)
    if depth >= MAX_DEPTH:
        raise _too_deep(where)
    if not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    if open_levels <= 0:
        line = _one_line(value, where, depth)
        if len(line) + 2 * depth <= WIDTH:
            return line
    inner = "  " * (depth + 1)
    deeper = {"depth": depth + 1, "open_levels": open_levels - 1}
    if isinstance(value, Mapping):
        parts = [
            f"{inner}{_key(key, where)}: {render(item, where, **deeper)}"
            for key, item in value.items()
        ]
        ends = "{}"
    else:
        parts = [f"{inner}{render(item, where, **deeper)}" for item in value]
        ends = "[]"
    return ends[0] + "\n" + ",\n".join(parts) + "\n" + "  " * depth + ends[1]


def too_large(where: str, size: int) -> GraphFileError:
    """Return the error for a file of `size` bytes."""
    return GraphFileError(
        where,
        f"too large for a graph: {size / 2**20:.0f} MB, at most {MAX_BYTES // 2**20} MB are read",
        "check that it is the right file",
    )


def _decode(text: str | bytes, where: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphFileError(
            where, f"not UTF-8 text (byte {error.start})", "save it as UTF-8 in a text editor"
        ) from error


def _parse_int(text: str) -> int | WrittenNumber:
    # `-0` would come back as 0, and very long numbers not at all.
    return WrittenNumber(text) if text == "-0" or len(text) > _LONGEST_INT else int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise _FlawError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _FlawError
    return value


def _flaw(text: str, where: str) -> GraphFileError:
    """Say what the parser's hooks refused, and where it stands."""
    keys: list[set[str]] = []
    pieces = list(_PIECES.finditer(text))
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        word = piece.group()
        if word in "{[":
            keys.append(set())
        elif word in "}]":
            keys.pop()
        elif word[-1] in "yN":
            reason = f"{word} at {_place(text, piece.start())} is no JSON number"
            return GraphFileError(where, reason, "write a finite number")
        elif following is not None and following.group() == ":":
            key = json.loads(word)
            if key in keys[-1]:
                place = _place(text, piece.start())
                reason = f"the key {word} at {place} stands twice in one object"
                return GraphFileError(where, reason, "remove one of the two")
            keys[-1].add(key)
    raise AssertionError("the parser refused a text without a flaw")


def _place(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - text.rfind(chr(10), 0, offset)}"


def _too_deep(where: str) -> GraphFileError:
    return GraphFileError(
        where,
        f"nested too deep for a graph: more than {MAX_DEPTH} levels",
        "check that it is the right file",
    )


def _depth_exceeds(value: Any, limit: int) -> bool:  # noqa: ANN401 - any plain value
    level = [value]
    for _ in range(limit):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)


def _key(key: Any, where: str) -> str:  # noqa: ANN401 - any plain value
    if not isinstance(key, str):
        raise GraphFileError(where, "a key that is no text cannot be written as JSON", "use text")
    return _string(key)


def _string(text: str) -> str:
    quoted = encode_basestring(text)
    # Half of a pair of surrogates has no form in UTF-8; JSON can still spell it.
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", quoted)


def _one_line(value: Any, where: str, depth: int) -> str:  # noqa: ANN401 - any plain value
    if not isinstance(value, Mapping | list | tuple):
        return _scalar(value, where)
    if depth >= MAX_DEPTH:
        raise _too_deep(where)
    if isinstance(value, Mapping):
        parts = (
            f"{_key(key, where)}: {_one_line(item, where, depth + 1)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    return "[" + ", ".join(_one_line(item, where, depth + 1) for item in value) + "]"


def _scalar(value: Any, where: str) -> str:  # noqa: ANN401 - one line per kind
    if isinstance(value, str):
        return _string(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and -_LARGEST_INT <= value <= _LARGEST_INT:
        return int.__repr__(value)
    if isinstance(value, WrittenNumber):
        return value.text
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    raise GraphFileError(
        where,
        f"a value of type {type(value).__name__} cannot be written as JSON",
        "use text, finite numbers, true, false, null, arrays and objects",
    )
