"""What kind of editor each field of a model wants: pydantic fields become `FieldSpec`s.

Pure, without Qt. Which widget serves which kind: `editors`. How an entry becomes a value
and back, and why one is refused: `entries`. Order in the class is order on the screen.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from aiflow.graph.values import UNSET


class Kind(StrEnum):
    """What sort of entry a field takes."""

    TEXT = "text"
    MULTILINE = "multiline"
    CODE = "code"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    SUGGEST = "suggest"
    LINES = "lines"
    PATH = "path"
    SAVE_PATH = "save-path"
    SECRET_NAME = "secret-name"
    GROUP = "group"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a form.

    Attributes:
        name: key in the file. `label`: what a person reads.
        default: plain JSON value that holds where nothing is given; UNSET where it is required.
        is_optional: None is a value too; an empty entry means it.
        low, high: bounds of a number, None where there is none; `low_is_open`, `high_is_open`:
            the bound itself is not allowed. `step`: the number must be a multiple of it.
        choices: plain JSON values of a choice, or suggestions of a free entry.
        members: fields of a nested model. `model`: that model.
        is_late: applied when the entry is finished, not with every letter.
        empty: what an optional field shows where it has no value.
        idle: why it has no effect here, "" where it has one; it then takes an entry only to
            take out what the file says.
    """

    name: str
    label: str
    kind: Kind
    default: Any = UNSET
    is_optional: bool = False
    low: float | None = None
    high: float | None = None
    low_is_open: bool = False
    high_is_open: bool = False
    step: float | None = None
    unit: str = ""
    choices: tuple[Any, ...] = ()
    help: str = ""
    symbol: str = ""
    members: tuple[FieldSpec, ...] = ()
    model: type[BaseModel] | None = None
    is_late: bool = False
    empty: str = "not set"
    idle: str = ""

    @property
    def is_required(self) -> bool:
        """Whether the file must give a value."""
        return self.default is UNSET


def fields_of(model: type[BaseModel]) -> tuple[FieldSpec, ...]:
    """Return the form of a model, one spec per field in the order of the class."""
    return tuple(_field(name, info) for name, info in model.model_fields.items())


def plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return `value` as the plain JSON value that a file holds."""
    return to_jsonable_python(value, fallback=str)


def _field(name: str, info: FieldInfo) -> FieldSpec:
    inner, metadata, is_optional = _unwrap(info.annotation, list(info.metadata))
    extra: Mapping[str, Any] = (
        info.json_schema_extra if isinstance(info.json_schema_extra, Mapping) else {}
    )
    kind, choices = _kind(inner, extra)
    unit = str(extra.get("x-unit", ""))
    nested = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
    default = UNSET if info.is_required() else plain(info.get_default(call_default_factory=True))
    return FieldSpec(
        name=name,
        label=info.title or _label(name, unit),
        kind=kind,
        default=default,
        is_optional=is_optional,
        unit=unit,
        choices=choices,
        help=info.description or "",
        symbol=str(extra.get("x-symbol", "")),
        members=fields_of(nested) if nested is not None else (),
        model=nested,
        # Not a letter of a secret that was pasted by mistake may get into the document.
        is_late=kind is Kind.SECRET_NAME or bool(extra.get("x-late", False)),
        **_bounds(metadata),
    )


def _label(name: str, unit: str) -> str:
    """Return a key as words; a unit that ends the key stands beside the field anyway."""
    words = name.removesuffix(f"_{unit}") if unit else name
    return words.replace("_", " ").capitalize()


def _unwrap(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any], bool]:  # noqa: ANN401 - annotations are any object
    """Take `Annotated` and `| None` off a type; what `Annotated` carried joins the metadata."""
    is_optional = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *carried = get_args(annotation)
            for each in carried:
                metadata.extend(each.metadata if isinstance(each, FieldInfo) else [each])
        elif origin in {Union, types.UnionType}:
            others = [each for each in get_args(annotation) if each is not types.NoneType]
            if len(others) == len(get_args(annotation)) or len(others) != 1:
                return annotation, metadata, is_optional or len(others) < len(get_args(annotation))
            annotation, is_optional = others[0], True
        else:
            return annotation, metadata, is_optional


# First match wins: a bool is an int too.
_BY_TYPE = (
    (BaseModel, Kind.GROUP),
    (bool, Kind.SWITCH),
    (int, Kind.INTEGER),
    (float, Kind.NUMBER),
    (str, Kind.TEXT),
    (PurePath, Kind.PATH),
)
# Kinds that a field asks for by name, with `x-editor`.
_NAMED = {Kind.MULTILINE, Kind.CODE, Kind.PATH, Kind.SAVE_PATH, Kind.SECRET_NAME}
_LINED = {tuple, list, set, frozenset, Sequence}


def _kind(inner: Any, extra: Mapping[str, Any]) -> tuple[Kind, tuple[Any, ...]]:  # noqa: ANN401 - annotations are any object
    """Return the kind of a bare type, and what there is to choose from."""
    origin, parts = get_origin(inner), get_args(inner)
    if origin is Literal:
        return Kind.CHOICE, tuple(plain(each) for each in parts)
    if origin in _LINED and set(parts) <= {str, Ellipsis}:
        return Kind.LINES, ()
    if inner is str:
        return _text_kind(extra)
    if isinstance(inner, type) and issubclass(inner, Enum):
        return Kind.CHOICE, tuple(plain(each) for each in inner)
    return next((kind for base, kind in _BY_TYPE if _is_a(inner, base)), Kind.JSON), ()


def _is_a(inner: Any, base: type) -> bool:  # noqa: ANN401 - annotations are any object
    return isinstance(inner, type) and issubclass(inner, base)


def _text_kind(extra: Mapping[str, Any]) -> tuple[Kind, tuple[Any, ...]]:
    choices = extra.get("x-choices", ())
    suggestions = tuple(choices) if isinstance(choices, list | tuple) else ()
    editor = str(extra.get("x-editor", ""))
    if editor in _NAMED:
        return Kind(editor), suggestions
    return (Kind.SUGGEST if suggestions else Kind.TEXT), suggestions


def _bounds(metadata: Sequence[Any]) -> dict[str, Any]:
    """Return the bounds that `ge`, `gt`, `le`, `lt` and `multiple_of` set."""
    found: dict[str, Any] = {}
    for each in metadata:
        for key, target, is_open in (
            ("ge", "low", False),
            ("gt", "low", True),
            ("le", "high", False),
            ("lt", "high", True),
        ):
            value = getattr(each, key, None)
            if isinstance(value, int | float):
                found |= {target: value, f"{target}_is_open": is_open}
        if isinstance(step := getattr(each, "multiple_of", None), int | float):
            found["step"] = step
    return found
