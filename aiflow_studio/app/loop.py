"""The studio's event loop: asyncio on Qt, one Qt wake for a whole batch of callbacks.

qasync starts a Qt timer for every `call_soon` and keeps cancelled timers until they are due.
Here ready callbacks wait in a deque and timers in a heap, as in asyncio itself; one zero timer
wakes a turn, one single-shot timer wakes for the earliest deadline. A turn ends after
`BATCH_S`, so that Qt paints and reads its sockets under any load. What is left to qasync:
socket notifiers and, on Windows, the completion port.

The rest of the file undoes where qasync departs from asyncio: timers that fire early, handles
without `when()`, an executor and an exception handler of its own, generators never finalised.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from math import ceil
from time import monotonic
from typing import Any

# qasync takes the Qt it finds; another library may have brought a second one.
os.environ["QT_API"] = "PySide6"

import qasync
from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal

#: Seconds that callbacks may run before Qt gets its turn. The engine's own slice is 4 ms, so a
#: batch that just missed the mark still leaves the window 50 pictures a second.
BATCH_S = 0.005
#: Qt counts milliseconds in an int; a deadline farther off is looked at again after a day.
LONGEST_TIMER_MS = 24 * 3600 * 1000
#: Cancelled timers that may stay in the heap before it is looked through.
FEW_CANCELLED = 100


def new_loop() -> StudioLoop:
    """Return a new loop on the application there is; without one, make one without windows."""
    # Qt's stubs promise an application; before one is made there is None.
    app: QCoreApplication | None = QCoreApplication.instance()
    return StudioLoop(QCoreApplication(sys.argv[:1]) if app is None else app)


class StudioLoop(qasync.QEventLoop):
    """An asyncio event loop driven by Qt's.

    Invariant: while callbacks are ready and no turn is being run, the zero timer is active.

    Args:
        app: the application whose `exec` drives the loop.
    """

    # Kept by asyncio's base class, which qasync derives from and brings no types of.
    _ready: deque[Any]
    _scheduled: list[Any]
    _timer_cancelled_count: int
    _thread_id: int | None

    def __init__(self, app: QCoreApplication) -> None:
        self._app = app
        self._is_attached = False
        self._in_turn = False
        self._is_awake = False
        self._is_leaving = False
        self._failure: BaseException | None = None
        self._soon = QTimer()
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._turn)
        self._later = QTimer()
        self._later.setSingleShot(True)
        self._later.setTimerType(Qt.TimerType.PreciseTimer)
        self._later.timeout.connect(self._turn)
        self._later_at = float("inf")
        self._knock = _Knock(self._wake)
        super().__init__(app)

    # What asyncio does right and qasync replaced.
    run_until_complete = asyncio.BaseEventLoop.run_until_complete
    run_in_executor = asyncio.BaseEventLoop.run_in_executor
    set_default_executor = asyncio.BaseEventLoop.set_default_executor
    set_exception_handler = asyncio.BaseEventLoop.set_exception_handler
    default_exception_handler = asyncio.BaseEventLoop.default_exception_handler
    call_exception_handler = asyncio.BaseEventLoop.call_exception_handler

    def time(self) -> float:
        """Return seconds on the monotonic clock."""
        return monotonic()

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call `callback` in the next turn, after all that were asked for earlier."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        if not self._is_awake:
            self._wake()
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Like `call_soon`, from any thread."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        # Appending is atomic; only waking must happen on the loop's own thread.
        self._ready.append(handle)
        self._knock.now()
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` in `delay` seconds, never before."""
        return self.call_at(monotonic() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` when `time()` is `when`, never before."""
        self._check_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, handle)
        handle._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio's protocol
        if when < self._later_at and not self._in_turn:
            self._set_later()
        return handle

    @contextmanager
    def attached(self) -> Iterator[StudioLoop]:
        """Be the running loop while somebody else spins Qt's, as a test's `waitUntil` does."""
        self._check_closed()
        self._is_attached = True
        self._thread_id = threading.get_ident()
        asyncio.events._set_running_loop(self)  # noqa: SLF001 - qasync does so too
        self._set_later()
        try:
            yield self
        finally:
            asyncio.events._set_running_loop(None)  # noqa: SLF001 - as asyncio's own loops
            self._thread_id = None
            self._is_attached = False
            self._rest()
        self._raise_failure()

    def run_forever(self) -> None:
        """Run until `stop()`; re-raise what a callback may not swallow, such as SystemExit."""
        self._is_leaving = False
        self._thread_id = threading.get_ident()
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook
        )
        if self._ready:
            self._wake()
        self._set_later()
        try:
            super().run_forever()
        finally:
            sys.set_asyncgen_hooks(*hooks)
            self._thread_id = None
            self._rest()
        self._raise_failure()

    def stop(self) -> None:
        """End `run_forever` after the callbacks of this turn."""
        self._is_leaving = True
        super().stop()

    def close(self) -> None:
        """Let go of timers, sockets and threads; the loop cannot be used again."""
        if self.is_closed():
            return
        super().close()
        self._rest()
        self._soon.timeout.disconnect()
        self._later.timeout.disconnect()
        self._knock.close()

    def _raise_failure(self) -> None:
        """Raise what a callback raised and no handler may swallow."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _turn(self) -> None:
        """Run what is ready and due, for `BATCH_S` at most."""
        if self._in_turn or not (self._is_attached or self.is_running()):
            # A callback opened a Qt loop of its own, or Qt is being spun after `stop()`.
            return
        self._in_turn = self._is_awake = True
        try:
            self._run_batch(monotonic() + BATCH_S)
        except BaseException as error:  # noqa: BLE001 - Qt would print it and go on
            self._failure = error
            self.stop()
        finally:
            self._in_turn = False
            if not self._ready:
                self._soon.stop()
                self._is_awake = False
            elif not self._soon.isActive():
                self._soon.start()
            self._set_later()

    def _run_batch(self, deadline: float) -> None:
        ready = self._ready
        now = monotonic()
        while not self._is_leaving:
            self._admit_due(now)
            if not ready:
                return
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:  # noqa: SLF001 - asyncio's own loops do the same
                    handle._run()  # noqa: SLF001 - as asyncio's own loops
                now = monotonic()
                # Invariant: a turn that is asked to stop still runs what was ready before.
                if now >= deadline and not self._is_leaving:
                    return

    def _admit_due(self, now: float) -> None:
        """Move timers that are due to the ready callbacks."""
        scheduled = self._scheduled
        while scheduled:
            head = scheduled[0]
            if head._cancelled:  # noqa: SLF001 - as asyncio's own loops
                self._timer_cancelled_count -= 1
            elif head._when > now:  # noqa: SLF001 - as asyncio's own loops
                return
            else:
                self._ready.append(head)
            heapq.heappop(scheduled)
            head._scheduled = False  # noqa: SLF001 - as asyncio's own loops

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Count a cancelled timer; look the heap through when most of it is cancelled."""
        super()._timer_handle_cancelled(handle)
        cancelled = self._timer_cancelled_count
        if cancelled > FEW_CANCELLED and cancelled * 2 > len(self._scheduled):
            kept = []
            for timer in self._scheduled:
                if timer._cancelled:  # noqa: SLF001 - as asyncio's own loops
                    timer._scheduled = False  # noqa: SLF001 - as asyncio's own loops
                else:
                    kept.append(timer)
            heapq.heapify(kept)
            self._scheduled = kept
            self._timer_cancelled_count = 0

    def _set_later(self) -> None:
        """Aim the deadline timer at the earliest timer there is."""
        scheduled = self._scheduled
        if not scheduled:
            if self._later_at != float("inf"):
                self._later.stop()
                self._later_at = float("inf")
            return
        when = scheduled[0]._when  # noqa: SLF001 - as asyncio's own loops
        if when == self._later_at and self._later.isActive():
            return
        # Rounded up: a timer that fires early would find nothing due and be set again.
        left_ms = ceil((when - monotonic()) * 1000)
        self._later.start(min(max(left_ms, 0), LONGEST_TIMER_MS))
        self._later_at = when

    def _wake(self) -> None:
        """See to it that a turn comes; on the loop's thread."""
        if self._ready and not self._is_awake and not self.is_closed():
            self._is_awake = True
            self._soon.start()

    def _rest(self) -> None:
        """Have no Qt timer run while the loop does not."""
        self._soon.stop()
        self._later.stop()
        self._later_at = float("inf")
        self._is_awake = False

    def _add_callback(self, handle: asyncio.Handle, delay: float = 0) -> asyncio.Handle:
        """Take a handle that qasync or a signal handler made."""
        if not handle._cancelled:  # noqa: SLF001 - as asyncio's own loops
            self._ready.append(handle)
            self._knock.now()
        return handle


class _Knock(QObject):
    """Asks for a turn from any thread; knocks that come while one is under way are one.

    Signals:
        heard(): on the loop's thread.
    """

    heard = Signal()

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        self._is_on_its_way = False
        self.heard.connect(self._hear, Qt.ConnectionType.QueuedConnection)

    def now(self) -> None:
        # Invariant: the flag is cleared before the deque is looked at, so what was appended
        # before a knock that found it set is seen.
        if not self._is_on_its_way:
            self._is_on_its_way = True
            self.heard.emit()

    def close(self) -> None:
        self.heard.disconnect()

    def _hear(self) -> None:
        self._is_on_its_way = False
        self._wake()
