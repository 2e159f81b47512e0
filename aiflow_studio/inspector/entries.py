"""From what a person typed to a plain value and back, and why an entry is refused.

Pure, without Qt. Every editor speaks text (an *entry*); here a text becomes the JSON value
that a file holds. Whether a value is right is the model's own word: `fault_of` asks pydantic
and says it in a sentence that names the field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from aiflow.graph.values import UNSET
from aiflow_studio.inspector.fields import FieldSpec, Kind, plain

_WHOLE = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?", re.ASCII | re.IGNORECASE
)
# Long, of capital and small letters and digits mixed: rather a key than the name of one.
_KEY_LIKE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9]).{20,}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

# Whole floats from here on are shown with their exponent.
_LONGEST_WHOLE = 1e15

_NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER})
_WORDS = {True: "true", False: "false"}


class EntryError(ValueError):
    """An entry that is no value of its field; the text is one sentence that says why."""


def read(spec: FieldSpec, entry: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the plain value that an entry means.

    Raises:
        EntryError: the entry means no value of this kind; bounds are not looked at.
    """
    if not entry.strip() and spec.is_optional:
        return None
    if not entry.strip() and spec.kind in _NUMBERS | {Kind.JSON}:
        raise EntryError(f"{expectation(spec)} It must not be empty.")
    value = _READERS.get(spec.kind, _read_text)(spec, entry)
    if not _is_writable(value):
        raise EntryError(f"{spec.label} has a character or a number that no file can hold.")
    return value


def write(spec: FieldSpec, value: object) -> str:
    """Return the entry that shows a plain value, of whatever type the file gave it."""
    if value is UNSET or (value is None and (spec.is_optional or spec.kind is not Kind.JSON)):
        return ""
    if spec.kind is Kind.LINES and isinstance(value, list | tuple):
        return _write_lines([*value])
    if isinstance(value, str) and spec.kind is not Kind.JSON:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_WHOLE:
        return str(int(value))
    return json.dumps(plain(value), ensure_ascii=False)


def expectation(spec: FieldSpec) -> str:
    """Say in one sentence what the field takes."""
    if spec.kind is Kind.CHOICE:
        return f"{spec.label} is one of {', '.join(write(spec, each) for each in spec.choices)}."
    if spec.kind not in _NUMBERS:
        return f"{spec.label} is {_NOUNS.get(spec.kind, 'a text')}."
    noun = "a whole number" if spec.kind is Kind.INTEGER else "a number"
    empty = ", or empty" if spec.is_optional else ""
    return f"{spec.label} is {noun}{_range(spec)}{empty}."


def fault_of(model: type[BaseModel], given: Mapping[str, Any], spec: FieldSpec) -> str:
    """Say in one sentence why a field of `given` cannot be accepted; "" where it can.

    Faults of other fields do not count here: they are shown at their own. Values are held to
    JSON's types, as the compiler holds them: "4" in a file is no number.
    """
    try:
        model.model_validate_json(json.dumps(given, default=str), strict=True)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            place = each["loc"]
            # Half a pair of surrogates in any field spoils the text, and is no fault of this one.
            if each["type"] != "json_invalid" and (not place or place[0] == spec.name):
                return _sentence(spec, each["type"], each["msg"], each.get("ctx", {}))
    return ""


# Pydantic's words for what goes wrong most, in ours.
_SENTENCES = {
    "missing": "{label} is needed and has no value.",
    "string_type": "{label} must be a text.",
    "string_too_long": "{label} must have at most {max_length} letters.",
    "string_pattern_mismatch": "{label} must match the pattern {pattern}.",
    "too_short": "{label} needs at least {min_length} entries.",
    "too_long": "{label} takes at most {max_length} entries.",
}


def _sentence(spec: FieldSpec, kind: str, message: str, context: Mapping[str, Any]) -> str:
    if kind in {"string_too_short", "too_short"} and context.get("min_length") == 1:
        return f"{spec.label} must not be empty."
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(label=spec.label, **context)
    if kind == "value_error":
        return f"{spec.label}: {message.removeprefix('Value error, ').rstrip('.')}."
    if spec.kind in _NUMBERS | {Kind.CHOICE, Kind.SWITCH}:
        return expectation(spec)
    return f"{spec.label}: {message[:1].lower()}{message[1:].rstrip('.')}."


def _range(spec: FieldSpec) -> str:
    low, high = _figure(spec.low), _figure(spec.high)
    parts = []
    if low and high and not (spec.low_is_open or spec.high_is_open):
        parts.append(f" from {low} to {high}")
    else:
        if low:
            parts.append(f" above {low}" if spec.low_is_open else f", {low} or more")
        if high:
            joint = " and" if low else ""
            parts.append(
                f"{joint} below {high}" if spec.high_is_open else f"{joint} at most {high}"
            )
    if spec.step:
        parts.append(f" in steps of {_figure(spec.step)}")
    return "".join(parts)


def _figure(number: float | None) -> str:
    if number is None or math.isinf(number):
        return ""
    return f"{int(number):,}" if float(number).is_integer() else f"{number:g}"


def _is_writable(value: object) -> bool:
    """Say whether UTF-8 and JSON can hold a value: no half surrogate pair, no infinity."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _read_text(spec: FieldSpec, entry: str) -> str:
    return entry


def _read_integer(spec: FieldSpec, entry: str) -> int:
    if not _WHOLE.fullmatch(entry.strip()):
        raise EntryError(expectation(spec))
    return int(entry)


def _read_number(spec: FieldSpec, entry: str) -> float:
    text = entry.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _DECIMAL.fullmatch(text) or math.isinf(float(text)):
        raise EntryError(expectation(spec))
    return float(text)


def _read_switch(spec: FieldSpec, entry: str) -> bool:
    for value, word in _WORDS.items():
        if entry.strip().lower() == word:
            return value
    raise EntryError(f"{spec.label} is true or false.")


def _read_choice(spec: FieldSpec, entry: str) -> Any:  # noqa: ANN401 - any plain value
    for choice in spec.choices:
        if entry.strip() == write(spec, choice):
            return choice
    raise EntryError(expectation(spec))


def _read_lines(spec: FieldSpec, entry: str) -> list[str]:
    if entry.startswith("["):
        try:
            value = json.loads(entry)
        except ValueError:
            value = None
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
    return [line for line in entry.split("\n") if line]


def _write_lines(value: list[Any]) -> str:
    # A list that lines cannot say unmistakably is written as JSON, which `_read_lines` reads too.
    if all(isinstance(each, str) for each in value):
        text = "\n".join(value)
        if _READERS[Kind.LINES](_ANY_LINES, text) == value:
            return text
    return json.dumps(plain(value), ensure_ascii=False)


def _read_secret_name(spec: FieldSpec, entry: str) -> str:
    # What does not look like a name may be the secret itself, which no file may hold.
    if entry and (not _VARIABLE.fullmatch(entry) or _KEY_LIKE.fullmatch(entry)):
        raise EntryError(
            f"{spec.label} is the name of an environment variable, such as OPENAI_API_KEY,"
            " never the secret itself."
        )
    return entry


def _read_json(spec: FieldSpec, entry: str) -> Any:  # noqa: ANN401 - any plain value
    try:
        return json.loads(entry, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise EntryError(f"{spec.label} is JSON, and this is none: {error}.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_READERS = {
    Kind.INTEGER: _read_integer,
    Kind.NUMBER: _read_number,
    Kind.SWITCH: _read_switch,
    Kind.CHOICE: _read_choice,
    Kind.LINES: _read_lines,
    Kind.SECRET_NAME: _read_secret_name,
    Kind.JSON: _read_json,
}
_NOUNS = {
    Kind.SWITCH: "true or false",
    Kind.LINES: "a list, one entry a line",
    Kind.PATH: "the path of a file",
    Kind.SAVE_PATH: "the path of a file",
    Kind.JSON: "a JSON value",
}
_ANY_LINES = FieldSpec("lines", "Lines", Kind.LINES)
