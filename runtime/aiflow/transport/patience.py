"""Patience: how long an answer is waited for, and what is said where it runs out.

Only waiting counts: a stream that nobody reads, because the graph is full, loses none. The same
account is kept of a socket and of a trace that is replayed in process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aiflow.errors import ProviderError
from aiflow.transport import failures


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait; only time spent waiting for bytes counts.

    Attributes:
        first_byte_s: from sending the request to the first byte of the answer's body.
        idle_s: between any two bytes after that, comments and pings included.
        total_s: from sending the request to the end of the answer; None is no limit.
    """

    first_byte_s: float = 300.0
    idle_s: float = 60.0
    total_s: float | None = None


class Patience:
    """What is left of it for one answer.

    Args:
        timeouts: what there is at the beginning.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._has_begun = False
        self._first_byte_left_s = timeouts.first_byte_s
        self._total_left_s = math.inf if timeouts.total_s is None else timeouts.total_s

    @property
    def left_s(self) -> float:
        """Longest that the next wait may take, seconds >= 0."""
        return max(0.0, min(self._single_left_s, self._total_left_s))

    def begin(self) -> None:
        """Note that a byte of the answer has come."""
        self._has_begun = True

    def spend(self, waited_s: float) -> None:
        """Take a wait off, seconds >= 0; call `begin` after it."""
        self._total_left_s -= waited_s
        if not self._has_begun:
            self._first_byte_left_s -= waited_s

    def expired(self, where: str) -> ProviderError:
        """Return the error of a wait that took all that `left_s` said, before it is spent."""
        timeouts = self._timeouts
        if timeouts.total_s is not None and self._total_left_s <= self._single_left_s:
            return failures.too_long(where, timeouts.total_s)
        if self._has_begun:
            return failures.silent(where, timeouts.idle_s)
        return failures.silent_from_the_start(where, timeouts.first_byte_s)

    @property
    def _single_left_s(self) -> float:
        return self._timeouts.idle_s if self._has_begun else self._first_byte_left_s
