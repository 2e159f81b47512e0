"""Harmless tools that come with AiFlow, so that examples run anywhere. They change nothing."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from pydantic import Field

from aiflow.retrieval.resource import Index, IndexParams
from aiflow.tools.functions import tool
from aiflow.tools.servers import McpServer
from aiflow.tools.tool import ToolContext

_PASSAGES = 2


@tool(effect="none")
def calculator(
    a: float,
    operation: Literal["add", "subtract", "multiply", "divide"],
    b: float,
) -> float:
    """Calculate with two numbers: a and b, in this order."""
    if operation == "add":
        return a + b
    if operation == "subtract":
        return a - b
    return a * b if operation == "multiply" else a / b


@tool(effect="none")
def clock(context: ToolContext) -> str:
    """Return the date and the time of day in UTC."""
    return context.utc_now().isoformat(timespec="seconds")


@tool(effect="none")
async def lookup(
    question: Annotated[str, Field(description="What to look for, in plain words.")],
    context: ToolContext,
) -> str:
    """Look something up in the documents that lie beside the graph.

    Returns the best passages, each with the title of its document.
    """
    index = Index("lookup", IndexParams(documents="documents"), context.folders)
    await index.start(context.clock)
    try:
        found = index.search(question, _PASSAGES)
    finally:
        await index.stop()
    if not found:
        return "Nothing was found."
    return "\n\n".join(f"{each.title}\n{each.text}" for each in found)


#: A small MCP server of a made-up harbour, for the example; needs `aiflow-runtime[mcp]`.
harbour = McpServer("harbour", (sys.executable, "-m", "aiflow.tools.demo_server"))
