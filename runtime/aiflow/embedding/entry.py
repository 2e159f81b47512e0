"""The entry of a server: no more runs of one graph at once than its `max_conversations`.

Inside one run further conversations wait at the source. A server has a run for each request, so
what a further one meets is decided here: it waits, it is refused, or the one that has waited
longest is given up for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Literal

from aiflow.compiler.plan import Plan
from aiflow.errors import RefusedError

#: What a further run meets when there is no place.
WhenFull = Literal["queue", "reject", "shed"]


class Entry:
    """Lets the runs of one plan in, from one event loop.

    ```python
    graph = aiflow.plan("chat.aiflow.json")
    entry = aiflow.Entry(graph, when_full="reject")

    async with await entry.enter(), aiflow.open(graph, inputs="Why wait?") as run:
        ...
    ```

    Args:
        plan: made by `aiflow.plan`; its `max_conversations` is how many are let in at once.
        when_full: `queue` lets further ones wait in order; `reject` refuses them at once; `shed`
            lets them wait, and where the line is full gives up the one that has waited longest.
        max_waiting: most that wait; None is no limit for `queue` and as many as are let in for
            `shed`. A full line of `queue` refuses who comes.

    Attributes:
        active: runs that have a place. `refused`: how many got none so far.
    """

    def __init__(
        self, plan: Plan, *, when_full: WhenFull = "reject", max_waiting: int | None = None
    ) -> None:
        self._most = plan.max_conversations
        self._sheds = when_full == "shed"
        if when_full == "reject":
            max_waiting = 0
        elif when_full == "shed" and max_waiting is None:
            max_waiting = self._most
        self._max_waiting = max_waiting
        self._line: deque[asyncio.Future[None]] = deque()
        self._granted: set[asyncio.Future[None]] = set()
        self.active = 0
        self.refused = 0

    @property
    def waiting(self) -> int:
        """Runs that wait for a place."""
        return len(self._line)

    async def enter(self) -> Place:
        """Wait for a place and take it.

        Raises:
            RefusedError: there is none for it; a web server answers 503.
        """
        if self.active < self._most and not self._line:
            self.active += 1
            return Place(self)
        self._make_room()
        ticket = asyncio.get_running_loop().create_future()
        self._line.append(ticket)
        try:
            await ticket
        except BaseException:
            # The future only wakes: whether a place was given is told by the set.
            if ticket in self._granted:
                self._granted.discard(ticket)
                self.leave()
            elif ticket in self._line:
                self._line.remove(ticket)
            raise
        if ticket not in self._granted:
            raise self._refusal("this one has waited longest and was given up for a newer")
        self._granted.discard(ticket)
        return Place(self)

    def leave(self) -> None:
        """Give a place back; who has waited longest gets it. A `Place` does this."""
        self.active -= 1
        while self._line:
            ticket = self._line.popleft()
            if not ticket.done():
                self.active += 1
                self._granted.add(ticket)
                ticket.set_result(None)
                return

    def _make_room(self) -> None:
        """See to it that there is room in the line for one more."""
        if self._max_waiting is None or len(self._line) < self._max_waiting:
            return
        if not self._sheds or not self._line:
            raise self._refusal("try again later")
        oldest = self._line.popleft()
        if not oldest.done():
            oldest.set_result(None)

    def _refusal(self, why: str) -> RefusedError:
        self.refused += 1
        return RefusedError(self.active, self.waiting, why)


class Place:
    """A place that was let in; leaving the block, or letting it go, gives it back once."""

    def __init__(self, entry: Entry) -> None:
        self._entry: Entry | None = entry
        self._loop = asyncio.get_running_loop()

    def leave(self) -> None:
        """Give the place back; safe to repeat."""
        entry, self._entry = self._entry, None
        if entry is not None:
            entry.leave()

    async def __aenter__(self) -> Place:
        """Return the place itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self.leave()

    def __del__(self) -> None:
        # A response whose client was gone before it began never enters its block.
        entry, self._entry = self._entry, None
        if entry is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(entry.leave)
