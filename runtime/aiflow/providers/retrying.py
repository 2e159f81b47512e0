"""Asking again: a refusal that will pass is retried before the answer begins, never after.

Only refusals are: a server that says 429 or 503 has done no work. A time-out or a lost connection
may have cost something already, and is for whoever asks to decide. Once a byte of an answer has
been handed over there is no second try.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

from aiflow.clock import Clock
from aiflow.errors import ProviderError
from aiflow.providers.streams import ByteStream
from aiflow.transport.watch import WaitWatch

_LOG = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to ask again, and how long to wait for it.

    Attributes:
        count: most further requests, 0 or more.
        longest_wait_s: seconds, above 0; a server that asks for more is not asked again.
    """

    count: int = 2
    longest_wait_s: float = 30.0

    def wait_s(self, done: int, asked_s: float | None, chance: float) -> float | None:
        """Return how long to wait, in seconds; None where there is no further request.

        Args:
            done: further requests made before this one.
            asked_s: what the server asked for; None doubles the wait each time.
            chance: 0 to 1; takes up to half of our own wait away, so that many who were refused
                together do not come back together.
        """
        if done >= self.count:
            return None
        if asked_s is not None:
            return asked_s if asked_s <= self.longest_wait_s else None
        return min(_FIRST_WAIT_S * 2.0**done, self.longest_wait_s) * (1 - chance / 2)


class RetryingStream:
    """Opens a stream, and a new one where it was refused for now.

    Args:
        open: makes a stream that has not been read.
        clock: times the waits.
        retries: how often and how long.
        chance: returns 0 to 1, for the waits.
    """

    def __init__(
        self,
        open: Callable[[], ByteStream],
        clock: Clock,
        retries: Retries,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._open = open
        self._clock = clock
        self._retries = retries
        self._chance = chance
        self._stream = open()
        self._done = 0
        self._has_begun = False
        self._is_closed = asyncio.Event()

    @property
    def request_sent_at(self) -> float | None:
        """When the last request left; None before the first has."""
        return self._stream.request_sent_at

    @property
    def content_type(self) -> str:
        """What the server calls the body."""
        return self._stream.content_type

    async def read(self) -> bytes | None:
        """Return the next bytes, None at the end.

        Raises:
            ProviderError: the endpoint refused for good or once too often, or broke off.
        """
        while True:
            try:
                data = await self._stream.read()
            except ProviderError as error:
                wait_s = self._wait_s(error)
                if wait_s is None:
                    raise
                _LOG.info("%s; asking again in %.1f s", error, wait_s)
                if await self._is_closed_within(wait_s):
                    return None
                self._done += 1
                self._stream = self._open()
            else:
                self._has_begun = True
                return data

    async def drain(self) -> None:
        """Read on to an end that is due at once, and close."""
        await self._stream.drain()

    async def aclose(self) -> None:
        """Close; ends a wait too."""
        self._is_closed.set()
        await self._stream.aclose()

    def _wait_s(self, error: ProviderError) -> float | None:
        """Return how long to wait after an error, None where it stands."""
        may_pass = error.kind == "status" and error.retryable
        if self._has_begun or self._is_closed.is_set() or not may_pass:
            return None
        return self._retries.wait_s(self._done, error.retry_after_s, self._chance())

    async def _is_closed_within(self, wait_s: float) -> bool:
        watch = WaitWatch(self._clock)
        try:
            await watch.wait(self._is_closed.wait(), wait_s)
        except TimeoutError:
            return self._is_closed.is_set()
        finally:
            watch.close()
        return True
