"""Tests of `aiflow.providers.limits`: who is let in, when, and what a cancelled wait leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.clock import Clock, VirtualClock, VirtualLoop
from aiflow.providers.limits import NoPlaceError, Place, RequestLimits


def on_virtual_clock(main: Callable[[Clock], Awaitable[None]]) -> None:
    """Run on a loop whose time jumps."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(main(VirtualClock(loop)))
    finally:
        loop.close()


@given(
    most=st.none() | st.integers(1, 3),
    per_minute=st.none() | st.integers(1, 4),
    requests=st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 30.0, 70.0]),  # after the one before
            st.sampled_from([0.0, 5.0, 100.0]),  # how long it takes
            st.none() | st.sampled_from([0.0, 0.5, 20.0]),  # when it is cancelled
        ),
        max_size=12,
    ),
)
def test_limits_hold_and_nobody_is_passed(
    most: int | None,
    per_minute: int | None,
    requests: list[tuple[float, float, float | None]],
) -> None:
    """Never more inside, never more in a minute, first come first served, nothing left behind."""
    began: list[tuple[float, int]] = []
    inside = 0

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, most, per_minute)

        async def ask(number: int, takes_s: float) -> None:
            nonlocal inside
            place = limits.place()
            try:
                assert await place.enter()
                began.append((clock.now(), number))
                inside += 1
                assert inside == limits.inside <= (most or 99)
                try:
                    await clock.sleep(takes_s)
                finally:
                    inside -= 1
            finally:
                place.leave()

        async def one(number: int, takes_s: float, cancel_s: float | None) -> None:
            task = asyncio.ensure_future(ask(number, takes_s))
            if cancel_s is not None:
                await clock.sleep(cancel_s)
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        async with asyncio.TaskGroup() as group:
            for number, (after_s, takes_s, cancel_s) in enumerate(requests):
                await clock.sleep(after_s)
                group.create_task(one(number, takes_s, cancel_s))
        assert (limits.inside, limits.waiting, limits._timer) == (0, 0, None)

    on_virtual_clock(main)

    times = [at for at, _ in began]
    assert [number for _, number in began] == sorted(number for _, number in began)
    for first, last in zip(times, times[per_minute or 99 :], strict=False):
        assert last - first >= 60
    if most is None and per_minute is None:
        assert len(began) >= sum(cancel_s != 0.0 for *_, cancel_s in requests)


def test_a_minute_that_is_full_opens_when_its_first_request_is_a_minute_old() -> None:
    """Two a minute: the third begins 60 s after the first, the fourth 60 s after the second."""
    began: list[float] = []

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, None, 2)
        for _ in range(4):
            place = limits.place()
            await place.enter()
            began.append(clock.now())
            place.leave()
            await clock.sleep(10)

    on_virtual_clock(main)

    assert began == [0, 10, 60, 70]


def test_a_wait_that_is_cancelled_costs_nobody_a_place() -> None:
    """Neither in line nor let in at the very moment of the cancel."""
    order: list[str] = []

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, 1, 2)
        first = limits.place()
        await first.enter()
        tasks = [asyncio.ensure_future(limits.place().enter()) for _ in range(2)]
        third = limits.place()
        waits = asyncio.ensure_future(third.enter())
        await asyncio.sleep(0)
        assert limits.waiting == 3

        tasks[0].cancel()
        first.leave()  # lets the second in, whose task has not run since
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        order.append(f"{await waits} at {clock.now():g}")
        third.leave()
        assert (limits.inside, limits.waiting) == (0, 0)

    on_virtual_clock(main)

    # The cancelled ones sent nothing, so the minute had room for the third.
    assert order == ["True at 0"]


@pytest.mark.parametrize("closes", ["the place", "the limits"])
def test_a_place_that_is_left_while_it_waits_is_not_let_in(closes: str) -> None:
    """Whoever closes a stream ends its wait; stopping the provider ends all."""

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, 1, 1)
        held, waiting, late = Place(limits), Place(limits), Place(limits)
        await held.enter()
        waits = asyncio.ensure_future(waiting.enter())
        await asyncio.sleep(0)

        if closes == "the place":
            waiting.leave()
        else:
            limits.close()

        assert await waits is False
        assert limits._timer is None
        held.leave()
        late.leave()
        assert await late.enter() is False
        assert (limits.inside, limits.waiting) == (0, 0)

    on_virtual_clock(main)


@pytest.mark.parametrize(("reads_every_s", "fails_at"), [(None, 30.0), (20.0, None)])
def test_who_waits_for_those_that_stand_still_gives_up(
    reads_every_s: float | None, fails_at: float | None
) -> None:
    """Perhaps they wait for this very request; one that is read now and then does move."""
    ended: list[tuple[str, float]] = []

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, 1, None, standstill_s=30)
        held, waiting = limits.place(), limits.place()
        await held.enter()

        async def wait() -> None:
            try:
                ended.append(("in" if await waiting.enter() else "left", clock.now()))
            except NoPlaceError:
                ended.append(("none", clock.now()))

        task = asyncio.ensure_future(wait())
        for _ in range(10):
            await clock.sleep(reads_every_s or 20)
            if reads_every_s:
                with held.reading():
                    await clock.sleep(0)
        held.leave()
        await task
        assert (limits.inside, limits.waiting, limits._timer) == (
            (0, 0, None) if fails_at else (1, 0, None)
        )

    on_virtual_clock(main)

    assert ended == ([("none", fails_at)] if fails_at else [("in", 200.0)])


def test_a_server_that_takes_its_time_is_no_standstill() -> None:
    """Whoever waits for it is bounded by time-outs of its own."""

    async def main(clock: Clock) -> None:
        limits = RequestLimits(clock, 1, None, standstill_s=30)
        held, waiting = limits.place(), limits.place()
        await held.enter()
        task = asyncio.ensure_future(waiting.enter())
        with held.reading():
            await clock.sleep(1000)
        held.leave()
        assert await task

    on_virtual_clock(main)
