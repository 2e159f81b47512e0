"""`template`: make a text of an event's fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from aiflow.events import Message
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.names import missing_name, names_of
from aiflow.operators.scope import Scope
from aiflow.types import ANY, MESSAGE

# Two braces are one brace; one brace is a place, whatever stands in it.
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TemplateParams(Params):
    """Parameters of `template`."""

    template: str = Field(
        "{text}",
        title="Template",
        description="The text, with names in braces: a field of the payload, or conversation,"
        " turn, sequence, kind, input. {{ and }} are braces.",
        json_schema_extra={"x-editor": "multiline"},
    )
    role: Literal["user", "assistant", "system"] = Field(
        "user",
        title="Role",
        description="Whose message it is; a prompt for a model is the user's.",
    )

    @field_validator("template")
    @classmethod
    def _braces_hold_names(cls, template: str) -> str:
        for part in _PART.finditer(template):
            if part[0] in ("{{", "}}"):
                continue
            if part[1] is None or not _NAME.fullmatch(part[1]):
                raise ValueError(
                    f"{part[0]!r} at letter {part.start() + 1} is no name in braces;"
                    " write {text} or another field, and {{ or }} for a brace"
                )
        return template


class Template(Operator[TemplateParams]):
    """Make one message of each event, with fields of the payload in their places.

    A place is filled letter by letter: what it holds is never read as a template, and there
    are no calls, no attributes and no formats in it.

    Emits when: an event arrives; exactly one message each.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: the payload has no field of a name in the template.
    """

    name = "template"
    title = "Template"
    category = "text"
    summary = "Makes a text of an event's fields."
    inputs = (Port("in", ANY, "anything with fields"),)
    outputs = (Port("out", MESSAGE, "the filled template"),)
    Params: ClassVar = TemplateParams

    def __init__(self, params: TemplateParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        self._parts = tuple(_parts_of(params.template))

    def outputs_per_event(self) -> float:
        """Return 1: exactly one each."""
        return 1.0

    def process(self, payload: Any, scope: Scope) -> Message:  # noqa: ANN401 - payloads are any type
        """Return the filled template."""
        names = names_of(payload, scope)
        return Message("".join(_filled(part, names) for part in self._parts), self.params.role)


def _parts_of(template: str) -> list[tuple[bool, str]]:
    """Return the template in parts: whether it is a name, and the name or text."""
    parts: list[tuple[bool, str]] = []
    at = 0
    for found in _PART.finditer(template):
        parts.append((False, template[at : found.start()]))
        parts.append((True, found[1]) if found[1] else (False, found[0][0]))
        at = found.end()
    return [*parts, (False, template[at:])]


def _filled(part: tuple[bool, str], names: dict[str, object]) -> str:
    is_name, text = part
    if not is_name:
        return text
    if text not in names:
        raise missing_name(text, names)
    value = names[text]
    return "" if value is None else str(value)
