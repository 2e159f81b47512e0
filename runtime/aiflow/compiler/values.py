"""Given values against a model: what fits, and what is wrong with the rest, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that keeps given values from being a model.

    Attributes:
        field: name of the field, `retry.attempts` for an inner one; "" for the whole.
        message: a clause that follows the field's name: "must be 1 or more".
        is_unknown: there is no field of that name.
        choices: names of the fields there are, where it is unknown.
    """

    field: str
    message: str
    is_unknown: bool = False
    choices: tuple[str, ...] = ()


def validated(
    model: type[Model], given: Mapping[str, Any]
) -> tuple[Model | None, tuple[Flaw, ...]]:
    """Return the model that the values make, or None and what is wrong with them.

    The values are held to JSON's types: true is no number, and "8" is none either.
    """
    try:
        text = json.dumps(given)
    except (TypeError, ValueError) as error:
        return None, (Flaw("", f"cannot be written as JSON ({error})"),)
    try:
        return model.model_validate_json(text, strict=True), ()
    except ValidationError as error:
        flaws = error.errors(include_url=False, include_context=False)
        return None, tuple(_flaw(model, given, flaw) for flaw in flaws)
    except Exception as error:  # noqa: BLE001 - a plug-in's validator may fail in any way
        return None, (Flaw("", f"cannot be looked at ({type(error).__name__}: {error})"),)


def made(make: Callable[..., Made], *args: Any) -> tuple[Made | None, tuple[Flaw, ...]]:
    """Return what `make` makes of valid params, or None and the reason it did not."""
    try:
        return make(*args), ()
    except Exception as error:  # noqa: BLE001 - a plug-in's constructor may fail in any way
        return None, (Flaw("", f"cannot be used ({type(error).__name__}: {error})"),)


def _flaw(model: type[BaseModel], given: Mapping[str, Any], flaw: ErrorDetails) -> Flaw:
    field = _field(flaw["loc"], given)
    if flaw["type"] == "extra_forbidden":
        *outer, _ = flaw["loc"]
        return Flaw(field, "is unknown", is_unknown=True, choices=_choices(model, outer))
    if flaw["type"] == "missing":
        return Flaw(field, "must be given")
    text = flaw["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if text.startswith("Input should be "):
        value = flaw["input"]
        has = f"is {json.dumps(value)}, but " if isinstance(value, int | float) else ""
        return Flaw(field, f"{has}must be {text.removeprefix('Input should be ')}")
    return Flaw(field, f"does not fit: {text[:1].lower()}{text[1:]}")


def _field(place: tuple[int | str, ...], given: Any) -> str:  # noqa: ANN401 - JSON is any value
    """Return the part of a place that stands in the file: pydantic adds names of branches."""
    parts: list[str] = []
    for part in place:
        is_there = (isinstance(given, Mapping) and part in given) or (
            isinstance(given, list) and isinstance(part, int) and part < len(given)
        )
        if not is_there and parts:
            break
        parts.append(str(part))
        given = given[part] if is_there else None
    return ".".join(parts)


def _choices(model: type[BaseModel], outer: list[int | str]) -> tuple[str, ...]:
    """Return the names of the fields at a place within a model; none where it is not clear."""
    for part in outer:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return ()
        model = annotation
    return tuple(model.model_fields)
