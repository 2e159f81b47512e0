"""Watermarks: what cannot come any more, known although nothing was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from math import inf
from typing import Any

from aiflow.engine.session import Session
from aiflow.engine.watermarks import edge_watermark
from aiflow.events import Message, Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


async def paced(scope: Scope) -> AsyncIterator[Token]:
    """Yield ten tokens, one a second."""
    for number in range(10):
        yield Token(str(number))
        await scope.sleep(1.0)


def marks(builder: PlanBuilder, node: str, times: list[float]) -> list[float]:
    """Return the watermark behind a node at some times of a run."""

    async def go() -> list[float]:
        session = Session(builder.build())
        found: list[float] = []

        def look() -> None:
            turn = session._conversations.active["c1"].turn
            found.append(edge_watermark(turn, node, "s"))

        for at in times:
            asyncio.get_running_loop().call_at(at, look)
        await session.run()
        return found

    return run_virtual(go())


def test_a_filter_moves_the_watermark_without_sending_anything() -> None:
    """A branch that swallows everything tells as much as one that passes it on."""
    builder = PlanBuilder(1).source("s", paced).node("few", lambda token: None)

    found = marks(builder.sink("k", str).chain("s", "few", "k"), "few", [0.5, 3.5, 8.5])

    assert found == [0, 3, 8]


def test_what_is_at_work_or_waits_holds_the_watermark_back() -> None:
    """The oldest that may still come out decides, whoever overtook it."""

    async def first_is_slow(token: Token, scope: Scope) -> Token:
        await scope.sleep(5.2 if token.text == "2" else 0.1)
        return token

    builder = PlanBuilder(1).source("s", paced).node("n", first_is_slow, workers=3)

    found = marks(builder.sink("k", str).chain("s", "n", "k"), "n", [1.5, 2.5, 6.5, 7.5])

    assert found == [1, 1, 1, 7]


def test_what_an_operator_keeps_holds_the_watermark_back() -> None:
    """It may emit for an event that was settled long ago."""

    def keep(token: Token, scope: Scope) -> None:
        scope.state.append(scope.sequence)
        scope.keep_from(scope.state[0])

    builder = PlanBuilder(1).source("s", paced)
    builder.node("n", keep, state=list, finish=lambda scope: Message("all"), kept=10)

    found = marks(builder.sink("k", str).chain("s", "n", "k"), "n", [4.5])

    assert found == [-1]


def test_after_the_end_nothing_can_come() -> None:
    """END is the highest watermark."""

    def early(scope: Scope) -> Iterator[Token]:
        return iter([Token("a")])

    builder = PlanBuilder(1).source("s", early).source("t", paced)

    found = marks(builder.sink("k", str).edge("s", "k").edge("t", "k"), "s", [2.5])

    assert found == [inf]


def test_parts_are_told_apart_behind_a_merge_and_forgotten_in_time() -> None:
    """Two branches give one sequence twice; numbers differ, and the books stay small."""
    sizes: list[int] = []
    numbers: set[tuple[int, int]] = set()

    def stream(scope: Scope) -> Iterator[Token]:
        for number in range(5_000):
            yield Token(str(number))

    async def later(token: Token, scope: Scope) -> Token:
        return token

    builder = PlanBuilder(1).source("s", stream).node("late", later).node("m", lambda token: token)
    builder.sink("k", str).edge("s", "m").edge("s", "late").edge("late", "m").edge("m", "k")

    async def go() -> Any:
        session = Session(builder.build())

        class Look:
            def see(self, event: Any, at: float) -> None:
                place = (event.sequence, event.part)
                assert place not in numbers
                numbers.add(place)
                parts = session._conversations.active["c1"].turn.lanes["m"].parts
                assert parts is not None
                sizes.append(len(parts))

        def put_tap() -> None:
            session._look_inside()._watchers.add("m.out>k.in", Look())

        task = asyncio.ensure_future(session.run())
        await asyncio.sleep(0)
        put_tap()
        return await task

    run_virtual(go())

    assert len(numbers) > 9_000
    assert max(sizes) < 2_000
