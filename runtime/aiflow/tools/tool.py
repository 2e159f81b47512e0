"""What every tool is: a name, a schema that a model is shown, and one call.

How a tool does its work is its own file's: `functions`, `http`, `mcp`. When one is called, how
long it may take and how often it is tried again is the operator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from aiflow.clock import Clock
from aiflow.providers.messages import ToolSpec

# Where the calendar of the virtual clock begins: any date would do, the same one each time.
_VIRTUAL_START = datetime(2026, 1, 1, tzinfo=UTC)


class ToolEffect(StrEnum):
    """What calling a tool twice would do."""

    NONE = "none"
    IDEMPOTENT = "idempotent"
    NON_IDEMPOTENT = "non_idempotent"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call is handed beside its arguments.

    Attributes:
        clock: the session's clock.
        folders: where relative paths are looked up: the graph's own folder, then the shipped
            graphs.
        key: the same at every attempt of the same call, different for any other; "" where calling
            twice changes nothing.
        allow_private: whether addresses of this machine and of private networks may be called.
        max_bytes: of an answer no more is read than this.
    """

    clock: Clock
    folders: tuple[Path, ...] = ()
    key: str = ""
    allow_private: bool = False
    max_bytes: int = 65_536

    def utc_now(self) -> datetime:
        """Return the time of day; on the virtual clock a calendar of its own, from 2026."""
        if self.clock.is_virtual:
            return _VIRTUAL_START + timedelta(seconds=self.clock.now())
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answered.

    Attributes:
        is_error: the tool itself says that it failed, and `content` why.
        is_cut: there was more than was read.
    """

    content: str
    is_error: bool = False
    is_cut: bool = False


class Tool(Protocol):
    """Something that a model may ask for.

    Attributes:
        spec: name, description and schema, as the model is shown them.
        effect: what calling it twice would do.
    """

    @property
    def spec(self) -> ToolSpec:
        """Name, description and schema."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """What calling it twice would do."""
        ...

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolAnswer:
        """Do the work.

        Args:
            arguments: as the model gave them, not checked yet.
            context: what the call is handed beside them.

        Raises:
            ToolError: the arguments do not fit, or the tool could not be reached, or failed.
        """
        ...
