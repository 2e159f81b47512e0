"""From a JSON document to a `Graph`, keeping whatever stands there.

Only what the model cannot hold at all is refused: a list that is no list, an entry without
an id. A wrong value of a known field goes to `extra` under its own name, so that it is
shown, reported by the compiler and written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from aiflow.errors import GraphFileError
from aiflow.graph.model import (
    DEFAULT_MAX_CONVERSATIONS,
    FARTHEST,
    FEEDBACK_FIELDS,
    Edge,
    Feedback,
    Graph,
    Json,
    Node,
    PortRef,
    Resource,
    Suppression,
    index_edges,
)

_HINT = "mend it in a text editor"
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
Entry = TypeVar("Entry")


def read_graph(document: Mapping[str, Json], version: tuple[int, int], where: str) -> Graph:
    """Return the graph of a document whose `format` and `version` have been looked at.

    Raises:
        GraphFileError: something has no place in the model; says which entry.
    """
    fields = _Fields(document, where)
    layout, odd_layout = _layout(fields.container("layout", dict))
    return Graph(
        name=fields.take("name", _is_text, ""),
        description=fields.take("description", _is_text, ""),
        version=version,
        max_conversations=fields.take("max_conversations", _is_int, DEFAULT_MAX_CONVERSATIONS),
        measure=tuple(fields.take("measure", _is_texts, ())),
        resources=_by_id(fields.entries("resources", _resource), "resources", where),
        nodes=_by_id(fields.entries("nodes", _node), "nodes", where),
        edges=index_edges(edge for _, edge in fields.entries("edges", _edge)),
        layout=layout,
        notes=tuple(fields.container("notes", list)),
        frames=tuple(fields.container("frames", list)),
        groups=tuple(fields.container("groups", list)),
        extra={**fields.rest("format", "version"), **odd_layout},
    )


class _Fields:
    """The fields of one object; what nobody takes is left for `extra`."""

    def __init__(self, entry: Mapping[str, Json], where: str) -> None:
        self._left = dict(entry)
        self._where = where

    def take(self, key: str, fits: Callable[[Json], bool], default: Json) -> Json:
        """Return a field's value, or the default where it is missing or does not fit."""
        if key in self._left and fits(self._left[key]):
            return self._left.pop(key)
        return default

    def container(self, key: str, kind: type) -> Any:  # noqa: ANN401 - a dict or a list
        """Return a list or object that must be one, empty where it is missing."""
        value = self._left.pop(key, kind())
        if not isinstance(value, kind):
            raise GraphFileError(self._where, f'"{key}" must be {_KINDS[kind]}', _HINT)
        return value

    def entries(
        self, key: str, read: Callable[[_Fields, str], Entry]
    ) -> Iterator[tuple[str, Entry]]:
        """Yield where each entry of a list stands, such as `nodes[3]`, and what it says."""
        for number, entry in enumerate(self.container(key, list)):
            place = f"{key}[{number}]"
            if not isinstance(entry, dict):
                raise GraphFileError(self._where, f"{place} must be an object", _HINT)
            yield place, read(_Fields(entry, self._where), place)

    def required(self, key: str, place: str) -> str:
        """Return a text that an entry cannot be held without."""
        value = self._left.pop(key, None)
        if not isinstance(value, str):
            raise GraphFileError(self._where, f'{place} needs an "{key}" that is text', _HINT)
        return value

    def rest(self, *ignored: str) -> dict[str, Json]:
        """Return what nobody took."""
        return {key: value for key, value in self._left.items() if key not in ignored}


def _node(fields: _Fields, place: str) -> Node:
    return Node(
        id=fields.required("id", place),
        operator=fields.take("operator", _is_text, ""),
        params=fields.take("params", _is_object, {}),
        policy=fields.take("policy", _is_object, {}),
        resources=fields.take("resources", _is_text_map, {}),
        is_disabled=fields.take("disabled", _is_bool, False),
        suppress=_suppress(fields.take("suppress", _are_suppressions, [])),
        extra=fields.rest(),
    )


def _suppress(entries: list[dict[str, Json]]) -> tuple[Suppression, ...]:
    known = ("code", "reason")
    return tuple(
        Suppression(
            entry["code"],
            entry.get("reason", ""),
            {key: value for key, value in entry.items() if key not in known},
        )
        for entry in entries
    )


def _edge(fields: _Fields, place: str) -> Edge:
    feedback = fields.take("feedback", _is_feedback, None)
    return Edge(
        source=PortRef.parse(fields.take("from", _is_text, "")),
        target=PortRef.parse(fields.take("to", _is_text, "")),
        fanout=fields.take("fanout", _is_text, "strict"),
        overflow=fields.take("overflow", _is_text, None),
        feedback=None if feedback is None else _feedback(feedback),
        extra=fields.rest(),
    )


def _feedback(entry: dict[str, Json]) -> Feedback:
    known = {key: entry[key] for key in FEEDBACK_FIELDS if key in entry}
    return Feedback(**known, extra={key: entry[key] for key in entry if key not in known})


def _resource(fields: _Fields, place: str) -> Resource:
    return Resource(
        id=fields.required("id", place),
        kind=fields.take("kind", _is_text, ""),
        params=fields.take("params", _is_object, {}),
        extra=fields.rest(),
    )


def _by_id(entries: Iterator[tuple[str, Any]], key: str, where: str) -> dict[str, Any]:
    """Index entries by id; a second one of the same id has no place in the model."""
    found: dict[str, Any] = {}
    for place, entry in entries:
        if entry.id in found:
            first = list(found).index(entry.id)
            raise GraphFileError(
                where,
                f'the id "{entry.id}" of {place} stands at {key}[{first}] too',
                "give one of the two another id",
            )
        found[entry.id] = entry
    return found


def _layout(
    entries: dict[str, Json],
) -> tuple[dict[str, tuple[float, float]], dict[str, Json]]:
    """Split the places of nodes from entries of another form, which are kept in `extra`."""
    good = {key: (at[0], at[1]) for key, at in entries.items() if _is_place(at)}
    odd = {key: at for key, at in entries.items() if key not in good}
    return good, {"layout": odd} if odd else {}


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_bool(value: Json) -> bool:
    return isinstance(value, bool)


def _is_int(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text_map(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_place(value: Json) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2  # noqa: PLR2004 - x and y
        and all(isinstance(part, int | float) and not isinstance(part, bool) for part in value)
        and all(abs(part) <= FARTHEST for part in value)
    )


def _is_feedback(value: Json) -> bool:
    return isinstance(value, dict) and all(
        _is_int(value[key]) for key in FEEDBACK_FIELDS if key in value
    )


def _are_suppressions(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("code"), str)
        and isinstance(item.get("reason", ""), str)
        for item in value
    )
