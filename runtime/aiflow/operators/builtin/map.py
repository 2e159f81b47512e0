"""`map`: change a field of each payload by an expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import msgspec
from pydantic import Field, field_validator

from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.expressions import Expression
from aiflow.operators.names import kind_of, names_of
from aiflow.operators.scope import Scope
from aiflow.types import ANY


class MapParams(Params):
    """Parameters of `map`."""

    expression: str = Field(
        "upper(text)",
        min_length=1,
        title="Expression",
        description="What the field becomes, such as replace(text, 'a', 'b'); the payload's"
        " fields are its names. None drops the event.",
        json_schema_extra={"x-editor": "code"},
    )
    field: str = Field(
        "text",
        min_length=1,
        title="Field",
        description="The field of the payload that takes the value.",
    )

    @field_validator("expression")
    @classmethod
    def _expression_can_be_read(cls, expression: str) -> str:
        Expression(expression)
        return expression


class Map(Operator[MapParams]):
    """Set one field of each payload to the value of an expression; the rest stays.

    The expression is no program: it has values, names, arithmetic, comparisons, if-else and
    a few functions, and cannot reach anything else (`aiflow.operators.expressions`).

    Emits when: an event arrives; the changed payload, or nothing where the value is None.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: the payload lacks a name or the field, or the value does not fit the field.
    """

    name = "map"
    title = "Map"
    category = "text"
    summary = "Changes a field of each payload by an expression."
    inputs = (Port("in", ANY, "anything with fields"),)
    outputs = (Port("out", ANY, "the same kind, changed", like="in"),)
    Params: ClassVar = MapParams

    def __init__(self, params: MapParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        self._expression = Expression(params.expression)

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the changed payload, None where it is dropped."""
        value = self._expression.evaluate(names_of(payload, scope))
        return None if value is None else _changed(payload, self.params.field, value)


def _changed(payload: object, field: str, value: object) -> object:
    """Return the payload with another value in one field.

    Raises:
        ValueError: it has no such field, or the field takes no such value.
    """
    if not isinstance(payload, msgspec.Struct) or field not in payload.__struct_fields__:
        raise ValueError(f"a {kind_of(payload)} has no field {field} that could be set")
    wanted = _type_of(type(payload), field)
    if wanted is str:
        return msgspec.structs.replace(payload, **{field: str(value)})
    try:
        fitting = msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise ValueError(
            f"the field {field} of a {kind_of(payload)} takes no such value: {error}"
        ) from error
    return msgspec.structs.replace(payload, **{field: fitting})


@cache
def _type_of(kind: type, field: str) -> Any:  # noqa: ANN401 - any annotation
    return get_type_hints(kind)[field]
