"""Tests of `aiflow.providers.retrying`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.clock import SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ProviderError
from aiflow.events import Token
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.providers.retrying import Retries, RetryingStream
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))


def refusal(
    retry_after_s: float | None = None, *, kind: str = "status", retryable: bool = True
) -> ProviderError:
    """Return an error as the transport raises it."""
    return ProviderError("p: no", kind=kind, retryable=retryable, retry_after_s=retry_after_s)


class Canned:
    """A stream that gives what it was told to."""

    content_type = ""

    def __init__(self, steps: Iterable[bytes | ProviderError | None], sent_at: float) -> None:
        self.request_sent_at = sent_at
        self.is_closed = False
        self._steps = iter(steps)

    async def read(self) -> bytes | None:
        """Return or raise the next step."""
        step = next(self._steps)
        if isinstance(step, ProviderError):
            raise step
        return step

    async def drain(self) -> None:
        """Close."""
        self.is_closed = True

    async def aclose(self) -> None:
        """Close."""
        self.is_closed = True


class Asked:
    """A retrying stream on the virtual clock, and what it opened when.

    Attributes:
        opened: the streams; `request_sent_at` is when.
    """

    def __init__(self, *answers: list[bytes | ProviderError | None], count: int = 2) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.opened: list[Canned] = []
        self._answers = iter(answers)
        self._retries = Retries(count, longest_wait_s=10)

    def open(self) -> Canned:
        """Open the next stream."""
        self.opened.append(Canned(next(self._answers), self.clock.now()))
        return self.opened[-1]

    def run(self, reads: int, close_at: float | None = None) -> list[bytes | None]:
        """Read so many times.

        Args:
            reads: how many.
            close_at: when another task closes it, seconds.
        """

        async def main() -> list[bytes | None]:
            stream = RetryingStream(self.open, self.clock, self._retries, chance=lambda: 0.0)
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._read(stream, reads))
                if close_at is not None:
                    await self.clock.sleep_until(close_at)
                    await stream.aclose()
            return reading.result()

        try:
            return self.loop.run_until_complete(main())
        finally:
            self.loop.close()

    @property
    def times(self) -> list[float]:
        """When each request was made."""
        return [stream.request_sent_at for stream in self.opened]

    async def _read(self, stream: RetryingStream, reads: int) -> list[bytes | None]:
        return [await stream.read() for _ in range(reads)]


def test_a_refusal_is_retried_when_the_server_said() -> None:
    """Two refusals with their own waits, then the answer."""
    asked = Asked([refusal(7.0)], [refusal(0.0)], [b"x", None])

    assert asked.run(reads=2) == [b"x", None]
    assert asked.times == [0, 7, 7]


def test_without_a_word_of_the_servers_the_wait_doubles() -> None:
    """Half a second first."""
    asked = Asked([refusal()], [refusal()], [refusal()], [b"x"], count=3)

    assert asked.run(reads=1) == [b"x"]
    assert asked.times == [0, 0.5, 1.5, 3.5]


@pytest.mark.parametrize(
    "error",
    [
        refusal(retryable=False),
        refusal(11.0),
        refusal(kind="connection"),
        refusal(kind="first_byte_timeout"),
    ],
)
def test_what_will_not_pass_or_may_have_cost_something_is_raised(error: ProviderError) -> None:
    """A wrong request, a wait beyond the limit, a lost connection, a silent server."""
    asked = Asked([error])

    with pytest.raises(ExceptionGroup) as caught:
        asked.run(reads=1)

    assert caught.value.exceptions == (error,)
    assert asked.times == [0]


def test_the_last_refusal_is_raised() -> None:
    """After as many further requests as are allowed."""
    last = refusal()
    asked = Asked([refusal()], [refusal()], [last])

    with pytest.raises(ExceptionGroup) as caught:
        asked.run(reads=1)

    assert caught.value.exceptions == (last,)
    assert len(asked.opened) == 3


def test_nothing_is_asked_again_once_an_answer_has_begun() -> None:
    """What came would come twice."""
    asked = Asked([b"x", refusal()])

    with pytest.raises(ExceptionGroup):
        asked.run(reads=2)

    assert len(asked.opened) == 1


def test_closing_ends_a_wait() -> None:
    """The reader sees the end at once, and nobody is asked any more."""
    asked = Asked([refusal(9.0)])

    assert asked.run(reads=1, close_at=2.0) == [None]
    assert asked.opened[0].is_closed
    assert asked.loop.time() == 2.0


@given(st.integers(0, 40), st.floats(0, 1), st.floats(0.1, 100))
def test_a_wait_of_our_own_stays_within_its_limit(done: int, chance: float, limit: float) -> None:
    """Above 0, and never longer than allowed."""
    wait_s = Retries(100, limit).wait_s(done, None, chance)

    assert wait_s is not None
    assert 0 < wait_s <= limit


@pytest.mark.parametrize("header", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_server_that_is_busy_is_asked_again_over_a_socket(header: str) -> None:
    """Retry-After as seconds and as a date; no connection is left."""

    async def answer(exchange: Exchange) -> None:
        if not refused:
            refused.append(True)
            more = f"retry-after: {header}\r\n"
            await exchange.whole("429 Too Many Requests", b"slow down", "text/plain", more)
            return
        await exchange.head()
        await exchange.chunks(EVENT, STOP)
        await exchange.end()

    async def main() -> list[object]:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url))
            await provider.start(SystemClock())
            payloads: list[object] = [each async for each, _ in provider.stream_chat(HELLO)]
            await provider.stop()
            assert len(server.requests) == 2
            for gone in server.gone:
                await gone.wait()
        return payloads

    refused: list[bool] = []

    assert Token("x") in asyncio.run(main())
