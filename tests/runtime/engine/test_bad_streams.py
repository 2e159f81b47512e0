"""Operators whose streams are none, or that raise or refuse when they are closed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def nothing(payload: object) -> None:
    """Take a payload."""


def raising(scope: Scope) -> Any:
    """Raise before the first item."""
    raise ValueError("no stream")


def raising_later(scope: Scope) -> Iterator[int]:
    """Raise where the first item is asked for."""
    if scope.node:
        raise ValueError("no item")
    yield 1


async def waiting(scope: Scope) -> int:
    """Return where it should have yielded."""
    return 5


class Unready:
    """Raises where its iterator is asked for."""

    def __iter__(self) -> Iterator[int]:
        raise asyncio.CancelledError


class Plain:
    """An async iterator that is no generator, and cannot be closed."""

    def __init__(self) -> None:
        self._left = 3

    def __aiter__(self) -> Plain:
        return self

    async def __anext__(self) -> int:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return self._left


class Iterable:
    """Has an async iterator and is none."""

    def __aiter__(self) -> Plain:
        return Plain()


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (lambda _: 5, "TypeError: stream() returned int, over which nothing can iterate"),
        (lambda _: None, "TypeError: stream() returned NoneType, over which"),
        (waiting, "TypeError: stream() is a coroutine that yields nothing"),
        (lambda _: Unready(), "CancelledError"),
        (raising, "ValueError: no stream"),
        (raising_later, "ValueError: no item"),
    ],
)
def test_a_stream_that_is_none_fails_its_conversation(
    stream: Callable[[Scope], Any], said: str
) -> None:
    """In a sentence that names the node and what to do, and never out of `run`."""
    session = Session(PlanBuilder().source("s", stream).sink("k", nothing).edge("s", "k").build())

    snapshot = run_virtual(session.run())

    assert snapshot.phase == "failed"
    assert snapshot.conversations == {"c1": "failed"}
    assert session.status.reason.startswith(f"node s failed in conversation c1: {said}")


@pytest.mark.parametrize("kind", [Plain, Iterable])
def test_a_stream_needs_to_be_no_generator(kind: type) -> None:
    """What can be iterated is read to its end, closed or not."""
    got: list[int] = []
    builder = PlanBuilder().source("s", lambda _: kind()).sink("k", got.append).edge("s", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert got == [2, 1, 0]


def test_a_source_that_raises_while_it_is_closed_does_not_hang_the_run(
    allow_log: Callable[[str, str], None],
) -> None:
    """The sink's failure is the error; what closing raised beside it is logged."""
    allow_log("aiflow.engine.closing", "^node s raised while it was closed")

    def stream(scope: Scope) -> Iterator[int]:
        try:
            yield from range(9)
        finally:
            raise ValueError("at the end")

    def fails(payload: object) -> None:
        raise KeyError(payload)

    builder = PlanBuilder().source("s", stream).sink("k", fails).edge("s", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "failed"
    assert snapshot.error == "node k failed in conversation c1: KeyError: 0"


async def deaf(payload: object) -> AsyncIterator[int]:
    """Yield for ever, whoever asks it to end."""
    while True:
        try:
            yield 1
            await asyncio.sleep(1)
        except (GeneratorExit, asyncio.CancelledError):
            pass


async def deaf_source(scope: Scope) -> AsyncIterator[int]:
    """Stream for ever, whoever asks it to end."""
    while True:
        try:
            yield 1
            await asyncio.sleep(1)
        except (GeneratorExit, asyncio.CancelledError):
            pass


def deaf_plain(payload: object) -> Iterator[int]:
    """Yield for ever, without waiting."""
    while True:
        with contextlib.suppress(GeneratorExit):
            yield 1


async def slowly(payload: object) -> None:
    """Take a second."""
    await asyncio.sleep(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("node", "builder"),
    [
        ("n", PlanBuilder().source("s", [1]).node("n", deaf).sink("k", nothing).chain(*"snk")),
        ("n", PlanBuilder().source("s", [1]).node("n", deaf_plain).sink("k", slowly).chain(*"snk")),
        ("s", PlanBuilder().source("s", deaf_source).sink("k", nothing).edge("s", "k")),
        ("s", PlanBuilder().source("s", deaf_plain).sink("k", slowly).edge("s", "k")),
    ],
)
def test_a_generator_that_refuses_to_be_closed_is_reported_as_stuck(
    node: str, builder: PlanBuilder
) -> None:
    """The run ends, says which node it was and where it stood, and leaves no task behind."""
    session = Session(builder.build())
    troubles: list[dict[str, Any]] = []

    async def go() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: troubles.append(context))
        loop.call_later(2.5, session.stop)
        await session.run()
        gc.collect()
        await asyncio.sleep(1)

    run_virtual(go())

    assert session.status.phase == "failed"
    assert f"node {node} did not end within" in session.status.reason
    assert [error.node for error in session.stuck()] == [node]
    assert session.stuck()[0].stack
    assert troubles == []
