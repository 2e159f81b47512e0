"""MCP servers: which program or address, with whose key. How one is spoken to is in `mcp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class McpServer:
    """A program of this machine that speaks MCP over its standard input and output.

    Attributes:
        name: under which graphs know it.
        command: program and arguments.
        credentials: environment variables that it is handed beside the harmless ones, such as PATH.
    """

    name: str
    command: Sequence[str]
    credentials: tuple[str, ...] = ()
