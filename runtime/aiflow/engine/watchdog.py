"""The watchdog: tells when an event loop is blocked, and by whom.

While an operator neither returns nor awaits, nothing else of its loop runs: no timer, no
deadline, no signal, so nobody on the loop could tell. One daemon thread for the whole process
asks each loop that runs a session for a sign of life; where none comes for a second, it writes
down where the loop's thread stands and which node called the operator, once. Events pay nothing
for it. A thread that was late itself counts nothing: then the machine is short of time, and no
operator is to blame.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType

from aiflow.engine.cells import Call, Guardian, Lane
from aiflow.engine.streams import Stream
from aiflow.engine.worker import Worker

_log = logging.getLogger(__name__)

#: How long a loop may do nothing else before it is told.
BLOCKED_AFTER_S = 1.0
#: Looks at each loop in that time.
_LOOKS = 4
#: How long the thread waits for another loop to watch before it ends.
_PATIENCE_S = 5.0

#: Takes the guardian whose operator blocks the loop (None where it is nobody's of a graph), the
#: seconds so far, and the stack.
Tell = Callable[[Guardian | None, float, str], None]


class _Heart:
    """One loop, seen from the watchdog's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> None:
        self.loop = loop
        self.thread = threading.get_ident()
        self.limit_s = limit_s
        self.tells: list[Tell] = []
        self.is_beating = True
        self.is_told = False
        self.asked_at = 0.0
        self.missed_s = 0.0
        self._stack_told = ""

    def look(self, at: float, since_s: float, *, is_late: bool) -> None:
        """Ask for a sign of life, or count for how long there was none."""
        if self.is_beating:
            self.is_beating = False
            self.asked_at, self.missed_s = at, 0.0
            try:
                self.loop.call_soon_threadsafe(self._beat)
            except RuntimeError:  # closed in mid-run: nothing of it is left to be blocked
                self.is_told = True
        elif not is_late:
            self.missed_s += since_s
            if self.missed_s >= self.limit_s and not self.is_told:
                self.is_told = True
                self._tell(at - self.asked_at)

    def _beat(self) -> None:
        self.is_beating, self.is_told = True, False

    def _tell(self, blocked_s: float) -> None:
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the one way there is
        if frame is None:
            return
        stack = _stack(frame)
        guardian = _caller(frame)
        who = "code outside of any graph" if guardian is None else f"node {guardian.id}"
        # First the sessions: whoever reads the log finds it told there too.
        for tell in tuple(self.tells):
            tell(guardian, blocked_s, stack)
        # An operator that blocks for each of its events does so at one place: that is told once.
        where = "again, at the same place" if stack == self._stack_told else f"\n{stack}"
        self._stack_told = stack
        _log.warning("%s has blocked the event loop for %.1f s %s", who, blocked_s, where)


class Watchdog:
    """Watches the loops of a process from a thread of its own, which lives while there are any."""

    def __init__(self) -> None:
        self._hearts: dict[asyncio.AbstractEventLoop, _Heart] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def watch(
        self, loop: asyncio.AbstractEventLoop, tell: Tell, limit_s: float = BLOCKED_AFTER_S
    ) -> Callable[[], None]:
        """Watch the loop that runs in this thread; return what ends that.

        Args:
            loop: runs now.
            tell: called in the watchdog's thread, once for each time the loop is blocked.
            limit_s: seconds; the first watcher of a loop decides.
        """
        with self._changed:
            heart = self._hearts.get(loop)
            if heart is None:
                heart = self._hearts[loop] = _Heart(loop, limit_s)
            heart.tells.append(tell)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="watchdog of aiflow", daemon=True
                )
                self._thread.start()
            self._changed.notify()

        def cease() -> None:
            with self._changed:
                heart.tells.remove(tell)
                if not heart.tells and self._hearts.get(loop) is heart:
                    del self._hearts[loop]

        return cease

    def _run(self) -> None:
        looked_at = time.monotonic()
        while True:
            with self._changed:
                if not self._hearts and not self._changed.wait_for(self._has_hearts, _PATIENCE_S):
                    self._thread = None
                    return
                pause_s = min(heart.limit_s for heart in self._hearts.values()) / _LOOKS
                hearts = tuple(self._hearts.values())
            at = time.monotonic()
            since_s, looked_at = at - looked_at, at
            for heart in hearts:
                heart.look(at, since_s, is_late=since_s > 2 * pause_s)
            with self._changed:
                self._changed.wait(pause_s)

    def _has_hearts(self) -> bool:
        return bool(self._hearts)


#: The one of this process: it is the process that has threads, not a session or a loop.
WATCHDOG = Watchdog()


def _stack(frame: FrameType) -> str:
    """Return where a thread stands: what the engine has called, or all where it is not in it."""
    depth, outer = 0, frame
    while not _is_engines(outer):
        depth += 1
        if outer.f_back is None:
            return "".join(traceback.format_stack(frame))
        outer = outer.f_back
    return "".join(traceback.format_stack(frame, limit=depth))


def _is_engines(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("aiflow.engine.")


def _caller(frame: FrameType | None) -> Guardian | None:
    """Return the guardian whose operator is being called on a stack, None where none is."""
    while frame is not None:
        if _is_engines(frame):
            names = frame.f_locals
            found = _guardian_of(names.get("lane")) or _guardian_of(names.get("call"))
            found = found or _guardian_of(names.get("self"))
            if found is not None:
                return found
        frame = frame.f_back
    return None


def _guardian_of(thing: object) -> Guardian | None:
    if isinstance(thing, Call):
        return thing.lane.guardian
    if isinstance(thing, Lane | Stream):
        return thing.guardian
    if isinstance(thing, Worker) and thing.call is not None:
        return thing.call.lane.guardian
    return None
