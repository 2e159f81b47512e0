"""Time: the one way to ask for it and to wait for it.

Two clocks share one protocol. `SystemClock` reads the monotonic clock and waits on
whatever event loop runs. `VirtualClock` belongs to a `VirtualLoop`, an asyncio loop whose
time jumps to the next timer whenever nothing is ready, so a run of an hour takes the time
its code takes and is the same each time. All times are seconds.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What the runtime needs of time."""

    is_virtual: bool

    def now(self) -> float:
        """Return seconds since an arbitrary fixed point; never goes back."""
        ...

    async def sleep_until(self, deadline: float) -> None:
        """Return when `now()` is `deadline` or later, never before."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return `delay_s` seconds (>= 0) from now or later."""
        ...

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` on the loop about `deadline`; it must check the time itself."""
        ...


class SystemClock:
    """The machine's monotonic clock, on whatever loop is running."""

    is_virtual = False

    def now(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `deadline`.

        Qt's coarse timers fire up to 5 % early, so the deadline is checked, not trusted.
        """
        while (left := deadline - time.monotonic()) > 0:  # noqa: ASYNC110 - nobody sets time
            await asyncio.sleep(left)

    async def sleep(self, delay_s: float) -> None:
        """Wait `delay_s` seconds."""
        await self.sleep_until(time.monotonic() + delay_s)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` about `deadline` on the running loop."""
        delay_s = max(0.0, deadline - time.monotonic())
        return asyncio.get_running_loop().call_later(delay_s, callback)


class VirtualTimeStuckError(RuntimeError):
    """Everything on a virtual loop waits and no timer is set: no time will ever pass."""

    def __init__(self) -> None:
        super().__init__(
            "the virtual clock has no timer left and nothing is ready:"
            " some code waits for something that is not on this loop"
        )


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time passes only while nothing else is to be done."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_JumpSelector(self._advance))

    def time(self) -> float:
        """Return the virtual time in seconds; it starts at 0."""
        return self._virtual_now

    def _advance(self, timeout_s: float) -> None:
        self._virtual_now += timeout_s


class VirtualClock:
    """The time of one `VirtualLoop`."""

    is_virtual = True

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """Return the loop's virtual time."""
        return self._loop.time()

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `deadline` has come on the virtual clock."""
        while (left := deadline - self._loop.time()) > 0:  # noqa: ASYNC110 - nobody sets time
            await asyncio.sleep(left)

    async def sleep(self, delay_s: float) -> None:
        """Wait `delay_s` virtual seconds."""
        await self.sleep_until(self._loop.time() + delay_s)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` at `deadline`."""
        return self._loop.call_at(deadline, callback)


class _JumpSelector(selectors.DefaultSelector):
    """A selector that turns waiting into passing time."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise VirtualTimeStuckError
        self._advance(timeout)
        return ready
