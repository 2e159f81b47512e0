"""Operators that do what they must not, of every kind: nothing is lost, left or kept waiting.

What blocks the loop is told of in `test_watchdog`, a loop that is closed in mid-run in
`test_lost_loops`, a reader who walks away in `test_running`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.engine.session import Session
from aiflow.events import Chunk
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder

KINDS = ("plain", "generator", "async", "stream", "blocking", "blocking generator")
#: What an operator of the kinds that can wait may be told to end at.
WAITING = ("async", "stream")
MANY = 20_000

Act = Callable[[Chunk], Iterator[Chunk]]


class Odd(BaseException):
    """An error that is no Exception, and nobody's wish to end the program."""


def operator_of(kind: str, act: Act) -> Callable[..., Any]:
    """Return an operator of a kind that does what `act` does; a plain one returns its first."""

    def plain(chunk: Chunk) -> Chunk | None:
        return next(act(chunk), None)

    def generator(chunk: Chunk) -> Iterator[Chunk]:
        yield from act(chunk)

    async def awaits(chunk: Chunk) -> Chunk | None:
        await asyncio.sleep(0)
        return next(act(chunk), None)

    async def streams(chunk: Chunk) -> AsyncIterator[Chunk]:
        for output in act(chunk):
            await asyncio.sleep(0)
            yield output

    return {"plain": plain, "generator": generator, "async": awaits, "stream": streams}[
        {"blocking": "plain", "blocking generator": "generator"}.get(kind, kind)
    ]


def run(
    builder: PlanBuilder, kind: str, after: Callable[[Session], None] | None = None
) -> Snapshot:
    """Run a plan to its end; on the real clock where threads take part."""

    async def main() -> Snapshot:
        session = Session(builder.build(), stop_deadline_s=2.0)
        before = asyncio.all_tasks()
        if after is not None:
            asyncio.get_running_loop().call_later(1.0, after, session)
        snapshot = await session.run()
        assert asyncio.all_tasks() == before
        return snapshot

    factory = asyncio.new_event_loop if kind.startswith("blocking") else VirtualLoop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main())


def plan(kind: str, act: Act, heard: list[str], **policy: Any) -> PlanBuilder:
    """Return two conversations through an operator of a kind; `act` misbehaves in the first."""

    def stream(scope: Scope) -> Iterator[Chunk]:
        for number in range(3):
            yield Chunk(f"{scope.conversation} {number}")

    builder = PlanBuilder(2).source("s", stream, conversations=2)
    blocks = kind.startswith("blocking")
    builder.node("odd", operator_of(kind, act), is_blocking=blocks, **policy)
    return builder.sink("k", lambda chunk: heard.append(chunk.text)).chain("s", "odd", "k")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [ValueError, Odd, StopIteration, asyncio.CancelledError])
def test_whatever_an_operator_raises_ends_its_conversation_and_no_other(
    kind: str, error: type[BaseException]
) -> None:
    """Also what is no Exception, and a cancellation that nobody asked for."""
    heard: list[str] = []

    def act(chunk: Chunk) -> Iterator[Chunk]:
        if chunk.text == "c1 1":
            raise error("odd")
        yield chunk

    snapshot = run(plan(kind, act, heard), kind)

    assert snapshot.conversations == {"c1": "failed", "c2": "completed"}
    assert "node odd failed in conversation c1" in (snapshot.error or "")
    assert [text for text in heard if text.startswith("c2")] == ["c2 0", "c2 1", "c2 2"]
    assert snapshot.in_flight == 0


@pytest.mark.parametrize("kind", WAITING)
@pytest.mark.parametrize("ask", [Session.stop, lambda session: session.cancel("c1")])
def test_one_that_hangs_is_ended_by_a_stop_or_a_cancel(
    kind: str, ask: Callable[[Session], object]
) -> None:
    """And leaves no task, event or timer."""

    async def hangs(chunk: Chunk) -> None:
        await asyncio.get_running_loop().create_future()

    async def stalls(chunk: Chunk) -> AsyncIterator[Chunk]:
        yield chunk
        await asyncio.get_running_loop().create_future()

    builder = PlanBuilder(1).source("s", [Chunk("1"), Chunk("2")])
    builder.node("odd", hangs if kind == "async" else stalls).sink("k", str).chain("s", "odd", "k")

    snapshot = run(builder, kind, lambda session: void(ask(session)))

    assert snapshot.phase == "cancelled"
    assert snapshot.in_flight == 0


def void(_: object) -> None:
    """Return nothing."""


@pytest.mark.parametrize("kind", WAITING)
def test_what_comes_late_of_one_that_swallows_its_cancellation_is_discarded(kind: str) -> None:
    """It returns all the same, a second after its turn was cancelled; nobody hears it."""
    heard: list[str] = []

    async def late(chunk: Chunk, scope: Scope) -> Chunk:
        try:
            await scope.sleep(10)
        except asyncio.CancelledError:
            await scope.sleep(1)
        return Chunk("late")

    async def lates(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        yield await late(chunk, scope)

    builder = PlanBuilder(1).source("s", [Chunk("1")])
    builder.node("odd", late if kind == "async" else lates)
    builder.sink("k", lambda chunk: heard.append(chunk.text)).chain("s", "odd", "k")

    snapshot = run(builder, kind, lambda session: void(session.cancel("c1")))

    assert snapshot.phase == "cancelled"
    assert heard == []
    assert snapshot.nodes["odd"].cancelled == 1


def test_what_a_thread_brings_late_is_discarded() -> None:
    """Its worker stays busy until the thread is back, and then the run ends."""
    goes_on, begun = threading.Event(), asyncio.Event()
    loop: Any = None
    heard: list[str] = []

    def blocks(chunk: Chunk) -> Chunk:
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait(60)
        return chunk

    builder = PlanBuilder(1).source("s", [Chunk("1")]).node("odd", blocks, is_blocking=True)
    builder.sink("k", lambda chunk: heard.append(chunk.text)).chain("s", "odd", "k")

    async def main() -> Snapshot:
        nonlocal loop
        loop = asyncio.get_running_loop()
        session = Session(builder.build())
        running = asyncio.ensure_future(session.run())
        await begun.wait()
        session.cancel("c1")
        goes_on.set()
        return await running

    snapshot = asyncio.run(main())

    assert (snapshot.phase, heard) == ("cancelled", [])
    assert snapshot.nodes["odd"].cancelled == 1


@pytest.mark.parametrize("kind", ["generator", "stream", "blocking generator"])
def test_any_number_of_outputs_of_one_event_stays_within_the_bound(kind: str) -> None:
    """Each is asked for when the last has left, so that memory does not depend on their number."""
    heard: list[str] = []
    count = 500 if kind.startswith("blocking") else MANY

    def act(chunk: Chunk) -> Iterator[Chunk]:
        for number in range(count):
            yield Chunk(f"{chunk.text} {number}")

    snapshot = run(plan(kind, act, heard, queue_capacity=2), kind)

    assert snapshot.phase == "completed"
    assert len(heard) == 6 * count
    assert snapshot.bound is not None
    assert snapshot.max_in_flight <= snapshot.bound


@pytest.mark.parametrize("kind", ["plain", "async", "blocking"])
def test_a_list_of_a_million_is_refused(kind: str) -> None:
    """It is there as a whole already; what it may be at most is the operator's to declare."""

    def lists(chunk: Chunk) -> list[Chunk]:
        return [chunk] * 1_000_000

    async def lists_later(chunk: Chunk) -> list[Chunk]:
        return lists(chunk)

    builder = PlanBuilder(1).source("s", [Chunk("1")])
    builder.node("odd", lists_later if kind == "async" else lists, is_blocking=kind == "blocking")
    builder.sink("k", str).chain("s", "odd", "k")

    snapshot = run(builder, kind)

    assert snapshot.phase == "failed"
    assert "declares max_outputs = 1" in (snapshot.error or "")
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
