"""One MCP server and its tools, spoken to with the official client. Needs `aiflow-runtime[mcp]`.

Imported only where a tool set names a server. The client's task groups must be entered and left by
one task, so each session has a task of its own that opens, waits and closes; calls come from any.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import anyio
import mcp_types as types
from mcp import Client, MCPError
from pydantic import ValidationError

from aiflow.errors import ToolError
from aiflow.providers.messages import ToolSpec
from aiflow.tools.mcp_ways import Way
from aiflow.tools.tool import ToolAnswer, ToolContext, ToolEffect
from aiflow.transport.excerpt import redact, shorten
from aiflow.transport.masking import is_key, without

# A server that offers more than this is not one for a model's request.
_MOST_TOOLS = 1_000
_INFO = types.Implementation(name="aiflow", version="1")
_LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, ConnectionError)
_START_S = 30.0
# The client gives a program 2 s to end by itself, then 2 s more before it is killed.
_STOP_S = 10.0
# Of what a program complains no more than its end is looked at.
_COMPLAINTS_BYTES = 4_096


class McpSession:
    """A connection to one server, from `open` to `close`.

    Args:
        where: the server, as a person knows it.
        way: opens the streams to it, see `mcp_ways`.
        secrets: kept out of errors.
    """

    def __init__(self, where: str, way: Way, secrets: Sequence[str] = ()) -> None:
        self._where = where
        self._way = way
        self._secrets = tuple(filter(None, secrets))
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Sequence[types.Tool]] | None = None
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._given_up = ""

    async def open(self) -> Sequence[types.Tool]:
        """Connect and return the tools that the server offers.

        Raises:
            ToolError: it cannot be started or reached, or does not speak MCP.
        """
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._task = loop.create_task(self._run(self._ready), name=f"mcp {self._where}")
        await asyncio.wait([self._ready], timeout=_START_S)
        if not self._ready.done():
            await self.close()
            raise self._error(f"it did not answer within {_START_S:g} s", kind="unreachable")
        return await self._ready

    async def call(self, name: str, arguments: Mapping[str, Any], key: str) -> ToolAnswer:
        """Call one tool.

        Args:
            name: the server's own name of it.
            arguments: an object that the server will check.
            key: the same at every attempt of the same call; sent beside them, "" for none.

        Raises:
            ToolError: the server refused, or is gone.
        """
        if self._client is None:
            raise self._lost("it is not connected")
        meta: Any = {"aiflow/idempotency-key": key} if key else None
        try:
            result = await self._client.call_tool(name, dict(arguments), meta=meta)
        except _LOST as error:
            raise self._lost("the connection is lost", begun=True) from error
        except (MCPError, ValidationError) as error:
            reason = self._given_up or _said(error)
            raise self._error(reason, kind="failed", begun=True) from error
        text = _text(result)
        for secret in filter(is_key, self._secrets):
            text = without(text, secret)
        return ToolAnswer(text, is_error=result.is_error)

    async def close(self) -> None:
        """Close the connection and end the server where it is ours; safe to repeat."""
        self._closing.set()
        task, self._task = self._task, None
        if task is None:
            return
        is_connected = self._client is not None
        if is_connected:
            await asyncio.wait({task}, timeout=_STOP_S)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_STOP_S)

    async def _run(self, ready: asyncio.Future[Sequence[types.Tool]]) -> None:
        """Own the connection from beginning to end."""
        with tempfile.TemporaryFile("w+", errors="replace") as complaints:
            try:
                way = self._way(complaints, self._give_up)
                client = Client(way, client_info=_INFO, cache=None)
                async with client:
                    tools = await _listed(client)
                    if not ready.done():
                        ready.set_result(tools)
                    self._client = client
                    await self._closing.wait()
                    self._client = None
            except Exception as error:  # noqa: BLE001 - the client and its server raise what they like
                # After the start nobody waits here: the next call says that the connection is lost.
                if not ready.done():
                    ready.set_exception(self._error(_first(error, complaints), kind="unreachable"))
            finally:
                self._client = None
                if not ready.done():
                    ready.cancel()

    def _give_up(self, reason: str) -> None:
        """End the connection: what comes over it is nothing to go on with."""
        self._given_up = reason
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(self._error(reason, kind="failed"))
        self._closing.set()

    def _lost(self, otherwise: str, *, begun: bool = False) -> ToolError:
        """Return the error of a connection that is no more: why it was given up, if it was."""
        kind = "failed" if self._given_up else "unreachable"
        return self._error(self._given_up or otherwise, kind=kind, begun=begun)

    def _error(self, reason: str, *, kind: str, begun: bool = False) -> ToolError:
        for secret in self._secrets:
            reason = redact(reason, secret)
        return ToolError(
            f"{self._where}: {shorten(redact(reason))}",
            kind=kind,
            is_transient=kind == "unreachable",
            has_begun=begun,
        )


class McpTool:
    """One tool of a server.

    Args:
        session: the connection.
        listed: the server's own description.
        name: as the model is shown it.
    """

    # A server may hint that a tool changes nothing, but whoever wrote it is not to be believed.
    effect = ToolEffect.NON_IDEMPOTENT

    def __init__(self, session: McpSession, listed: types.Tool, name: str) -> None:
        self.spec = ToolSpec(name, listed.description or "", listed.input_schema)
        self._session = session
        self._own_name = listed.name

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolAnswer:
        """Let the server do the work; it checks the arguments itself.

        Raises:
            ToolError: the server refused, or is gone.
        """
        return await self._session.call(self._own_name, arguments, context.key)


async def _listed(client: Client) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > _MOST_TOOLS:
            return found


def _text(result: types.CallToolResult) -> str:
    """Return what a result says; of what is no text only that it is there."""
    parts = [_part(each) for each in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _part(content: Any) -> str:  # noqa: ANN401 - one of the protocol's kinds of content
    if isinstance(content, types.TextContent):
        return content.text
    if isinstance(content, types.EmbeddedResource) and isinstance(
        content.resource, types.TextResourceContents
    ):
        return content.resource.text
    kind = getattr(content, "mime_type", None) or content.type
    return f"[{content.type}: {kind}, which is no text]"


def _first(error: BaseException, complaints: TextIO) -> str:
    """Return why a connection failed: the first cause, and what the program said last."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, size - _COMPLAINTS_BYTES))
    said = complaints.read().strip().splitlines()
    return _said(error) + (f"; it says: {said[-1]}" if said else "")


def _said(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    if isinstance(error, MCPError):
        return str(error.error.message)
    return str(error) or type(error).__name__
