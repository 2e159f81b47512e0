"""A real MCP server for tests, made with the protocol's own package; run as a program.

Without arguments it speaks over its standard input and output; with `http` it serves on a free
port of this machine and prints the port.
"""

from __future__ import annotations

import asyncio
import os
import sys

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings

server = MCPServer("test")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
def fail(secret: str) -> str:
    """Fail."""
    raise ToolError(f"no, {secret}")


@server.tool()
def numbers() -> dict[str, int]:
    """Return something that has a structure."""
    return {"one": 1}


@server.tool()
def picture() -> Image:
    """Return what is no text."""
    return Image(data=b"1234", format="png")


@server.tool()
def variable(name: str) -> str:
    """Tell an environment variable."""
    return os.environ.get(name, "not set")


@server.tool()
def much(letters: int) -> str:
    """Return so many letters."""
    return "x" * letters


@server.tool()
def leave() -> str:
    """End the program in mid-call."""
    os._exit(3)


@server.tool()
async def wait() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


async def serve_http() -> None:
    """Serve until the standard input ends."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(transport_security=security)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    web = uvicorn.Server(config)
    task = asyncio.get_running_loop().create_task(web.serve())
    while not web.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    print(web.servers[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    web.should_exit = True
    await task


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        asyncio.run(serve_http())
    else:
        server.run("stdio")
