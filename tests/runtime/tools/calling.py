"""What tests of tools share: a context on the real clock, and one way to run a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ToolError
from aiflow.tools.tool import Tool, ToolAnswer, ToolContext


def context(**more: Any) -> ToolContext:
    """Return a context that lets this machine through."""
    return ToolContext(SystemClock(), **{"allow_private": True, **more})


def call(tool: Tool, arguments: Mapping[str, Any], **more: Any) -> ToolAnswer:
    """Return what a tool answers."""
    return asyncio.run(tool.call(arguments, context(**more)))


def fault(tool: Tool, arguments: Mapping[str, Any], **more: Any) -> ToolError:
    """Return the error that a call ends with."""
    with pytest.raises(ToolError) as caught:
        call(tool, arguments, **more)
    return caught.value
