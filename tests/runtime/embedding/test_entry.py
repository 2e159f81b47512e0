"""Tests of `aiflow.embedding.entry`."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import aiflow
from aiflow import Flow
from aiflow.embedding.entry import Entry, Place
from aiflow.errors import RefusedError
from aiflow.testing.virtual import run_virtual

FLOW = Flow("Count", max_conversations=2)
FLOW.synthetic("numbers", count=3, rate=1) >> FLOW.screen("screen")
PLAN = aiflow.plan(FLOW, clock="virtual")


async def come(entry: Entry, count: int) -> list[asyncio.Task[Place]]:
    """Let some come to the entry, one after the other."""
    comers = []
    for _ in range(count):
        comers.append(asyncio.ensure_future(entry.enter()))
        await asyncio.sleep(0)
    return comers


def states(comers: list[asyncio.Task[Place]]) -> str:
    """Return a letter for each: in, waiting, refused."""

    def state(comer: asyncio.Task[Place]) -> str:
        if not comer.done():
            return "w"
        return "r" if isinstance(comer.exception(), RefusedError) else "i"

    return "".join(map(state, comers))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"when_full": "queue"}, "iiwww"),
        ({"when_full": "queue", "max_waiting": 1}, "iiwrr"),
        ({"when_full": "reject"}, "iirrr"),
        ({"when_full": "shed"}, "iirww"),
        ({"when_full": "shed", "max_waiting": 1}, "iirrw"),
    ],
)
def test_what_a_further_one_meets(options: dict[str, Any], found: str) -> None:
    """Two are let in; then it waits, is refused, or the oldest that waits is."""

    async def go() -> None:
        entry = Entry(PLAN, **options)
        comers = await come(entry, 5)
        await asyncio.sleep(0)

        assert states(comers) == found
        assert (entry.active, entry.waiting) == (2, found.count("w"))
        assert entry.refused == found.count("r")
        for comer in comers[:2]:
            comer.result().leave()
        for comer in comers:
            if not comer.cancel() and not comer.exception():
                comer.result().leave()
        await asyncio.wait(comers)
        for comer in comers:
            if not comer.cancelled() and not comer.exception():
                comer.result().leave()
        assert (entry.active, entry.waiting) == (0, 0)

    run_virtual(go())


def test_those_who_wait_get_their_place_in_order() -> None:
    """Each that leaves lets one in, once, however often it says that it leaves."""

    async def go() -> None:
        entry = Entry(PLAN, when_full="queue")
        comers = await come(entry, 4)
        comers[0].result().leave()
        comers[0].result().leave()
        await asyncio.sleep(0)
        assert states(comers) == "iiiw"

        comers[1].result().leave()
        await asyncio.sleep(0)
        assert states(comers) == "iiii"
        assert entry.active == 2

        for comer in comers[2:]:
            comer.result().leave()
        assert entry.active == 0

    run_virtual(go())


@pytest.mark.parametrize("is_granted", [False, True])
def test_who_walks_away_while_it_waits_takes_no_place_along(is_granted: bool) -> None:
    """Not even one that it was given at the very moment."""

    async def go() -> None:
        entry = Entry(PLAN, when_full="queue")
        comers = await come(entry, 4)
        if is_granted:
            comers[0].result().leave()
        comers[2].cancel()
        await asyncio.wait(comers[2:3])
        if not is_granted:
            comers[0].result().leave()
        await comers[3]

        assert entry.active == 2
        comers[1].result().leave()
        comers[3].result().leave()
        assert (entry.active, entry.waiting) == (0, 0)

    run_virtual(go())


def test_a_place_that_is_let_go_is_given_back() -> None:
    """A response whose client was gone before it began never enters its block."""

    async def go() -> None:
        entry = Entry(PLAN)
        place: Place | None = await entry.enter()
        assert place is not None
        del place
        gc.collect()
        await asyncio.sleep(0)
        assert entry.active == 0

    run_virtual(go())


def test_runs_of_a_server_never_exceed_what_the_graph_allows() -> None:
    """Six requests at once, two at a time; the sentence says what to do."""

    async def go() -> tuple[int, int, str]:
        entry = Entry(PLAN, when_full="queue", max_waiting=3)
        most = 0

        async def request() -> str:
            nonlocal most
            async with await entry.enter(), aiflow.open(PLAN) as run:
                most = max(most, entry.active)
                return (await run.result()).shown["screen"]

        answers = await asyncio.gather(*(request() for _ in range(6)), return_exceptions=True)
        refused = [str(each) for each in answers if isinstance(each, RefusedError)]
        return most, len(answers) - len(refused), refused[0]

    most, answered, sentence = run_virtual(go())

    assert (most, answered) == (2, 5)
    assert sentence == "2 conversations are open and 3 wait; try again later"
