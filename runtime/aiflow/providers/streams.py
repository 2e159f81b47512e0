"""Chat streams: bytes from a socket or from a trace, decoded one payload at a time.

Both feed the same decoder and end in the same way; they differ in where bytes and their times
come from. Neither is a generator: it can then be closed by any task, at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Protocol, Self

from aiflow.clock import Clock
from aiflow.errors import ProviderError
from aiflow.events import Payload
from aiflow.providers.chat import Arrival
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.failure import Failure
from aiflow.providers.limits import Place, entered
from aiflow.transport.patience import Patience, Timeouts
from aiflow.transport.trace import Trace, TraceEnd, TracePiece


class ByteStream(Protocol):
    """The bytes of one answer; `transport.client.HttpStream` is the plain one.

    Attributes:
        request_sent_at: when the request left, seconds on the clock; None before.
        content_type: what the server calls the body, "" before the first read.
    """

    @property
    def request_sent_at(self) -> float | None:
        """When the request left; None before that."""
        ...

    @property
    def content_type(self) -> str:
        """What the server calls the body."""
        ...

    async def read(self) -> bytes | None:
        """Return the next bytes, None at the end.

        Raises:
            ProviderError: the endpoint refused, timed out or broke off.
        """
        ...

    async def drain(self) -> None:
        """Read on to an end that is due at once, and close."""
        ...

    async def aclose(self) -> None:
        """Close; safe to repeat."""
        ...


class _DecodedStream:
    """What both streams have in common: decoding, the end, and the error after it.

    Args:
        where: the provider, as a person knows it.
        dialect: name of the wire format, for errors.
    """

    def __init__(self, decoder: StreamDecoder, where: str, dialect: str) -> None:
        self._decoder = decoder
        self._where = where
        self._dialect = dialect
        self._arrived_at = 0.0
        self._tail: deque[Payload] | None = None
        self._error: ProviderError | None = None
        self._is_closed = False
        self._has_begun = False

    @property
    def undecoded_bytes(self) -> int:
        """Bytes taken from the network and not decoded yet; none once it is closed."""
        return 0 if self._is_closed else self._decoder.undecoded_bytes

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Arrival:
        """Return the next payload; see `chat.ChatStream`."""
        if self._is_closed:
            raise StopAsyncIteration
        try:
            payload = await self._next()
        except BaseException:
            await self.aclose()
            raise
        if payload is None or self._is_closed:
            raise StopAsyncIteration
        return Arrival(payload, self._arrived_at)

    async def aclose(self) -> None:
        """Close what the bytes come from; safe to repeat."""
        self._is_closed = True

    async def _next(self) -> Payload | None:
        while (payload := self._next_decoded()) is None and not self._is_closed:
            if self._tail is not None or self._decoder.is_done:
                await self._end()
                return None
            await self._take_bytes()
        return payload

    def _next_decoded(self) -> Payload | None:
        if self._tail is not None:
            return self._tail.popleft() if self._tail else None
        return self._decoder.pull()

    async def _end(self) -> None:
        """Close; raise the error that the last payload has told of."""
        await self.aclose()
        if self._error is not None:
            raise self._error
        if self._decoder.failure is not None:
            raise self._decoder.failure.as_error(self._where, self._dialect)

    def _close_decoder(self, *, clean: bool, error: ProviderError | None = None) -> None:
        failure = Failure.of_error(error) if error else None
        self._tail = deque(self._decoder.close(clean=clean, failure=failure))
        # What the provider reported before says more than how the connection ended then.
        self._error = error if self._decoder.failure is failure else None

    def _give_up(self, error: ProviderError) -> None:
        """End with an error: after what came, at once where nothing has.

        Raises:
            ProviderError: this one.
        """
        if not self._has_begun:
            raise error
        self._close_decoder(clean=False, error=error)

    async def _take_bytes(self) -> None:
        """Wait for bytes and push them, or close the decoder at their end."""
        raise NotImplementedError


class HttpChatStream(_DecodedStream):
    """An answer that comes over HTTP."""

    def __init__(
        self, stream: ByteStream, decoder: StreamDecoder, clock: Clock, where: str, dialect: str
    ) -> None:
        super().__init__(decoder, where, dialect)
        self._stream = stream
        self._clock = clock

    @property
    def request_sent_at(self) -> float | None:
        """When the request left; None before that."""
        return self._stream.request_sent_at

    async def aclose(self) -> None:
        """Close the connection; safe to repeat."""
        await super().aclose()
        await self._stream.aclose()

    async def _end(self) -> None:
        if self._decoder.failure is None:
            await self._stream.drain()
        await super()._end()

    async def _take_bytes(self) -> None:
        try:
            data = await self._stream.read()
        except ProviderError as error:
            self._arrived_at = self._clock.now()
            self._give_up(error)
            return
        self._arrived_at = self._clock.now()
        self._has_begun = True
        if data is None:
            self._close_decoder(clean=True)
        else:
            self._decoder.push(data)


class TraceChatStream(_DecodedStream):
    """An answer that is replayed from a trace in process, at its recorded times.

    Args:
        trace: what is replayed.
        timeouts: as for a socket; a trace that falls silent ends as a server's answer would.
        place: of its request, where the provider has limits.
    """

    def __init__(
        self,
        trace: Trace,
        decoder: StreamDecoder,
        clock: Clock,
        where: str,
        timeouts: Timeouts,
        place: Place | None = None,
    ) -> None:
        super().__init__(decoder, where, trace.dialect)
        self._clock = clock
        self._patience = Patience(timeouts)
        self._place = place
        self._entries: Iterator[TracePiece | TraceEnd] = trace.entries()
        self._sent_at: float | None = None

    @property
    def request_sent_at(self) -> float | None:
        """When the replay began; None before that."""
        return self._sent_at

    async def aclose(self) -> None:
        """Close the file, or stop waiting for a place; safe to repeat."""
        await super().aclose()
        self._entries = iter(())
        if self._place is not None:
            self._place.leave()

    async def _take_bytes(self) -> None:
        if self._sent_at is None:
            if self._place is not None and not await entered(self._place, self._where):
                return
            self._sent_at = self._clock.now()
        piece = next(self._entries, "closed")
        if not isinstance(piece, TracePiece):
            self._close_decoder(clean=piece == "closed")
            return
        at = self._sent_at + piece.at
        with nullcontext() if self._place is None else self._place.reading():
            is_there = await self._wait_until(at)
        if not is_there:
            self._arrived_at = self._clock.now()
            self._give_up(self._patience.expired(self._where))
            return
        self._has_begun = True
        self._patience.begin()
        # The piece has arrived when it was due, also where nobody asked for it until now.
        self._arrived_at = at
        self._decoder.push(piece.data)

    async def _wait_until(self, at: float) -> bool:
        """Wait for a piece that is due at a time; return False where patience ran out first."""
        now = self._clock.now()
        left_s = self._patience.left_s
        if at - now > left_s:
            await self._clock.sleep_until(now + left_s)
            return False
        if at > now:
            await self._clock.sleep_until(at)
            self._patience.spend(at - now)
        return True
