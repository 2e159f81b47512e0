"""Limits of a provider: how many requests are open at once, and how many begin in a minute.

All nodes that are handed the provider share them. Whoever comes first is let in first; a request
that is refused and made again gets in line again, as it counts for the server's own limit again.

A node may hold a place while it waits for another node that waits for a place: nobody would ever
go on. So who waits while nothing moves inside is told so after a time.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from aiflow.clock import Clock
from aiflow.errors import ProviderError

_MINUTE_S = 60.0


class NoPlaceError(Exception):
    """Those inside stand still, so nobody will be let in."""


class RequestLimits:
    """Lets requests begin.

    Invariant: at most `max_concurrent` places are inside, and in any 60 seconds at most
    `per_minute` were let in; nobody waits while there is room.

    Args:
        clock: times the minute.
        max_concurrent: requests open at once, 1 or more; None is no limit.
        per_minute: requests begun in any 60 seconds, 1 or more; None is no limit.
        standstill_s: seconds after which those who wait give up, where nobody inside has read
            anything for so long; above 0.
    """

    def __init__(
        self,
        clock: Clock,
        max_concurrent: int | None = None,
        per_minute: int | None = None,
        standstill_s: float = math.inf,
    ) -> None:
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._per_minute = per_minute
        self._standstill_s = standstill_s
        self._inside: set[Place] = set()
        # An ordered dict gives up its first and any other entry in constant time.
        self._line: OrderedDict[Place, asyncio.Future[None]] = OrderedDict()
        self._began: deque[float] = deque(maxlen=per_minute)
        self._moved_at = clock.now()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait to begin."""
        return len(self._line)

    @property
    def inside(self) -> int:
        """Requests that have begun and not ended."""
        return len(self._inside)

    def now(self) -> float:
        """Return seconds on the clock."""
        return self._clock.now()

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

    def give_back(self, place: Place, unused_since: float | None = None) -> None:
        """Take a place from inside, and let the next in.

        Args:
            place: which.
            unused_since: when it was let in, where it made no request after all.
        """
        self._inside.discard(place)
        self._moved_at = self._clock.now()
        if unused_since is not None and unused_since in self._began:
            self._began.remove(unused_since)
        self._let_in()

    def _let_in(self) -> None:
        now = self._clock.now()
        while self._line and self._has_room(now):
            place, waits = self._line.popitem(last=False)
            self._inside.add(place)
            self._moved_at = now
            if self._per_minute is not None:
                self._began.append(now)
            place.let_in(now)
            if not waits.done():
                waits.set_result(None)
        self._set_timer(self._due() if self._line else math.inf)

    def _has_room(self, now: float) -> bool:
        if self._max_concurrent is not None and len(self._inside) >= self._max_concurrent:
            return False
        return not self._is_minute_full() or self._began[0] + _MINUTE_S <= now

    def _is_minute_full(self) -> bool:
        return self._per_minute is not None and len(self._began) == self._per_minute

    def _due(self) -> float:
        """Return when to look again, seconds on the clock."""
        if self._max_concurrent is not None and len(self._inside) >= self._max_concurrent:
            return self._moved() + self._standstill_s
        return self._began[0] + _MINUTE_S

    def _moved(self) -> float:
        """Return when something last moved inside: who waits for the server does move."""
        if any(place.is_reading for place in self._inside):
            return self._clock.now()
        return max((place.read_at for place in self._inside), default=self._moved_at)

    def _look(self) -> None:
        if self._line and self._due() <= self._clock.now() and not self._has_room(self.now()):
            place, waits = self._line.popitem(last=False)
            place.leave()
            if not waits.done():
                waits.set_exception(NoPlaceError())
        self._let_in()

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due == math.inf else self._clock.call_at(due, self._look)


class Place:
    """One request's place: in line, then inside, then left.

    Args:
        limits: whose line it is.

    Attributes:
        is_reading: it waits for the server now. `read_at`: when it last did, or was let in.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self.is_reading = False
        self.read_at = 0.0
        self._limits = limits
        self._let_in_at: float | None = None
        self._has_left = False

    async def enter(self) -> bool:
        """Wait to be let in, once; return False where it was left meanwhile.

        Cancelling the wait leaves the line and costs nobody else a place.

        Raises:
            NoPlaceError: nothing has moved inside for too long.
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

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say that the server is waited for, while it is."""
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False
            self.read_at = self._limits.now()

    def let_in(self, at: float) -> None:
        """Note that it was let in, seconds on the clock; for the limits."""
        self._let_in_at = self.read_at = at

    def leave(self) -> None:
        """Make room for the next, or stop waiting; safe to repeat."""
        self._leave(None)

    def _leave(self, unused_since: float | None) -> None:
        if self._has_left:
            return
        self._has_left = True
        if not self._limits.withdraw(self) and self._let_in_at is not None:
            self._limits.give_back(self, unused_since)


async def entered(place: Place, where: str) -> bool:
    """Wait to be let in; return False where the place was left meanwhile.

    Raises:
        ProviderError: nothing has moved inside for too long.
    """
    try:
        return await place.enter()
    except NoPlaceError:
        raise ProviderError(
            f"{where}: it was not this request's turn, and the open ones stand still, perhaps"
            " because their nodes wait for this one; raise max_concurrent",
            kind="no_place",
            retryable=True,
        ) from None
