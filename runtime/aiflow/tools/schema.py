"""Arguments against a schema, and names that every provider takes.

The library behind it takes a tenth of a second to load, so it is loaded by whoever has a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from aiflow.errors import ToolError
from aiflow.transport.excerpt import shorten

#: What a tool may be called: the least that the providers agree on.
NAME = "1 to 64 letters, digits, hyphens and underscores"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN_FAULTS = 5


def fitting_name(name: str) -> bool:
    """Say whether every provider takes this as a tool's name."""
    return _NAME.fullmatch(name) is not None


def schema_fault(schema: Mapping[str, Any]) -> str:
    """Say in one clause why this is no schema of an arguments' object; "" where it is one."""
    if schema.get("type", "object") != "object":
        return f"its type is {schema['type']!r}, but a tool's arguments are an object"
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the module
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        return f"{error.json_path}: {shorten(error.message)}"
    return ""


class ArgumentsCheck:
    """Holds arguments against a schema.

    Args:
        tool: the tool's name, for errors.
        schema: JSON Schema of an object.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the module
        from referencing import Registry  # noqa: PLC0415

        self._tool = tool
        # Nothing but what stands in the schema itself: a reference is never followed elsewhere.
        self._validator = Draft202012Validator(dict(schema), registry=Registry())

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Return where the arguments fit.

        Raises:
            ToolError: they do not, or the schema refers to what it does not have.
        """
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - see the module

        try:
            found = list(self._validator.iter_errors(dict(arguments)))
        except Unresolvable as error:
            raise ToolError(
                f"the schema of the tool {self._tool} refers to {shorten(str(error.ref))}, which it"
                " does not have",
                kind="arguments",
            ) from error
        if found:
            faults = [(".".join(map(str, each.absolute_path)), each.message) for each in found]
            raise shown_faults(self._tool, faults)


def shown_faults(tool: str, faults: Iterable[tuple[str, str]]) -> ToolError:
    """Return the error that says where arguments do not fit.

    Args:
        tool: the tool's name.
        faults: place and reason of each; the place is "" for the arguments as a whole.
    """
    said = [shorten(f"{place}: {reason}" if place else reason) for place, reason in faults]
    more = f" and {len(said) - _SHOWN_FAULTS} more" if len(said) > _SHOWN_FAULTS else ""
    return ToolError(
        f"the arguments do not fit the tool {tool}: {'; '.join(said[:_SHOWN_FAULTS])}{more}",
        kind="arguments",
    )
