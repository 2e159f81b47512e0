"""What a run shows of its requests: their wait for limits, and what was left out of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.analysis.facts import Facts
from aiflow.analysis.watch import Watch
from aiflow.cli.report import summary_lines
from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.engine.session import Session
from aiflow.operators.answer import MALFORMED
from aiflow.operators.builtin.chat import Chat, ChatParams
from aiflow.operators.builtin.chat_reply import ChatReply, ChatReplyParams
from aiflow.operators.builtin.chunker import Chunker, ChunkerParams
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.testing.plans import PlanBuilder
from aiflow.transport.trace import TraceWriter
from tests.runtime.providers.cases import STOP, chunk, sse


def provider_of(folder: Path) -> Provider:
    """Return a provider that answers for a second, one request after the other."""
    path = folder / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        writer.write(0.25, sse(chunk({"content": "x"}), done=False))
        writer.write(1.0, sse(STOP))
    return Provider("provider", ProviderParams(trace=str(path), max_concurrent=1))


def test_two_nodes_share_a_limit_and_the_second_shows_its_wait(tmp_path: Path) -> None:
    """Its wait is the first one's answer; neither TTFT counts it."""
    provider = provider_of(tmp_path)
    loop = VirtualLoop()
    builder = PlanBuilder(1).resource("provider", lambda: provider)
    for name in ("a", "b"):
        builder.operator(name, Chat(ChatParams())).sink(f"k{name}", str).edge(name, f"k{name}")
    plan = builder.build()
    session = Session(plan)
    seen: list[tuple[int, str]] = []

    async def main() -> None:
        clock = VirtualClock(loop)
        watch = Watch(Facts.of_plan(plan))

        def look() -> None:
            snapshot = session.snapshot()
            seen.append((snapshot.waiting_requests, watch.see(snapshot)))

        clock.call_at(0.5, look)
        await session.run()

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    snapshot = session.snapshot()

    assert snapshot.phase == "completed"
    assert [snapshot.nodes[name].wait.count for name in ("a", "b")] == [0, 1]
    assert snapshot.nodes["b"].wait.p50_ms == pytest.approx(1000)
    assert snapshot.model_ttft_ms == pytest.approx(250)
    assert snapshot.nodes["kb"].ttfpt_ms == pytest.approx(250)
    assert snapshot.waiting_requests == 0
    assert seen[0][0] == 1
    assert seen[0][1].startswith("1 request waits for its turn at the provider; raise max_conc")


@pytest.mark.parametrize("torn", [0, 1, 2])
def test_a_frame_that_was_left_out_is_told_after_the_run(tmp_path: Path, torn: int) -> None:
    """The answer is complete but for it, so the run is, and its summary says what is missing."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        writer.write(0.25, b"data: {torn\n\n" * torn)
        writer.write(1.0, sse(chunk({"content": "x"}), STOP))
    builder = PlanBuilder(1).resource(
        "provider", lambda: Provider("provider", ProviderParams(trace=str(path)))
    )
    builder.operator("a", Chat(ChatParams())).sink("k", str).edge("a", "k")
    plan = builder.build()
    session = Session(plan)
    loop = VirtualLoop()
    try:
        loop.run_until_complete(session.run())
    finally:
        loop.close()

    lines = "\n".join(summary_lines(session.snapshot(), Facts.of_plan(plan)))

    assert session.snapshot().phase == "completed"
    assert session.snapshot().nodes["a"].notices == ({MALFORMED: torn} if torn else {})
    assert ("could not be read" in lines) == (torn > 0)
    assert ("a: 1 piece of the answer could not be read and was left out" in lines) == (torn == 1)


def test_nodes_that_feed_one_another_with_one_place_fail_in_a_sentence(tmp_path: Path) -> None:
    """The first keeps its place while the second, which it waits for, waits for that place."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        writer.write(0.25, sse(*[chunk({"content": "One. "})] * 99, done=False))
        writer.write(1.0, sse(STOP))
    params = ProviderParams(trace=str(path), max_concurrent=1, first_byte_timeout_s=50)
    builder = PlanBuilder(1).resource("provider", lambda: Provider("provider", params))
    builder.operator("a", Chat(ChatParams()))
    builder.operator("c", Chunker(ChunkerParams()))
    builder.operator("b", ChatReply(ChatReplyParams())).sink("k", str)
    session = Session(builder.edge("a", "c").edge("c", "b").edge("b", "k").build())
    loop = VirtualLoop()
    try:
        loop.run_until_complete(session.run())
    finally:
        loop.close()

    snapshot = session.snapshot()

    assert snapshot.phase == "failed"
    assert "the open ones stand still" in (snapshot.error or "")
    assert "raise max_concurrent" in (snapshot.error or "")
    assert snapshot.at < 60
