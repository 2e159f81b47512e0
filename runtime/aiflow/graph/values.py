"""Plain helpers on the mappings of a graph: every one returns a new value or the same object."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from aiflow.graph.model import Json

Value = TypeVar("Value")


class Unset:
    """What a merge takes for "leave this field out again"."""


UNSET = Unset()


def free_id(stem: str, taken: Collection[str]) -> str:
    """Return an id made from a text that is not taken: `speech`, then `speech-2`."""
    base = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-").lstrip("0123456789_-") or "node"
    if base not in taken:
        return base
    number = 2
    while f"{base}-{number}" in taken:
        number += 1
    return f"{base}-{number}"


def renamed_key(mapping: Mapping[str, Value], old: str, new: str) -> dict[str, Value]:
    """Rename a key in its place; whatever stood under the new name already gives way."""
    return {
        (new if key == old else key): value
        for key, value in mapping.items()
        if key != new or old not in mapping
    }


def without(mapping: Mapping[str, Value], keys: Iterable[str]) -> Mapping[str, Value]:
    """Return the mapping without these keys; the same object where none was there."""
    gone = set(keys) & mapping.keys()
    return {k: v for k, v in mapping.items() if k not in gone} if gone else mapping


def merged(before: Mapping[str, Value], changes: Mapping[str, Value | Unset]) -> dict[str, Value]:
    """Return the mapping with these fields set, and those left out that are `UNSET`."""
    after: dict[str, Any] = {**before, **changes}
    return {key: value for key, value in after.items() if value is not UNSET}


def same(one: Json, other: Json) -> bool:
    """Compare JSON values; Python holds True for 1, JSON does not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
