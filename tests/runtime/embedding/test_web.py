"""The documented web handler over real HTTP, with a client that walks away.

The handler is the one of `runtime/README.md`, taken from there as it is printed. A few lines
stand in for the web framework: they serve one response as its server does, and cancel the
task that streams it when the client has gone.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import h11
import pytest

from aiflow import Flow

ROOT = Path(__file__).parents[3]
DELTA = b'data: {"choices": [{"index": 0, "delta": {"content": "word "}}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class Provider:
    """A model that writes for ever, and notes when its connection is closed."""

    def __init__(self) -> None:
        self.was_closed = asyncio.Event()
        self.asked: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request until its client is gone."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
        self.asked = await reader.readexactly(length)
        gone = asyncio.create_task(reader.read())
        try:
            writer.write(HEAD)
            while not gone.done():
                writer.write(DELTA)
                await writer.drain()
                await asyncio.wait([gone], timeout=0.005)
        except ConnectionError:
            pass
        finally:
            gone.cancel()
            await asyncio.wait([gone])
            writer.close()
            self.was_closed.set()


class Web:
    """Serves one handler, as a web framework's server does."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self.streaming: asyncio.Task[None] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; a client that has gone ends the task that streams."""
        connection = h11.Connection(h11.SERVER)
        await self._request(connection, reader)
        response = await self._handler(prompt="Why wait?")
        head = h11.Response(status_code=200, headers=[("transfer-encoding", "chunked")])
        writer.write(connection.send(head) or b"")
        self.streaming = asyncio.create_task(self._stream(connection, writer, response.body))
        gone = asyncio.create_task(reader.read())
        del response
        await asyncio.wait([self.streaming, gone], return_when=asyncio.FIRST_COMPLETED)
        for task in (self.streaming, gone):
            task.cancel()
        await asyncio.wait([self.streaming, gone])
        writer.close()

    async def _request(self, connection: h11.Connection, reader: asyncio.StreamReader) -> None:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(4096))
            elif isinstance(event, h11.EndOfMessage):
                return

    async def _stream(
        self, connection: h11.Connection, writer: asyncio.StreamWriter, body: Any
    ) -> None:
        async for text in body:
            writer.write(connection.send(h11.Data(data=text.encode())) or b"")
            await writer.drain()
        writer.write(connection.send(h11.EndOfMessage()) or b"")


def documented_handler(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    """Run the example of the README and return its handler."""
    readme = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n([^`]*fastapi[^`]*)```", readme)
    handlers: dict[str, Any] = {}

    class App:
        def get(self, path: str) -> Any:
            return lambda handler: handlers.setdefault(path, handler)

    fastapi, responses = ModuleType("fastapi"), ModuleType("fastapi.responses")
    fastapi.FastAPI = App  # type: ignore[attr-defined]
    responses.StreamingResponse = lambda body, media_type: SimpleNamespace(body=body)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastapi", fastapi)
    monkeypatch.setitem(sys.modules, "fastapi.responses", responses)
    monkeypatch.chdir(folder)
    exec(compile(example, "README.md", "exec"), {"__name__": "example"})
    return handlers["/chat"]


def write_graph(folder: Path, port: int) -> None:
    """Write the graph that the example names, asking a provider on this machine."""
    flow = Flow("Chat", max_conversations=1)
    provider = flow.provider(
        "provider", endpoint=f"http://127.0.0.1:{port}/v1", dialect="openai-chat"
    )
    flow.chat("model", provider=provider, model="any") >> flow.screen("screen")
    flow.save(folder / "chat.aiflow.json")


async def scene(monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[bytes, Provider, Web]:
    """Let a client read a little and walk away; return when the provider's connection is closed."""
    provider = Provider()
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0) as model:
        write_graph(folder, model.sockets[0].getsockname()[1])
        web = Web(documented_handler(monkeypatch, folder))
        async with await asyncio.start_server(web.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /chat?prompt=x HTTP/1.1\r\nhost: localhost\r\n\r\n")
            got = b""
            while got.count(b"word") < 3:
                got += await reader.read(256)
            assert not provider.was_closed.is_set()
            writer.close()
            async with asyncio.timeout(30):
                await provider.was_closed.wait()
            await asyncio.sleep(0)
    return got, provider, web


def test_a_client_that_walks_away_closes_the_providers_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Text came as it was written, then the conversation was cancelled and nothing is left."""

    async def main() -> tuple[bytes, Provider, Web, set[str]]:
        found = await scene(monkeypatch, tmp_path)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            async with asyncio.timeout(30):
                await asyncio.wait(left)
        return *found, {task.get_name() for task in asyncio.all_tasks()}

    got, provider, web, _ = asyncio.run(main())

    assert got.startswith(b"HTTP/1.1 200")
    assert b"Why wait?" in provider.asked
    assert web.streaming is not None
    assert web.streaming.cancelled()
