"""How operators, params and ports are called in Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container


def identifier(name: str, taken: Container[str] = ()) -> str:
    """Return a Python name for any text: `text-input` is `text_input`, `in` is `in_`.

    Args:
        name: of an operator, a parameter, a port or a node.
        taken: names that it must not be; it then gets an underscore behind it.
    """
    made = re.sub(r"[^a-z0-9_]", "_", name.lower()) or "_"
    if made[0].isdigit():
        made = f"_{made}"
    while keyword.iskeyword(made) or made in taken:
        made += "_"
    return made


def class_name(name: str) -> str:
    """Return a class name for an operator: `text-input` is `TextInput`."""
    return "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", name) if part)


def input_name(port: str) -> str:
    """Return what a node's input is called: `in_`, or `in_left` beside an output `left`."""
    return "in_" if port == "in" else f"in_{identifier(port)}"
