"""The watchdog: whoever blocks the event loop is named, once, and costs nobody anything else."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.engine.watchdog import WATCHDOG, Watchdog, _Heart
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

pytestmark = pytest.mark.usefixtures("allow_stalls")

LIMIT_S = 0.2


@pytest.fixture
def allow_stalls(allow_log: Any) -> None:
    """Let the watchdog write its warnings."""
    allow_log("aiflow.engine.watchdog", "has blocked the event loop")


class Told(logging.Handler):
    """Opens a gate when the watchdog has told something."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.gate = threading.Event()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line, and let who blocks go on."""
        self.lines.append(record.getMessage())
        self.gate.set()

    def block(self) -> None:
        """Block the thread until the watchdog has told so."""
        assert self.gate.wait(30.0), "the watchdog has told nothing"
        self.gate.clear()


@pytest.fixture
def told() -> Iterator[Told]:
    """Listen to the watchdog."""
    handler, logger = Told(), logging.getLogger("aiflow.engine.watchdog")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def inline(told: Told) -> PlanBuilder:
    """Return a graph whose plain function blocks."""

    def blocks(payload: Token) -> Token:
        told.block()
        return payload

    return PlanBuilder(1).source("s", [Token("a")]).node("wall", blocks)


def awaiting(told: Told) -> PlanBuilder:
    """Return a graph whose coroutine blocks between two awaits, on its worker's task."""

    async def blocks(payload: Token, scope: Scope) -> Token:
        await scope.sleep(0.001)
        told.block()
        await scope.sleep(0.001)
        return payload

    return PlanBuilder(1).source("s", [Token("a")]).node("wall", blocks)


def generating(told: Told) -> PlanBuilder:
    """Return a graph whose generator blocks before its second output."""

    def blocks(payload: Token) -> Iterator[Token]:
        yield payload
        told.block()
        yield payload

    return PlanBuilder(1).source("s", [Token("a")]).node("wall", blocks)


def streaming(told: Told) -> PlanBuilder:
    """Return a graph whose source blocks."""

    async def blocks(scope: Scope) -> AsyncIterator[Token]:
        await scope.sleep(0.001)
        told.block()
        yield Token("a")

    return PlanBuilder(1).source("wall", blocks).node("n", lambda payload: payload)


@pytest.mark.parametrize("graph", [inline, awaiting, generating, streaming])
def test_whoever_blocks_the_loop_is_named_with_its_stack(
    graph: Callable[[Told], PlanBuilder], told: Told
) -> None:
    """In the log and in the snapshot; the run goes on when it has ended, and is not failed."""
    builder = graph(told).sink("k", lambda payload: None)
    nodes = list(builder._nodes)
    session = Session(builder.chain(*nodes).build(), blocked_after_s=LIMIT_S)

    snapshot = asyncio.run(session.run())

    (error,) = session.blocked()
    assert error.node == "wall"
    assert "told.block()" in error.stack
    assert str(Path("aiflow", "engine")) not in error.stack
    assert snapshot.stalls == (str(error),)
    assert "the operator of node wall kept the event loop" in str(error)
    assert snapshot.phase == "completed"
    assert session.stuck() == ()


def test_each_time_is_told_once(told: Told) -> None:
    """However long it goes on; a second time is a second report."""

    def blocks(payload: Token) -> None:
        if payload.text == "quick":
            return
        told.block()
        if payload.text == "long":
            # Four more looks of the watchdog at the same loop.
            other = threading.Event()
            assert not other.wait(LIMIT_S)

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for text in ("long", "quick", "again"):
            yield Token(text)
            # A sign of life between them: until the watchdog has seen the loop at work.
            heart = WATCHDOG._hearts[asyncio.get_running_loop()]
            while not heart.is_beating:
                await scope.sleep(0.01)

    builder = PlanBuilder(1).source("s", stream).sink("wall", blocks).edge("s", "wall")
    session = Session(builder.build(), blocked_after_s=LIMIT_S)

    asyncio.run(session.run())

    assert len(session.blocked()) == len(told.lines) == 2
    assert "told.block()" in told.lines[0]
    assert told.lines[1].endswith(" s again, at the same place")


def test_code_outside_of_the_graph_is_told_of_too(told: Told) -> None:
    """A session cannot go on while the application blocks its loop."""

    async def go() -> Session:
        builder = PlanBuilder(1).source("s", [Token("a")])
        stop = asyncio.Event()

        async def take(payload: Token, scope: Scope) -> None:
            await stop.wait()

        session = Session(builder.sink("k", take).edge("s", "k").build(), blocked_after_s=LIMIT_S)
        task = asyncio.ensure_future(session.run())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        told.block()
        stop.set()
        await task
        return session

    (error,) = asyncio.run(go()).blocked()

    assert error.node is None
    assert "code outside of the graph" in str(error)


def test_nothing_is_watched_when_no_session_runs() -> None:
    """Each session takes its loop away with it, and the virtual clock has none to watch."""
    builder = PlanBuilder(1).source("s", [Token("a")]).sink("k", lambda payload: None)
    plan = builder.edge("s", "k").build()

    asyncio.run(Session(plan).run())
    run_virtual(Session(plan).run())

    assert not WATCHDOG._hearts


def test_the_thread_ends_when_there_is_nothing_to_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there again for the next loop."""
    monkeypatch.setattr("aiflow.engine.watchdog._PATIENCE_S", 0.0)
    dog = Watchdog()

    async def watched() -> threading.Thread:
        cease = dog.watch(asyncio.get_running_loop(), lambda *_: None, limit_s=0.01)
        thread = dog._thread
        cease()
        assert thread is not None
        return thread

    for _ in range(2):
        thread = asyncio.run(watched())
        thread.join(30.0)
        assert not thread.is_alive()


def test_a_watchdog_that_was_late_itself_blames_nobody() -> None:
    """On a machine that is short of time everything is late."""
    told: list[float] = []

    async def go() -> None:
        heart = _Heart(asyncio.get_running_loop(), limit_s=1.0)
        heart.tells.append(lambda _guardian, blocked_s, _stack: told.append(blocked_s))
        heart.look(0.0, 0.0, is_late=False)
        for at in range(1, 9):
            heart.look(float(at), 1.0, is_late=True)
        assert told == []
        heart.look(9.0, 0.25, is_late=False)
        assert told == []
        heart.look(10.0, 1.0, is_late=False)

    asyncio.run(go())

    assert told == [10.0]
