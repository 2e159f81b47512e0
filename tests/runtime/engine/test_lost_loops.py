"""Sessions asked to end while their loop does not run, or is closed for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from aiflow.clock import VirtualLoop
from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder


async def awaiting(scope: Scope) -> AsyncIterator[int]:
    """Yield for ever, now and then."""
    while True:
        await asyncio.sleep(0.1)
        yield 1


def plain(scope: Scope) -> Iterator[int]:
    """Yield for ever."""
    while True:
        yield 1


async def slow(payload: object) -> None:
    """Take ten seconds."""
    await asyncio.sleep(10)


class ReopeningLoop(VirtualLoop):
    """A loop that refuses all a closed one refuses, until the test has to clean up."""

    seems_closed = False

    def is_closed(self) -> bool:
        """Say what the test wants."""
        return self.seems_closed or super().is_closed()

    def _check_closed(self) -> None:
        if self.seems_closed:
            raise RuntimeError("Event loop is closed")

    def end(self) -> None:
        """Open again, end what was left behind, and close."""
        self.seems_closed = False
        left = asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        self.run_until_complete(asyncio.wait(left))
        self.close()


async def turns(count: int) -> None:
    """Let the loop turn a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


def begun(
    loop: asyncio.AbstractEventLoop, stream: Callable[[Scope], object]
) -> tuple[Session, asyncio.Task[object]]:
    """Return a session that has run for a while on a loop that has paused."""
    builder = PlanBuilder(1).source("s", stream, conversations=2)  # type: ignore[arg-type]
    session = Session(builder.sink("k", slow).edge("s", "k").build())
    task: asyncio.Task[object] = loop.create_task(session.run())
    loop.run_until_complete(turns(20))
    return session, task


@pytest.mark.parametrize("stream", [awaiting, plain])
@pytest.mark.parametrize("ask", [Session.stop, Session.drain, lambda session: session.cancel("c1")])
def test_a_session_whose_loop_was_closed_ends_when_it_is_asked(
    stream: Callable[[Scope], object],
    ask: Callable[[Session], object],
) -> None:
    """Its conversations are cancelled, and whoever asks hears of no loop."""
    loop = ReopeningLoop()
    session, _ = begun(loop, stream)
    loop.seems_closed = True

    ask(session)
    session.stop()

    assert session.status.phase == session.snapshot().phase == "cancelled"
    assert session.snapshot().conversations == {"c1": "cancelled", "c2": "cancelled"}
    with pytest.raises(EngineError, match="the session is not running"):
        session.call_threadsafe(session.stop)
    loop.end()
    assert session.status.phase == "cancelled"


def test_a_closed_loop_is_named_to_who_asks_from_another_thread() -> None:
    """The session has not heard of it, so the sentence says what has happened."""
    loop = ReopeningLoop()
    session, _ = begun(loop, plain)
    loop.seems_closed = True

    with pytest.raises(EngineError, match="the session's loop is closed"):
        session.call_threadsafe(session.stop)
    loop.end()


@pytest.mark.parametrize("stream", [awaiting, plain])
@pytest.mark.parametrize("factory", [VirtualLoop, asyncio.new_event_loop])
def test_a_session_can_be_stopped_while_its_loop_does_not_run(
    stream: Callable[[Scope], object], factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """It ends in order as soon as the loop goes on."""
    loop = factory()
    session, task = begun(loop, stream)

    session.stop()
    loop.run_until_complete(task)
    loop.close()

    assert session.status.phase == "cancelled"
    assert session.snapshot().in_flight == 0
