"""Deadlines of conversations: one that is not done when its time is over fails, with one error.

Operators are told of it by their scope's `deadline`, so that they ask nobody in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiflow.clock import Clock
from aiflow.errors import DeadlineError


class Deadlines:
    """When the open conversations of a session are over at the latest.

    Args:
        clock: the session's.
        deadline_s: seconds that each conversation has; None is no limit.
        fail: ends a conversation because of an error.
    """

    def __init__(
        self, clock: Clock, deadline_s: float | None, fail: Callable[[str, DeadlineError], None]
    ) -> None:
        self._clock = clock
        self._deadline_s = deadline_s
        self._fail = fail
        self._timers: dict[str, tuple[float, asyncio.TimerHandle]] = {}

    def begin(self, conversation: str) -> None:
        """Let a conversation's time begin."""
        if self._deadline_s is not None:
            due = self._clock.now() + self._deadline_s
            self._wait(conversation, due)

    def end(self, conversation: str) -> None:
        """Forget a conversation that has ended; safe to repeat."""
        found = self._timers.pop(conversation, None)
        if found is not None:
            found[1].cancel()

    def close(self) -> None:
        """Forget all of them."""
        for conversation in tuple(self._timers):
            self.end(conversation)

    def of(self, conversation: str) -> float | None:
        """Return when a conversation is given up, on the session's clock; None is never."""
        found = self._timers.get(conversation)
        return None if found is None else found[0]

    def _wait(self, conversation: str, due: float) -> None:
        timer = self._clock.call_at(due, lambda: self._look(conversation, due))
        self._timers[conversation] = (due, timer)

    def _look(self, conversation: str, due: float) -> None:
        if self._clock.now() < due:
            self._wait(conversation, due)  # some timers fire early
            return
        assert self._deadline_s is not None
        self._fail(conversation, DeadlineError(conversation, self._deadline_s))
