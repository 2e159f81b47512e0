"""Resources that raise what they like: the run says how it ended, and the others are stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


class OddError(BaseException):
    """Not even an Exception."""


class UnshowableError(Exception):
    """Cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Fake:
    """A resource that raises where it is told to."""

    def __init__(
        self, at_start: BaseException | None = None, at_stop: BaseException | None = None
    ) -> None:
        self.at_start, self.at_stop = at_start, at_stop
        self.is_stopped = False

    async def start(self, clock: Any) -> None:
        """Raise, or do nothing."""
        if self.at_start is not None:
            raise self.at_start

    async def stop(self) -> None:
        """Note it, and raise where it is told to."""
        self.is_stopped = True
        if self.at_stop is not None:
            raise self.at_stop


def _itself(resource: Fake) -> Fake:
    return resource


def session_of(*resources: Fake) -> Session:
    """Return a session of a little plan with these resources."""
    builder = PlanBuilder().source("s", [1]).sink("k", lambda _: None).edge("s", "k")
    for number, resource in enumerate(resources):
        builder.resource(f"r{number}", partial(_itself, resource))
    return Session(builder.build())


@pytest.mark.parametrize("error", [OddError("x"), asyncio.CancelledError(), UnshowableError()])
def test_a_start_that_raises_anything_fails_the_run_in_a_sentence(error: BaseException) -> None:
    """Whatever it is, it is the resource's failure, and what was started is stopped."""
    first, second = Fake(), Fake(at_start=error)
    session = session_of(first, second)

    snapshot = run_virtual(session.run())

    assert snapshot.phase == session.status.phase == "failed"
    assert session.status.reason.startswith("resource r1: it cannot start: ")
    assert type(error).__name__ in session.status.reason
    assert (first.is_stopped, second.is_stopped) == (True, True)


@pytest.mark.parametrize("error", [OddError("x"), asyncio.CancelledError(), UnshowableError()])
def test_a_stop_that_raises_anything_keeps_no_other_from_stopping(
    error: BaseException, allow_log: Callable[[str, str], None]
) -> None:
    """The run was over, and stays as it ended; what was raised is logged."""
    allow_log("aiflow.engine.starting", "^resource r1 did not stop cleanly")
    first, second = Fake(), Fake(at_stop=error)
    session = session_of(first, second)

    snapshot = run_virtual(session.run())

    assert snapshot.phase == session.status.phase == "completed"
    assert first.is_stopped


@pytest.mark.parametrize("where", ["at_start", "at_stop"])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_the_end_of_the_process_is_passed_on_after_the_books_are_closed(
    where: str, error: BaseException
) -> None:
    """All resources are stopped, and the run is no completed one."""
    first = Fake()
    session = session_of(first, Fake(**{where: error}))

    with pytest.raises(type(error)):
        run_virtual(session.run())

    assert session.status.phase == "cancelled"
    assert first.is_stopped


def test_cancelling_a_run_that_waits_for_a_resource_cancels_the_session() -> None:
    """Whoever awaits it has been cancelled, which is no failure of the resource."""
    other = Fake()

    class Slow(Fake):
        async def start(self, clock: Any) -> None:
            await clock.sleep(3600)

    session = session_of(other, Slow())

    async def go() -> None:
        task = asyncio.create_task(session.run())
        asyncio.get_running_loop().call_later(1, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(go())

    assert session.status.phase == "cancelled"
    assert other.is_stopped
