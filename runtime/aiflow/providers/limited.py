"""Requests that wait for their place before they are made; see `limits`."""

from __future__ import annotations

from aiflow.providers.limits import Place, entered
from aiflow.providers.streams import ByteStream


class LimitedStream:
    """Waits for its place before the first read, and leaves it at its end.

    Args:
        stream: the plain one, which has not been read.
        place: of its request.
        where: the provider, as a person knows it.
    """

    def __init__(self, stream: ByteStream, place: Place, where: str) -> None:
        self._stream = stream
        self._place = place
        self._where = where
        self._has_entered = False

    @property
    def request_sent_at(self) -> float | None:
        """When the request left; None before that, so also while it waits."""
        return self._stream.request_sent_at

    @property
    def content_type(self) -> str:
        """What the server calls the body."""
        return self._stream.content_type

    async def read(self) -> bytes | None:
        """Return the next bytes, None at the end.

        Raises:
            ProviderError: the endpoint refused, timed out or broke off, or nobody is let in.
        """
        if not self._has_entered:
            if not await entered(self._place, self._where):
                return None
            self._has_entered = True
        try:
            with self._place.reading():
                data = await self._stream.read()
        except BaseException:
            # The connection is closed by then.
            self._place.leave()
            raise
        if data is None:
            self._place.leave()
        return data

    async def drain(self) -> None:
        """Read on to an end that is due at once, and close."""
        try:
            await self._stream.drain()
        finally:
            self._place.leave()

    async def aclose(self) -> None:
        """Close, or stop waiting; safe to repeat."""
        try:
            await self._stream.aclose()
        finally:
            self._place.leave()
