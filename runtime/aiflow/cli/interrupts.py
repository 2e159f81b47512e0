"""Ctrl+C and SIGTERM during a run: first drain, then stop, and in the end leave in any case.

Ctrl+C is a person, who sees how the draining goes and asks again when it takes too long.
SIGTERM is a service manager, which kills what does not end: after the grace time it is as if
it had asked again. An operator that blocks the loop keeps even that from happening, so a thread
waits beside it and ends the process.
"""

from __future__ import annotations

import asyncio
import math
import queue
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Protocol

from aiflow.cli.console import say

#: Seconds that SIGTERM gives a run to drain; with the stop after it, less than the ten that
#: service managers wait at least.
GRACE_S = 4.0
#: Seconds that a stop may take, before the process ends whatever is still at work in it.
STOP_S = 7.0


class Stoppable(Protocol):
    """What a signal asks of a session."""

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        ...

    def stop(self) -> None:
        """Cancel everything now."""
        ...


class Interrupts:
    """While it is entered, signals drain the session and, when they come again, stop it.

    Handlers of `signal`, not of the loop: they work on every loop and on every system.

    Args:
        loop: that the session runs on.
        session: what is drained and stopped.
        grace_s: seconds from SIGTERM to the stop, > 0.
        leave: ends the process; called in a thread of its own where the loop does not answer.

    Attributes:
        count: how many have come and been answered.
        is_interrupted: a person asked for the end, or what is inside was cut off.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        session: Stoppable,
        grace_s: float = GRACE_S,
        leave: Callable[[], object] | None = None,
    ) -> None:
        self._loop = loop
        self._session = session
        self._grace_s = grace_s
        self._leave = leave
        self._before: dict[signal.Signals, Any] = {}
        self._deadline: asyncio.TimerHandle | None = None
        # Its `put` is the one way to tell a thread something that a signal's handler may use.
        self._told: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self._came = 0
        self.count = 0
        self.is_interrupted = False

    def __enter__(self) -> Interrupts:
        """Take the signals over."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        if self._leave is not None:
            threading.Thread(target=self._wait, name="end of aiflow run", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        self._told.put(None)
        if self._deadline is not None:
            self._deadline.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A handler runs between two bytecodes of anything: only what is safe from there.
        is_term = number == signal.SIGTERM
        self._came += 1
        if self._came > 1:
            self._told.put(STOP_S)
        elif is_term:
            self._told.put(self._grace_s + STOP_S)
        self._loop.call_soon_threadsafe(self._ask, is_term)

    def _ask(self, is_term: bool) -> None:
        self.count += 1
        if self.count > 1:
            self._stop()
            return
        if is_term:
            say(f"aiflow: draining; what is not out in {self._grace_s:g} s is cut off")
            self._deadline = self._loop.call_later(self._grace_s, self._stop)
        else:
            self.is_interrupted = True
            say("aiflow: draining; press Ctrl+C once more to stop at once")
        self._session.drain()

    def _stop(self) -> None:
        self.is_interrupted = True
        self._session.stop()

    def _wait(self) -> None:
        """Wait in a thread for the run's end, once it has been asked for, and leave without it."""
        until = math.inf
        while True:
            left_s = until - time.monotonic()
            try:
                within_s = self._told.get(timeout=None if left_s == math.inf else max(0.0, left_s))
            except queue.Empty:
                assert self._leave is not None
                self._leave()
                return
            if within_s is None:
                return
            until = min(until, time.monotonic() + within_s)
