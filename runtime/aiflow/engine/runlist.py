"""The run list of an event loop: what is to be done next, with one budget per loop turn.

Everything that runs inline is an entry of a stack, never a call inside a call, so the depth
of Python's own stack does not depend on hops, outputs or loops in a graph. The newest entry
runs first: an event is carried towards the sinks before the next one is begun.

All sessions and sources of one loop share one list and so one budget. With a budget for each,
sixteen sources that never wait kept the loop from everything else for 65 ms at a time.
On a virtual clock, where no time passes inside a loop turn, slices count events.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable
from math import ceil
from typing import Any, Protocol

from aiflow.clock import VirtualLoop

#: How long the engine keeps one turn of the event loop to itself.
BUDGET_S = 0.004
#: Shortest slice of that time; where more want one, some have to wait for the next turn.
QUANTUM_S = 0.00025
#: Events per slice on a virtual clock.
SLICE_EVENTS = 64
#: Steps in a row after which a virtual clock's loop gets its turn, though no time has passed.
TURN_STEPS = 1_000

_SLICES = int(BUDGET_S / QUANTUM_S)
_ATTRIBUTE = "_aiflow_run_list"


class Slice(Protocol):
    """Who stands in line for a share of each loop turn: a source that never waits."""

    def run_slice(self) -> None:
        """Work until the run list's deadline; get in line again if there is more."""
        ...


class RunList:
    """What one event loop's sessions have to do next.

    Attributes:
        stack: (function, two arguments), newest last; the top is run next.
        now: the loop's time as the sessions' clock tells it, seconds.
        deadline: time at which whoever runs now must give way.
        quantum: seconds that each of those in line gets, of this turn's budget.
        limit: events that a slice may hold; only a virtual clock needs it.
    """

    __slots__ = (
        "_breathers",
        "_guards",
        "_is_scheduled",
        "_line",
        "_loop",
        "_watchers",
        "deadline",
        "is_running",
        "limit",
        "now",
        "quantum",
        "stack",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        is_virtual = isinstance(loop, VirtualLoop)
        self._loop = loop
        self._line: deque[Slice] = deque()
        self._breathers: deque[asyncio.Future[None]] = deque()
        self._watchers: list[Callable[[], None]] = []
        self._guards: list[Callable[[BaseException, object], None]] = []
        self._is_scheduled = False
        self.now: Callable[[], float] = loop.time if is_virtual else time.monotonic
        self.limit = SLICE_EVENTS if is_virtual else sys.maxsize
        self.stack: list[tuple[Callable[[Any, Any], None], Any, Any]] = []
        self.deadline = 0.0
        self.quantum = BUDGET_S
        self.is_running = False

    @staticmethod
    def of(loop: asyncio.AbstractEventLoop) -> RunList:
        """Return the one run list of a loop; it lives as long as the loop."""
        found: RunList | None = getattr(loop, _ATTRIBUTE, None)
        if found is None:
            found = (_CountedRunList if isinstance(loop, VirtualLoop) else RunList)(loop)
            setattr(loop, _ATTRIBUTE, found)
        return found

    def wake(self) -> None:
        """See to it that a turn comes; called wherever work was added from outside a turn."""
        if not self._is_scheduled and not self._loop.is_closed():
            self._is_scheduled = True
            self._loop.call_soon(self._turn)

    def push(self, function: Callable[[Any, Any], None], first: Any, second: Any) -> None:  # noqa: ANN401 - whatever the function returns
        """Put work on top, to be done next; from outside a turn, behind all there is."""
        if self.is_running:
            self.stack.append((function, first, second))
        else:
            # Two timers that fire one after the other are served in that order.
            self.stack.insert(0, (function, first, second))
            self.wake()

    def get_in_line(self, who: Slice) -> None:
        """Give a source a share of each turn, behind those who stand there."""
        self._line.append(who)
        self.wake()

    async def breathe(self) -> None:
        """Give way until the next turn; for tasks whose work never waits by itself."""
        breather = self._loop.create_future()
        self._breathers.append(breather)
        self.wake()
        await breather

    def begin(self) -> None:
        """Keep what a task is about to put on the stack for the `end` that follows at once."""
        self.is_running = True

    def end(self) -> None:
        """Run what was put on the stack since `begin`, within a fair share of the turn."""
        try:
            if self.stack:
                self.deadline = self.now() + self.quantum
                self.drain()
        finally:
            self.is_running = False
            if self.stack or self._line:
                self.wake()
            # Not asked here whether nothing is left: the task that calls is at work.

    def give_way(self) -> None:
        """Let the turn end after what runs now, for work that a deadline does not stop."""
        self.deadline = 0.0

    def drain(self) -> None:
        """Run the stack until it is empty or the deadline has come."""
        stack, now = self.stack, self.now
        first = None
        try:
            while stack:
                function, first, second = stack.pop()
                function(first, second)
                if now() >= self.deadline:
                    return
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a fault of the engine: operators' are settled
            self.broke(error, first)

    def guard(self, guard: Callable[[BaseException, object], None]) -> Callable[[], None]:
        """Have a function told when the engine fails, and at what; return what ends that."""
        self._guards.append(guard)
        return lambda: self._guards.remove(guard)

    def broke(self, error: BaseException, who: object) -> None:
        """Tell the sessions of this loop that the engine has failed.

        Raises:
            BaseException: the error itself, where no session is there to be told.
        """
        if not self._guards:
            raise error
        for guard in tuple(self._guards):
            guard(error, who)

    def recover(self, error: BaseException, who: object) -> None:
        """Have the list go on after a task of the engine has failed in the midst of using it."""
        self.is_running = False
        if self.stack or self._line or self._breathers:
            self.wake()
        self.broke(error, who)

    def _turn(self) -> None:
        self._is_scheduled = False
        self.is_running = True
        begun = self.now()
        waiting = len(self._line)
        sharers = waiting + len(self._breathers)
        self.quantum = max(QUANTUM_S, BUDGET_S / sharers) if sharers > 1 else BUDGET_S
        tasks = 0
        end = begun + BUDGET_S
        if self._breathers:
            # Tasks run after this, each for a quantum: what they will need is not used here.
            tasks = sharers - waiting
            tasks = min(tasks, ceil(tasks / sharers * _SLICES))
            end = begun + max(self.quantum, BUDGET_S - tasks * self.quantum)
        try:
            self.deadline = end
            self.drain()
            while waiting and not self.stack and (at := self.now()) < end:
                waiting -= 1
                self.deadline = min(end, at + self.quantum)
                self._run_slice(self._line.popleft())
                if self.stack:
                    self.deadline = end
                    self.drain()
            if tasks:
                self._let_go(tasks)
        finally:
            self.is_running = False
            if self.stack or self._line or self._breathers:
                self.wake()
            else:
                self.look_around()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have a function called whenever nothing is left to do; return what ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def look_around(self) -> None:
        """Tell the watchers if nothing is left to do here."""
        if not (self.stack or self._line or self._breathers or self.is_running):
            for watcher in tuple(self._watchers):
                watcher()

    def _run_slice(self, who: Slice) -> None:
        try:
            who.run_slice()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - see `drain`
            self.broke(error, who)

    def _let_go(self, tasks: int) -> None:
        for _ in range(tasks):
            breather = self._breathers.popleft()
            if not breather.done():
                breather.set_result(None)


class _CountedRunList(RunList):
    """Counts where no time passes: what never ends would never let a virtual loop go on."""

    def drain(self) -> None:
        """Run the stack until it is empty, the deadline has come, or there were very many."""
        stack, now = self.stack, self.now
        first = None
        try:
            for _ in range(TURN_STEPS):
                if not stack:
                    return
                function, first, second = stack.pop()
                function(first, second)
                if now() >= self.deadline:
                    return
            self.give_way()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            self.broke(error, first)
