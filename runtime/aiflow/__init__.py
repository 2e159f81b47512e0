"""AiFlow's headless library: graphs of streaming operators, compiled and run with bounded queues.

Each room below answers one question; none of them imports Qt. What a program needs that
writes and runs graphs is here: `from aiflow import Flow, P`, `aiflow.run`, `aiflow.open`.

A name's room is read when it is first asked for: the program `aiflow` must be able to catch
Ctrl+C before everything is read, and a server that asks for one room need not wait for all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiflow.dsl.flow import Flow
    from aiflow.dsl.policy import P
    from aiflow.embedding.entry import Entry
    from aiflow.embedding.running import open, plan, run
    from aiflow.operators.functions import operator
    from aiflow.tools.functions import tool

__all__ = ["Entry", "Flow", "P", "open", "operator", "plan", "run", "tool"]

_ROOM_OF = {
    "Entry": "aiflow.embedding.entry",
    "Flow": "aiflow.dsl.flow",
    "P": "aiflow.dsl.policy",
    "open": "aiflow.embedding.running",
    "operator": "aiflow.operators.functions",
    "plan": "aiflow.embedding.running",
    "run": "aiflow.embedding.running",
    "tool": "aiflow.tools.functions",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Read the room of a name, once."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_ROOM_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """Return what there is, also what has not been read yet."""
    return sorted({*globals(), *__all__})
