"""Ctrl+C and SIGTERM during a run: first drain, then stop."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType, TracebackType
from typing import Any, Protocol

from aiflow.cli.console import say


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

    Attributes:
        count: how many have come.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, session: Stoppable) -> None:
        self._loop = loop
        self._session = session
        self._before: dict[signal.Signals, Any] = {}
        self.count = 0

    def __enter__(self) -> Interrupts:
        """Take the signals over."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A handler runs between two bytecodes of anything: only what is safe from there.
        self._loop.call_soon_threadsafe(self._ask)

    def _ask(self) -> None:
        self.count += 1
        if self.count == 1:
            say("aiflow: draining; press Ctrl+C once more to stop at once")
            self._session.drain()
        else:
            self._session.stop()
