"""Public reports of other runtimes about who reads a run; see `test_not_again` for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

import aiflow
from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.events import Chunk
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

MANY = 20_000
#: How much a test of readers that do not read lets the graph hold: q, k and a source's hand.
PLACES = 2 * (4 + 1) + 1


def writes(made: list[int]) -> Callable[[Scope], Iterator[Chunk]]:
    """Return a source that never waits, and counts what it has made of very many."""

    def stream(scope: Scope) -> Iterator[Chunk]:
        while made[0] < MANY:
            made[0] += 1
            yield Chunk("x")

    return stream


def held_back(made: list[int]) -> PlanBuilder:
    """Return a source, a node and a sink to read, with room for `PLACES` events."""
    builder = PlanBuilder(1).source("s", writes(made))
    builder.node("n", lambda chunk: chunk, queue_capacity=4)
    return builder.sink("k", lambda chunk: None, queue_capacity=4).chain("s", "n", "k")


def test_how_fast_a_reader_outside_of_the_graph_is_does_not_go_unseen() -> None:
    """Only nodes were asked whether they keep up: github.com/ray-project/ray/issues/40753."""
    made, ahead = [0], []

    async def go() -> Snapshot:
        async with aiflow.open(held_back(made).build()) as run:
            async for event in run.sink("k"):
                await asyncio.sleep(1.0)
                ahead.append(made[0] - event.sequence - 1)
                if event.sequence == 50:
                    break
            return run.snapshot()

    snapshot = run_virtual(go())

    assert max(ahead) <= PLACES
    assert snapshot.nodes["s"].backpressured_s > 45


def test_clients_that_do_not_read_do_not_fill_the_memory() -> None:
    """One queue for each, without a limit: github.com/anomalyco/opencode/pull/19423.

    Each has read a little and then no more, without going away; ten others read on meanwhile.
    """
    made = [[0] for _ in range(30)]

    async def client(made: list[int], reads: int, is_looked_at: asyncio.Event) -> None:
        async with aiflow.open(held_back(made).build()) as run:
            events = run.sink("k")
            for _ in range(reads):
                await anext(events)
            await is_looked_at.wait()
            await events.aclose()

    async def go() -> list[int]:
        is_looked_at = asyncio.Event()
        reads = [3] * 20 + [500] * 10
        clients = [
            asyncio.ensure_future(client(count, read, is_looked_at))
            for count, read in zip(made, reads, strict=True)
        ]
        await asyncio.sleep(60.0)
        ahead = [count[0] - read for count, read in zip(made, reads, strict=True)]
        is_looked_at.set()
        await asyncio.gather(*clients)
        return ahead

    assert max(run_virtual(go())) <= PLACES


def test_who_looks_on_and_never_asks_does_not_pile_up_a_backlog() -> None:
    """Callbacks waited in a list without end: github.com/openai/openai-agents-python/pull/5106."""

    def shows(chunk: Chunk, scope: Scope) -> None:
        scope.show(chunk.text)

    builder = PlanBuilder(1).source("s", [Chunk("x")] * MANY).sink("k", shows).edge("s", "k")

    async def go() -> tuple[int, int]:
        session = Session(builder.build())
        running = asyncio.ensure_future(session.run())
        await asyncio.sleep(0)
        tap = session.tap("s.out>k.in", keep=50)
        await running
        return len(tap.rows()), len(session.outputs())

    kept, shown = run_virtual(go())

    assert kept == 50
    assert shown == 10_000


@pytest.mark.parametrize("where", ["the source", "a node that tells what it kept", "the sink"])
def test_an_error_behind_the_last_token_does_not_leave_readers_waiting(where: str) -> None:
    """All text was there, no end came: github.com/openai/openai-agents-python/issues/2130."""

    async def stream(scope: Scope) -> AsyncIterator[Chunk]:
        for number in range(3):
            yield Chunk(str(number))
        await scope.sleep(1.0)
        if where == "the source":
            raise ConnectionError("reset")

    def fails(scope: Scope) -> None:
        if scope.node == ("k" if where == "the sink" else "n") and where != "the source":
            raise ConnectionError("reset")

    heard: list[str] = []
    builder = PlanBuilder(1).source("s", stream).node("n", lambda chunk: chunk, finish=fails)
    builder.sink("k", lambda chunk: None, finish=fails).chain("s", "n", "k")

    async def go() -> None:
        async with aiflow.open(builder.build()) as run:
            async for event in run.sink("k"):
                heard.append(event.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(EngineError, match="ConnectionError: reset"):
        run_virtual(go())

    assert heard == ["0", "1", "2"]
