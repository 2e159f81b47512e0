"""Limits of a provider: how many requests are open at once, and how many begin in a minute.

All nodes that are handed the provider share them. Whoever comes first is let in first; a request
that is refused and made again gets in line again, as it counts for the server's own limit again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque

from aiflow.clock import Clock

_MINUTE_S = 60.0


class RequestLimits:
    """Lets requests begin.

    Invariant: at most `max_concurrent` places are inside, and in any 60 seconds at most
    `per_minute` were let in; nobody waits while there is room.

    Args:
        clock: times the minute.
        max_concurrent: requests open at once, 1 or more; None is no limit.
        per_minute: requests begun in any 60 seconds, 1 or more; None is no limit.
    """

    def __init__(
        self, clock: Clock, max_concurrent: int | None = None, per_minute: int | None = None
    ) -> None:
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._per_minute = per_minute
        self._inside = 0
        # An ordered dict gives up its first and any other entry in constant time.
        self._line: OrderedDict[Place, asyncio.Future[None]] = OrderedDict()
        self._began: deque[float] = deque(maxlen=per_minute)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait to begin."""
        return len(self._line)

    @property
    def inside(self) -> int:
        """Requests that have begun and not ended."""
        return self._inside

    def place(self) -> Place:
        """Return the place of one request, which is not in line yet."""
        return Place(self)

    def close(self) -> None:
        """Send away whoever still waits."""
        for place in list(self._line):
            place.leave()

    def queue(self, place: Place) -> asyncio.Future[None]:
        """Put a place at the end of the line; what is returned is done when it is let in."""
        let_in = self._line[place] = asyncio.get_running_loop().create_future()
        self._let_in()
        return let_in

    def withdraw(self, place: Place) -> bool:
        """Take a place out of the line; return False where it is not there any more."""
        waits = self._line.pop(place, None)
        if waits is None:
            return False
        if not waits.done():
            waits.set_result(None)
        # It may have been the first, for which the timer was set.
        self._let_in()
        return True

    def give_back(self, unused_since: float | None = None) -> None:
        """Take a place from inside, and let the next in.

        Args:
            unused_since: when it was let in, where it made no request after all.
        """
        self._inside -= 1
        if unused_since is not None and unused_since in self._began:
            self._began.remove(unused_since)
        self._let_in()

    def _let_in(self) -> None:
        now = self._clock.now()
        due: float | None = None
        while self._line and self._has_room():
            if self._is_minute_full() and self._began[0] + _MINUTE_S > now:
                due = self._began[0] + _MINUTE_S
                break
            place, waits = self._line.popitem(last=False)
            self._inside += 1
            if self._per_minute is not None:
                self._began.append(now)
            place.let_in(now)
            if not waits.done():
                waits.set_result(None)
        self._set_timer(due)

    def _has_room(self) -> bool:
        return self._max_concurrent is None or self._inside < self._max_concurrent

    def _is_minute_full(self) -> bool:
        return self._per_minute is not None and len(self._began) == self._per_minute

    def _set_timer(self, due: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else self._clock.call_at(due, self._let_in)


class Place:
    """One request's place: in line, then inside, then left.

    Args:
        limits: whose line it is.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._let_in_at: float | None = None
        self._has_left = False

    async def enter(self) -> bool:
        """Wait to be let in, once; return False where it was left meanwhile.

        Cancelling the wait leaves the line and costs nobody else a place.
        """
        if self._has_left:
            return False
        try:
            await self._limits.queue(self)
        except asyncio.CancelledError:
            # It may have been let in at the same moment, and then sends nothing.
            self._leave(self._let_in_at)
            raise
        return not self._has_left

    def let_in(self, at: float) -> None:
        """Note that it was let in, seconds on the clock; for the limits."""
        self._let_in_at = at

    def leave(self) -> None:
        """Make room for the next, or stop waiting; safe to repeat."""
        self._leave(None)

    def _leave(self, unused_since: float | None) -> None:
        if self._has_left:
            return
        self._has_left = True
        if not self._limits.withdraw(self) and self._let_in_at is not None:
            self._limits.give_back(unused_since)
