"""What cannot be meant as a payload, and state that cannot be made: clear failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def nothing(payload: object) -> None:
    """Take a payload."""


async def later() -> int:
    """Return something, but later."""
    return 1


async def items() -> AsyncIterator[int]:
    """Yield something."""
    yield 1


def numbers() -> Iterator[int]:
    """Yield something at once."""
    yield 1


def yields(payload: object) -> Iterator[Any]:
    """Yield a payload that is none, after one that is."""
    yield 7
    yield later()


async def yields_later(payload: object) -> AsyncIterator[Any]:
    """Likewise, as an async iterator."""
    yield 7
    yield later()


async def awaits(payload: object) -> Any:
    """Return a list with a payload that is none."""
    return [later()]


def emits(payload: object, scope: Scope) -> None:
    """Emit a payload that is none."""
    scope.emit(later())


@pytest.mark.parametrize(
    ("process", "said"),
    [
        (
            lambda _: [later()],
            "node n has an output of type coroutine, which nobody would run; await",
        ),
        (lambda _: [7, later()], "node n has an output of type coroutine"),
        (
            lambda _: [Emit("out", 7), Emit("out", later())],
            "node n has an output of type coroutine",
        ),
        (lambda _: Emit("out", later()), "node n has an output of type coroutine"),
        (lambda _: Emit("out", numbers()), "node n has an output of type generator, which nobody"),
        (lambda _: [numbers()], "node n has an output of type generator"),
        (lambda _: [items()], "node n has an output of type async generator"),
        (lambda _: items(), "node n has an output of type async generator"),
        (lambda _: later(), "the operator of node n returned an awaitable from a plain function"),
        (awaits, "node n has an output of type coroutine"),
        (yields, "node n has an output of type coroutine"),
        (yields_later, "node n has an output of type coroutine"),
        (emits, "node n has an output of type coroutine"),
    ],
)
def test_what_has_yet_to_be_awaited_or_iterated_is_no_payload(
    process: Callable[..., Any], said: str
) -> None:
    """However it is returned, the conversation fails in a sentence that names the node."""
    builder = PlanBuilder().source("s", [1]).node("n", process, max_outputs=2)
    session = Session(builder.sink("k", nothing).chain("s", "n", "k").build())

    snapshot = run_virtual(session.run())

    assert snapshot.phase == "failed"
    assert session.status.reason.startswith(said)
    assert snapshot.in_flight == 0


@pytest.mark.parametrize("stream", [yields, yields_later])
def test_a_source_makes_no_payload_of_a_coroutine(stream: Callable[..., Any]) -> None:
    """What it streamed before is processed, the coroutine is its failure."""
    got: list[object] = []
    builder = PlanBuilder().source("s", stream).sink("k", got.append).edge("s", "k")
    session = Session(builder.build())

    run_virtual(session.run())

    assert session.status.reason.startswith("node s has an output of type coroutine")
    assert got == [7]


@pytest.mark.parametrize("payload", [{1, 2}, int, asyncio.sleep, (1, 2), {"a": 1}, object()])
def test_any_other_object_is_a_payload(payload: object) -> None:
    """Also one that only its author understands."""
    got: list[object] = []
    builder = PlanBuilder().source("s", [1, 2]).node("n", lambda _: payload)

    run_virtual(Session(builder.sink("k", got.append).chain("s", "n", "k").build()).run())

    assert got == [payload, payload]


def test_a_state_that_cannot_be_made_fails_its_conversation_and_no_other() -> None:
    """Each sink hears ERROR, nothing has run, and the next conversation may do better."""
    made: list[int] = []
    got: list[object] = []

    def state() -> int:
        made.append(1)
        if len(made) == 1:
            raise ValueError("no state")
        return 0

    async def wait(payload: object) -> object:
        return payload

    builder = PlanBuilder(1).source("s", [1, 2], conversations=2).node("n", wait, state=state)
    session = Session(builder.sink("k", got.append).chain("s", "n", "k").build())

    snapshot = run_virtual(session.run())

    assert snapshot.phase == "failed"
    assert snapshot.error == "node n failed in conversation c1: ValueError: no state"
    assert snapshot.conversations == {"c1": "failed", "c2": "completed"}
    assert got == [1, 2]
