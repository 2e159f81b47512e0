"""The names that templates and expressions may use of an event: one place, one meaning.

Fields of the payload come first, then the plain entries of its `raw` or `data`, then what the
envelope says. Values only: nothing here can be called, and no attribute of one is reached.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from aiflow.events import Context
from aiflow.operators.scope import Scope

#: What every event has, whatever its payload.
ENVELOPE = ("kind", "conversation", "turn", "sequence", "input")

_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
# Mappings inside a payload whose entries are worth a name of their own.
_INNER = ("raw", "data")


def kind_of(payload: object) -> str:
    """Return the payload's kind as a word, such as `token` or `tool-call`."""
    return _INNER_CAPITAL.sub("-", type(payload).__name__).lower()


def names_of(payload: object, scope: Scope) -> dict[str, object]:
    """Return name -> value for one event.

    Args:
        payload: a struct, a dataclass or a mapping; anything else has no fields.
        scope: where the event stands.
    """
    fields = _fields_of(payload)
    names: dict[str, object] = {
        "kind": kind_of(payload),
        "conversation": scope.conversation,
        "turn": scope.turn,
        "sequence": scope.sequence,
        "input": scope.input or "",
    }
    for inner in _INNER:
        entries = fields.get(inner)
        if isinstance(entries, Mapping):
            names |= {key: value for key, value in entries.items() if isinstance(key, str)}
    return names | fields


def value_at(path: str, event: Context[Any]) -> object:
    """Return a field of an event's payload, or of its envelope: `conversation`, `source`, `kind`.

    Args:
        path: names with dots between them; each is a field, or the key of a mapping. As
            everywhere, the entries of a payload's `raw` and `data` have a name of their own.
        event: where to look.

    Raises:
        ValueError: there is no such field.
    """
    first, *others = path.split(".")
    fields = _fields_of(event.payload)
    envelope = {"conversation": event.conversation, "source": event.source}
    for place in (fields, *(fields.get(inner) for inner in _INNER), envelope):
        if isinstance(place, Mapping) and first in place:
            value = place[first]
            break
    else:
        kind = kind_of(event.payload)
        if first != "kind":
            raise missing_name(first, {**envelope, **fields, "kind": kind})
        value = kind
    for name in others:
        inside = _fields_of(value)
        if name not in inside:
            raise ValueError(f"there is no {name} in {path.partition('.' + name)[0]}")
        value = inside[name]
    return value


def missing_name(name: str, names: Mapping[str, object]) -> ValueError:
    """Return the error that says which name there is not, and which there are."""
    return ValueError(
        f"there is no {name} in this {names.get('kind', 'payload')};"
        f" it has {', '.join(sorted(names))}"
    )


def _fields_of(payload: object) -> dict[str, object]:
    if isinstance(payload, msgspec.Struct):
        return {name: getattr(payload, name) for name in payload.__struct_fields__}
    if isinstance(payload, Mapping):
        return {name: value for name, value in payload.items() if isinstance(name, str)}
    if dataclasses.is_dataclass(payload):
        return {field.name: getattr(payload, field.name) for field in dataclasses.fields(payload)}
    return {}
