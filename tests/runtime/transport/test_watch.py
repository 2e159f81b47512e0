"""Tests of `aiflow.transport.watch`, on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.transport.watch import WaitWatch


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run on a virtual loop."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(coroutine)
    finally:
        loop.close()


def made() -> tuple[VirtualClock, WaitWatch]:
    """Return a clock of the running loop and a watch on it."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    clock = VirtualClock(loop)
    return clock, WaitWatch(clock)


def test_a_wait_that_is_too_long_is_cancelled_at_its_limit() -> None:
    """The time is exact, and the task goes on afterwards."""

    async def main() -> None:
        clock, watch = made()
        with pytest.raises(TimeoutError):
            await watch.wait(clock.sleep(10), 3)

        assert clock.now() == 3
        assert await watch.wait(asyncio.sleep(1, "done"), 3) == "done"
        watch.close()

    run(main())


def test_many_short_waits_never_time_out() -> None:
    """Each wait has the limit anew, though they take much longer together."""

    async def main() -> None:
        clock, watch = made()
        for _ in range(100):
            await watch.wait(clock.sleep(2), 3)
        watch.close()

        assert clock.now() == 200

    run(main())


def test_time_between_waits_does_not_count() -> None:
    """A consumer that was held up for hours finds a full limit."""

    async def main() -> None:
        clock, watch = made()
        await watch.wait(clock.sleep(1), 3)
        await clock.sleep(10_000)
        await watch.wait(clock.sleep(2), 3)
        watch.close()

    run(main())


def test_a_shorter_limit_is_kept_behind_a_longer_one() -> None:
    """The timer of the longer one does not stand in its way."""

    async def main() -> None:
        clock, watch = made()
        await watch.wait(clock.sleep(0), 1000)
        with pytest.raises(TimeoutError):
            await watch.wait(clock.sleep(10), 2)

        assert clock.now() == 2
        watch.close()

    run(main())


def test_a_cancellation_from_elsewhere_stays_one() -> None:
    """It is not taken for a time-out, also when both happen in one turn."""

    async def main() -> None:
        clock, watch = made()

        async def waits() -> None:
            await watch.wait(clock.sleep(10), 3)

        for at in (1.0, 2.0):
            task = asyncio.create_task(waits())
            await clock.sleep(at)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        watch.close()

    run(main())


def test_a_task_that_was_cancelled_may_still_time_out() -> None:
    """Whoever cleans up after a cancellation gets the time-out, not a second cancellation."""

    async def main() -> None:
        clock, watch = made()
        cleaned_at: list[float] = []

        async def cleans_up() -> None:
            try:
                await clock.sleep(100)
            finally:
                with pytest.raises(TimeoutError):
                    await watch.wait(clock.sleep(10), 3)
                cleaned_at.append(clock.now())

        task = asyncio.create_task(cleans_up())
        await clock.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        watch.close()

        assert cleaned_at == [4]

    run(main())


def test_an_error_of_what_is_awaited_passes() -> None:
    """The watch adds nothing to it."""

    async def fails() -> None:
        raise ConnectionError("gone")

    async def main() -> None:
        _, watch = made()
        with pytest.raises(ConnectionError, match="gone"):
            await watch.wait(fails(), 3)
        watch.close()

    run(main())
