"""A small MCP server to try tools with: the harbour of the example documents.

Run as a program it speaks over its standard input and output; the tool set `harbour` starts it.
"""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

_HOURS = {"museum": "10:00 to 17:00", "ferry": "07:00 to 21:00", "bakery": "06:00 to 13:00"}


def opening_hours(place: str) -> str:
    """Return when a place in the harbour is open: museum, ferry or bakery."""
    if place not in _HOURS:
        # Of any other error the model would only be told that there was one.
        raise ToolError(f"there is no {place}; there are {', '.join(_HOURS)}")
    return f"The {place} is open from {_HOURS[place]}."


def main() -> None:
    """Serve until the standard input ends."""
    server = MCPServer("harbour")
    server.tool()(opening_hours)
    server.run("stdio")


if __name__ == "__main__":
    main()
