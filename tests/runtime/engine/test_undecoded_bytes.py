"""What a provider has read and not decoded: in the snapshot, and little, however slow the graph."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from aiflow.engine.session import Session
from aiflow.events import Message
from aiflow.operators.builtin.chat import Chat, ChatParams
from aiflow.operators.builtin.chat_reply import ChatReply, ChatReplyParams
from aiflow.operators.builtin.replay import Replay, ReplayParams
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual
from aiflow.transport.trace import TraceWriter
from tests.runtime.providers.cases import STOP, chunk, sse

DELTAS = 6_000
MOST_BYTES = 64 * 1024


def provider_of(folder: Path) -> Provider:
    """Return a provider whose server would send all deltas at once, by small socket buffers."""
    path = folder / "t.trace"
    piece = b"".join(
        b"data: " + json.dumps(chunk({"content": f"{n} "})).encode() + b"\n\n" for n in range(10)
    )
    with TraceWriter(path, "openai-chat") as writer:
        for _ in range(DELTAS // 10):
            writer.write(0.0, piece)
        writer.write(0.0, sse(STOP))
        writer.close("closed")
    return Provider("provider", ProviderParams(trace=str(path)))


@pytest.mark.parametrize("kind", ["chat", "chat-reply"])
def test_a_slow_graph_leaves_the_answer_in_the_socket(kind: str, tmp_path: Path) -> None:
    """Over a real socket the snapshot tells of undecoded bytes, never above 64 KiB."""
    seen: list[int] = []
    took = 0

    async def slow(payload: object) -> None:
        nonlocal took
        took += 1
        await asyncio.sleep(0)  # others run, and whoever reads ahead would have the time to
        seen.append(session.snapshot().undecoded_bytes)

    builder = PlanBuilder(1).resource("provider", lambda: provider_of(tmp_path))
    if kind == "chat":
        builder.operator("a", Chat(ChatParams()))
    else:
        builder.source("s", [Message("hello")]).operator("a", ChatReply(ChatReplyParams()))
        builder.edge("s", "a")
    session = Session(builder.sink("k", slow, queue_capacity=1).edge("a", "k").build())

    async def go() -> None:
        async with asyncio.timeout(60):
            await session.run()

    asyncio.run(go())

    assert session.status.phase == "completed"
    assert took == DELTAS
    assert 0 < max(seen) <= MOST_BYTES
    assert session.snapshot().undecoded_bytes == 0


def test_a_resource_that_reads_nothing_needs_no_count() -> None:
    """What has no `undecoded_bytes` counts as none."""

    class Other:
        async def start(self, clock: object) -> None:
            """Do nothing."""

        async def stop(self) -> None:
            """Do nothing."""

    seen: list[int] = []
    builder = PlanBuilder().resource("r", Other).source("s", [1]).edge("s", "k")
    builder.sink("k", lambda _: seen.append(session.snapshot().undecoded_bytes))
    session = Session(builder.build())

    asyncio.run(session.run())

    assert seen == [0]


def test_a_trace_that_a_node_plays_is_counted_too(tmp_path: Path) -> None:
    """One read holds many deltas; what waits of it in the decoder is told, and gone at the end."""
    provider_of(tmp_path)
    seen: list[int] = []

    def take(payload: object) -> None:
        seen.append(session.snapshot().undecoded_bytes)

    replay = Replay(ReplayParams(path=str(tmp_path / "t.trace"), speed=0))
    builder = PlanBuilder(1).operator("a", replay).sink("k", take).edge("a", "k")
    session = Session(builder.build())

    run_virtual(session.run())

    assert 0 < max(seen) <= MOST_BYTES
    assert session.snapshot().undecoded_bytes == 0
