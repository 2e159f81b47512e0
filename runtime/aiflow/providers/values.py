"""Values of any JSON, taken as what they should be; what is something else counts as not there.

Providers leave fields out, send null for them, or change their type. A reader asks for what it
can use and never fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiflow.providers.text import scrub

_NOTHING: Mapping[str, Any] = {}


def raw_text(value: object) -> str:
    """Return text as it came: halves of characters are joined later, over deltas."""
    return value if isinstance(value, str) else ""


def text(value: object) -> str:
    """Return text that can be encoded."""
    return scrub(value) if isinstance(value, str) else ""


def items(value: object) -> Sequence[Any]:
    """Return a list's items."""
    return value if isinstance(value, list) else ()


def objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    return [entry for entry in items(value) if isinstance(entry, Mapping)]


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object."""
    return value if isinstance(value, Mapping) else _NOTHING


def count(value: object) -> int | None:
    """Return a number of tokens; None where it is not known."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
