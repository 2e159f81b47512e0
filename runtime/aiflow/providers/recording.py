"""Recording: the bytes of an answer go into a trace while they are read.

The trace has what came and when, never what was asked or who asked: should a server repeat the
key in its answer, stars stand in its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from aiflow.clock import Clock
from aiflow.errors import TraceError, reason_of
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.streams import ByteStream
from aiflow.transport.masking import SecretMask
from aiflow.transport.trace import TraceEnd, TraceWriter


class Recorder(Protocol):
    """Takes the bytes of one answer."""

    def write(self, at: float, data: bytes, content_type: str) -> None:
        """Add what has come, `at` seconds after the request."""
        ...

    def close(self, at: float, end: TraceEnd) -> None:
        """Write how it ended, if it has begun; safe to repeat."""
        ...


class TraceRecorder:
    """Writes one answer into a trace, without the key.

    The file is made when the answer begins, so a refusal leaves an older one alone.

    Args:
        path: the trace; an old one is replaced.
        dialect: name of the wire format.
        secret: the key that was sent, "" for none.
    """

    def __init__(self, path: Path, dialect: str, secret: str = "") -> None:
        self._path = path
        self._dialect = dialect
        self._mask = SecretMask(secret)
        self._writer: TraceWriter | None = None
        self._is_closed = False

    @property
    def has_begun(self) -> bool:
        """Whether there is a file."""
        return self._writer is not None

    def write(self, at: float, data: bytes, content_type: str) -> None:
        """Add what has come.

        Args:
            at: seconds since the request.
            data: any bytes.
            content_type: what the server calls them.

        Raises:
            TraceError: the file cannot be written.
        """
        try:
            if self._writer is None:
                self._writer = TraceWriter(self._path, self._dialect, content_type)
            self._writer.write(at, self._mask.add(data))
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self, at: float, end: TraceEnd) -> None:
        """Write how it ended, if it has begun; safe to repeat.

        Raises:
            TraceError: the file cannot be written.
        """
        if self._writer is None or self._is_closed:
            return
        self._is_closed = True
        try:
            self._writer.write(at, self._mask.end())
            self._writer.close(end, at)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> TraceError:
        # What is on the disk stays as it is: it ends with what could be written.
        self._is_closed = True
        return TraceError(str(self._path), f"it cannot be written ({reason_of(error)})")


class RecordingStream:
    """Passes another stream's bytes on and records them.

    Args:
        stream: where the bytes come from.
        decoder: reads the same bytes; knows whether the answer has come to its end.
        clock: tells when bytes arrive.
        recorder: of this answer only.
    """

    def __init__(
        self, stream: ByteStream, decoder: StreamDecoder, clock: Clock, recorder: Recorder
    ) -> None:
        self._stream = stream
        self._decoder = decoder
        self._clock = clock
        self._recorder = recorder

    @property
    def request_sent_at(self) -> float | None:
        """When the request left; None before that."""
        return self._stream.request_sent_at

    @property
    def content_type(self) -> str:
        """What the server calls the body."""
        return self._stream.content_type

    async def read(self) -> bytes | None:
        """Return the next bytes, None at the end.

        Raises:
            ProviderError: the endpoint refused, timed out or broke off.
            TraceError: the trace cannot be written.
        """
        try:
            data = await self._stream.read()
        except BaseException:
            self._recorder.close(self._now(), "broken")
            raise
        self._recorder.write(self._now(), data or b"", self.content_type)
        if data is None:
            self._recorder.close(self._now(), "closed")
        return data

    async def drain(self) -> None:
        """Read on to an end that is due at once, and close."""
        try:
            self._recorder.close(self._now(), "closed")
        finally:
            await self._stream.drain()

    async def aclose(self) -> None:
        """Close; an answer that was left before its end is recorded as broken."""
        try:
            self._recorder.close(self._now(), "closed" if self._decoder.is_done else "broken")
        finally:
            await self._stream.aclose()

    def _now(self) -> float:
        sent_at = self.request_sent_at
        return 0.0 if sent_at is None else self._clock.now() - sent_at
