"""When the engine itself fails: the run ends with a clear error, and never looks alive."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.engine.inline import InlineRunner
from aiflow.engine.pulledstream import PulledStream
from aiflow.engine.session import Session
from aiflow.engine.streams import Stream
from aiflow.engine.taskstream import TaskStream
from aiflow.engine.worker import Worker
from aiflow.events import Chunk
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder


def pulled(scope: Scope) -> Iterator[Chunk]:
    """Yield for ever."""
    for number in itertools.count():
        yield Chunk(str(number))


async def awaiting(scope: Scope) -> AsyncIterator[Chunk]:
    """Yield for ever, now and then."""
    for number in itertools.count():
        await scope.sleep(0.1)
        yield Chunk(str(number))


async def slow(payload: Chunk, scope: Scope) -> Chunk:
    """Take a second."""
    await scope.sleep(1)
    return payload


async def streams(payload: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
    """Take a second for one output."""
    await scope.sleep(1)
    yield payload


def plain(payload: Chunk) -> Chunk:
    """Pass on."""
    return payload


def fails(*_: object, **__: object) -> Any:
    """Stand for a line of the engine that is wrong."""
    raise ZeroDivisionError("the engine's own")


FAULTS = [
    (Worker, "_returned", pulled, slow),
    (Worker, "_rest", pulled, slow),
    (Worker, "_end_end", awaiting, streams),
    (InlineRunner, "pump", pulled, slow),
    (InlineRunner, "start", awaiting, plain),
    (PulledStream, "_send", pulled, plain),
    (TaskStream, "_finish", awaiting, plain),
    (Stream, "end", awaiting, plain),
]


@pytest.mark.parametrize(
    ("owner", "name", "source", "operator"),
    FAULTS,
    ids=[f"{o.__name__}.{n}" for o, n, *_ in FAULTS],
)
def test_a_fault_of_the_engine_fails_the_run_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
    allow_log: Callable[[str, str], None],
    owner: type,
    name: str,
    source: Callable[[Scope], Any],
    operator: Callable[..., Any],
) -> None:
    """No task, no stream that is read on, and the other session of the loop goes on."""
    allow_log("aiflow.engine.breaking", "the engine failed")

    async def both() -> tuple[Any, Any]:
        broken = Session(
            PlanBuilder().source("s", source).node("n", operator).chain("s", "n").build()
        )
        sound = Session(
            PlanBuilder().source("s", [Chunk("1")]).sink("k", heard.append).chain("s", "k").build()
        )
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fails)
            if name in ("_finish", "end"):
                asyncio.get_running_loop().call_later(3, broken.stop)
            first = await asyncio.wait_for(broken.run(), 1_000)
        return first, await sound.run()

    heard: list[Chunk] = []
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        broken, sound = runner.run(both())

    assert broken.phase == "failed"
    assert "the engine itself failed (ZeroDivisionError: the engine's own)" in broken.error
    assert "active" not in broken.conversations.values()
    assert (sound.phase, heard) == ("completed", [Chunk("1")])


def test_a_fault_in_one_session_leaves_the_one_beside_it_alone(
    monkeypatch: pytest.MonkeyPatch, allow_log: Callable[[str, str], None]
) -> None:
    """Both share the loop's run list, and it is known at whose node it happened."""
    allow_log("aiflow.engine.breaking", "the engine failed")
    heard: list[int] = []
    pump = InlineRunner.pump

    def pumps(runner: InlineRunner, guardian: Any, nothing: None) -> None:
        if guardian.id == "bad":
            fails()
        pump(runner, guardian, nothing)

    async def both() -> tuple[Any, Any]:
        broken = PlanBuilder().source("s", range(5)).node("bad", slow).chain("s", "bad").build()
        sound = PlanBuilder().source("s", range(50)).node("n", slow).sink("k", heard.append)
        runs = Session(broken).run(), Session(sound.chain("s", "n", "k").build()).run()
        first, second = await asyncio.gather(*runs)
        return first, second

    monkeypatch.setattr(InlineRunner, "pump", pumps)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        first, second = runner.run(both())

    assert (first.phase, second.phase) == ("failed", "completed")
    assert heard == list(range(50))
