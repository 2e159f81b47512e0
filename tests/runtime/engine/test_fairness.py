"""Conversations share a node: none that cannot leave stops another, and all take their turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

STUCK_S = 1_000.0


def passes(payload: Token) -> Token:
    """Be a plain function."""
    return payload


async def waits(payload: Token, scope: Scope) -> Token:
    """Be a coroutine that suspends."""
    await scope.sleep(0.001)
    return payload


async def streams(payload: Token, scope: Scope) -> AsyncIterator[Token]:
    """Be an async generator, which keeps its worker until its last output has left."""
    yield payload
    await scope.sleep(0.001)
    yield payload


def generates(payload: Token) -> Iterator[Token]:
    """Be a generator, which keeps its worker likewise."""
    yield payload
    yield payload


def shared(middle: Any, q: int, k: int, rho: int, count: int) -> tuple[PlanBuilder, list[str]]:
    """Return s → n → k with C conversations, and who was let through, in order.

    The sink has a worker for each, so that a reader who is stuck holds nobody up there.
    """
    through: list[str] = []

    async def read(payload: Token, scope: Scope) -> None:
        through.append(scope.conversation)
        if scope.conversation == "c1":
            await scope.sleep(STUCK_S)

    def stream(scope: Scope) -> Iterator[Token]:
        yield from (Token(str(number)) for number in range(20))

    builder = PlanBuilder(count).source("s", stream, conversations=count)
    builder.node("n", middle, queue_capacity=q, workers=k, reorder_capacity=rho)
    builder.sink("k", read, queue_capacity=count, workers=count)
    return builder.chain("s", "n", "k"), through


@given(
    st.sampled_from([passes, waits]),
    st.integers(2, 4),
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_one_that_cannot_leave_never_stops_another(
    middle: Any, count: int, more_places: int, workers: int, more_held: int
) -> None:
    """Where q and k + ρ are C or more, in the queue and in the window behind it."""
    held = max(0, count - workers) + more_held
    builder, through = shared(middle, count + more_places, workers, held, count)

    _until_stuck(builder)

    assert _others(through) == {f"c{n}": 20 for n in range(2, count + 1)}


@given(
    st.sampled_from([streams, generates]),
    st.integers(2, 4),
    st.integers(0, 2),
    st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_nor_does_one_whose_operator_has_more_to_say(
    middle: Any, count: int, more_workers: int, held: int
) -> None:
    """Such an operator keeps its worker, so there it takes a worker for each."""
    builder, through = shared(middle, count, count + more_workers, held, count)

    _until_stuck(builder)

    assert _others(through) == {f"c{n}": 40 for n in range(2, count + 1)}


def _others(through: list[str]) -> Counter[str]:
    """Count what has come through of those whose reader is not stuck."""
    return Counter(conversation for conversation in through if conversation != "c1")


def _until_stuck(builder: PlanBuilder) -> None:
    """Run until only the reader who is stuck is left, and stop."""

    async def go() -> None:
        session = Session(builder.build())
        asyncio.get_running_loop().call_later(STUCK_S / 2, session.stop)
        await session.run()

    run_virtual(go())


@given(
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 8),
    st.lists(st.integers(15, 40), min_size=5, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_conversations_that_can_go_on_are_served_in_turns(
    count: int, workers: int, held: int, more_places: int, lengths: list[int]
) -> None:
    """At each moment the counts of any two that have something waiting differ by one at most."""
    served: list[str] = []

    async def serve(payload: Token, scope: Scope) -> None:
        served.append(scope.conversation)
        await scope.sleep(1.0)

    def stream(scope: Scope) -> Iterator[Token]:
        yield from (Token(str(number)) for number in range(lengths[scope.number - 1]))

    builder = PlanBuilder(count).source("s", stream, conversations=count)
    # A place for each: where the queue is smaller, who waits outside cannot be dispatched.
    builder.sink(
        "k", serve, queue_capacity=count + more_places, workers=workers, reorder_capacity=held
    )
    run_virtual(Session(builder.edge("s", "k").build()).run())

    # From when each has come to its first turn until the shortest has nothing waiting any more,
    # all can always be dispatched.
    begun = max(served.index(f"c{number}") for number in range(1, count + 1)) + 1
    always = min(lengths[:count]) - begun - count - more_places - workers - held
    counts: Counter[str] = Counter({f"c{number}": 0 for number in range(1, count + 1)})
    for conversation in served[begun:]:
        counts[conversation] += 1
        if max(counts.values()) >= always:
            break
        assert max(counts.values()) - min(counts.values()) <= 1, served


def test_places_that_were_kept_are_free_again_when_a_conversation_has_ended() -> None:
    """Who had to leave them for it is served without anything else happening."""
    done: list[float] = []

    async def serve(payload: Token, scope: Scope) -> None:
        await scope.sleep(10.0)
        done.append(scope.clock.now())

    def stream(scope: Scope) -> Iterator[Token]:
        yield from (Token(str(n)) for n in range(1 if scope.conversation == "c2" else 4))

    builder = PlanBuilder(2).source("s", stream, conversations=2)
    builder.sink("k", serve, queue_capacity=4, workers=2)
    run_virtual(Session(builder.edge("s", "k").build()).run())

    # c1 has one of the two workers while c2 is there, and both afterwards.
    assert done == pytest.approx([10.0, 10.0, 20.0, 20.0, 30.0])
