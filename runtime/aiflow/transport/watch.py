"""A time-out for many waits in a row that costs one timer, not one for each.

`asyncio.timeout` makes and cancels a timer every time, and on Qt's loop a cancelled timer stays
until it is due. Here one timer looks now and then how long the present wait has taken. Only
waiting counts: a stream that nobody reads, because the graph is full, never times out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from aiflow.clock import Clock

T = TypeVar("T")


class WaitWatch:
    """Limits single waits of one task.

    Args:
        clock: tells the time; its timers may fire early, so the time is checked.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._deadline: float | None = None
        self._task: asyncio.Task[object] | None = None
        self._has_expired = False

    async def wait(self, awaitable: Awaitable[T], limit_s: float) -> T:
        """Return what `awaitable` returns.

        Raises:
            TimeoutError: it took longer than `limit_s`; it has been cancelled.
        """
        self._task = task = asyncio.current_task()
        # A task that cleans up after its own cancellation waits with one request pending already.
        asked_before = 0 if task is None else task.cancelling()
        self._deadline = self._clock.now() + limit_s
        self._has_expired = False
        if self._due is None or self._due > self._deadline:
            self._set_timer(self._deadline)
        try:
            return await awaitable
        except asyncio.CancelledError:
            # Ours, unless somebody else wants this task to end as well.
            if self._has_expired and task is not None and task.uncancel() <= asked_before:
                raise TimeoutError from None
            raise
        finally:
            self._deadline = None

    def close(self) -> None:
        """Take the timer down; call it when no further wait will come."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._due = None

    def _set_timer(self, due: float) -> None:
        self.close()
        self._due = due
        self._timer = self._clock.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = self._due = None
        if self._deadline is None:
            return
        if self._clock.now() < self._deadline:
            self._set_timer(self._deadline)
        elif self._task is not None and not self._has_expired:
            self._has_expired = True
            self._task.cancel()
