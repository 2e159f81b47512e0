"""Arguments of a tool call that come value by value, each with its place (Vertex `partialArgs`).

A text comes in pieces at one place and is joined; any other value comes whole. What stands at a
place that cannot be, such as the fifth entry of an empty list, is left out and said so.

Source: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Content#PartialArg
and RFC 9535, of whose paths only names and indexes lead to one value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

# One step: `.name`, `['name']`, `["name"]` or `[0]`.
_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
    r"""|\[(?P<index>\d{1,9})\]"""
)
_ESCAPED = re.compile(r"\\(.)")
_NOTHING = object()


class PartialArguments:
    """The arguments of one call, as far as they have come.

    Attributes:
        value: the object so far.
    """

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}

    def add(self, part: Mapping[str, Any]) -> bool:
        """Take one part; return False where it has no place or no value that can be read."""
        steps = _steps(part.get("jsonPath"))
        value = _value(part)
        if not steps or value is _NOTHING:
            return False
        place: Any = self.value
        for step, following in pairwise(steps):
            place = _enter(place, step, [] if isinstance(following, int) else {})
        return _put(place, steps[-1], value)


def _steps(path: object) -> list[str | int]:
    """Return the steps of a path below `$`; [] where it is none that leads to one value."""
    if not isinstance(path, str) or not path.startswith("$"):
        return []
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return []
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            name = found["name"] or found["single"] or found["double"] or ""
            steps.append(_ESCAPED.sub(r"\1", name))
        position = found.end()
    return steps


def _value(part: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    for name in ("stringValue", "numberValue", "boolValue"):
        if name in part:
            return part[name]
    return None if "nullValue" in part else _NOTHING


def _enter(place: Any, step: str | int, new: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands at a step, made where nothing does; None where nothing can."""
    there = _at(place, step)
    if isinstance(there, dict | list):
        return there
    is_free = there is None and _put(place, step, new)
    return new if is_free else None


def _at(place: Any, step: str | int) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(place, dict) and isinstance(step, str):
        return place.get(step)
    if isinstance(place, list) and isinstance(step, int) and step < len(place):
        return place[step]
    return None


def _put(place: Any, step: str | int, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    before = _at(place, step)
    if isinstance(before, str) and isinstance(value, str):
        value = before + value
    if isinstance(place, dict) and isinstance(step, str):
        place[step] = value
        return True
    if isinstance(place, list) and isinstance(step, int) and step <= len(place):
        # The next entry at most: a number from outside must not fill the memory.
        place[step : step + 1] = [value]
        return True
    return False
