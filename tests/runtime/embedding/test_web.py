"""The documented web handler over real HTTP, with a client that walks away.

The handler is the one of `runtime/README.md`, run as it is printed there: FastAPI under uvicorn.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import aiflow
from aiflow import Flow
from aiflow.embedding.running import Run

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


def documented_app(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    """Run the example of the README, as in a folder that holds its graph; return its app."""
    readme = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n([^`]*fastapi[^`]*)```", readme)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "README.md", "exec"), names)
    return names["app"]


def runs_opened(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Return a list that gets every run that is opened from now on."""
    opened: list[Run] = []
    really_open = aiflow.open

    @asynccontextmanager
    async def noting(*args: Any, **options: Any) -> AsyncIterator[Run]:
        async with really_open(*args, **options) as run:
            opened.append(run)
            yield run

    monkeypatch.setattr(aiflow, "open", noting)
    return opened


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """Serve an application on a port of this machine until the block is left."""
    config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


def write_graph(folder: Path, port: int) -> None:
    """Write the graph that the example names, asking a provider on this machine."""
    flow = Flow("Chat", max_conversations=1)
    provider = flow.provider(
        "provider", endpoint=f"http://127.0.0.1:{port}/v1", dialect="openai-chat"
    )
    flow.chat("model", provider=provider, model="any") >> flow.screen("screen")
    flow.save(folder / "chat.aiflow.json")


async def scene(monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[bytes, Provider]:
    """Let a client read a little and walk away; return when the provider's connection is closed."""
    provider = Provider()
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0) as model:
        write_graph(folder, model.sockets[0].getsockname()[1])
        async with served(documented_app(monkeypatch, folder)) as port, asyncio.timeout(30):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /chat?prompt=Why%20wait%3F HTTP/1.1\r\nhost: localhost\r\n\r\n")
            got = b"".join([await reader.readuntil(b"word") for _ in range(3)])
            assert not provider.was_closed.is_set()
            writer.close()
            await provider.was_closed.wait()
    return got, provider


def test_a_client_that_walks_away_closes_the_providers_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Text came as it was written, then the conversation was cancelled and nothing is left."""
    opened = runs_opened(monkeypatch)

    async def main() -> tuple[bytes, Provider, set[str]]:
        got, provider = await scene(monkeypatch, tmp_path)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        return got, provider, {task.get_name() for task in left}

    got, provider, left = asyncio.run(main())

    assert got.startswith(b"HTTP/1.1 200")
    assert b"Why wait?" in provider.asked
    (run,) = opened
    assert run.snapshot().conversations == {"c1": "cancelled"}
    assert run.snapshot().in_flight == 0
    assert not left
