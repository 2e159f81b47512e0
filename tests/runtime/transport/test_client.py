"""Tests of `aiflow.transport.client` over real sockets: each way a provider can misbehave."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import suppress
from itertools import count

import httpx
import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.transport.client import HttpClient, HttpRequest
from aiflow.transport.patience import Timeouts
from tests.runtime.transport.asking import PATIENT, SECRET, asking, failing, read_all
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, closed_port, serving


def test_a_body_comes_in_the_pieces_the_network_brings() -> None:
    """Bytes are handed over as they come, and None is the end."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, EVENT, STOP)
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as server:
            async with asking(server.url) as stream:
                sent_before = stream.request_sent_at
                assert await stream.read() == EVENT
                assert (sent_before, stream.request_sent_at) != (None, None)
                assert sent_before is None
                assert await read_all(stream) == EVENT + STOP
                assert await stream.read() is None
            head = server.requests[0].lower()
            assert b"accept-encoding: identity" in head
            assert f"authorization: bearer {SECRET}".encode() in head
            assert server.requests[0].startswith(b"POST /v1/chat/completions ")

    asyncio.run(main())


def test_nobody_there_is_told_with_the_place() -> None:
    """Connection refused: where, and what to do."""

    async def main() -> None:
        url = f"http://127.0.0.1:{await closed_port()}"
        async with asking(url) as stream:
            with pytest.raises(ProviderError) as caught:
                await stream.read()

        assert str(caught.value) == (
            "provider p: no connection (connection refused); start the server there or correct"
            " the endpoint"
        )
        assert (caught.value.kind, caught.value.retryable) == ("connection", True)

    asyncio.run(main())


def test_a_host_that_is_not_known_is_told() -> None:
    """A name that no resolver knows (RFC 2606 keeps .invalid free)."""

    async def main() -> None:
        async with asking("http://no-such-host.invalid") as stream:
            with pytest.raises(ProviderError, match="the host's name is not known"):
                await stream.read()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("credential", "advice"),
    [
        ("MODEL_KEY", "check the key MODEL_KEY"),
        ("", "set `credential` to the name of the environment variable that holds the key"),
    ],
)
def test_a_refused_key_names_the_variable_and_never_the_key(credential: str, advice: str) -> None:
    """401: the server's words without the key that it quotes."""

    async def answer(exchange: Exchange) -> None:
        body = b'{"error":{"message":"Incorrect key %s given","code":"invalid_api_key"}}'
        await exchange.whole("401 Unauthorized", body % SECRET.encode(), "application/json")

    error, _, _ = asyncio.run(failing(answer, credential=credential))

    assert str(error) == (
        "provider p: the server answered 401 (Unauthorized): Incorrect key [redacted] given;"
        f" {advice}"
    )
    assert (error.status, error.code, error.retryable) == (401, "invalid_api_key", False)
    assert error.detail == "Incorrect key [redacted] given"


@pytest.mark.parametrize(
    ("retry_after", "seconds", "advice"),
    [
        ("7", 7.0, "try again in 7 s"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, "try again in 0 s"),
        ("soon", None, "try again later"),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    retry_after: str, seconds: float | None, advice: str
) -> None:
    """429: Retry-After in seconds, as a date, or as nonsense."""

    async def answer(exchange: Exchange) -> None:
        more = f"retry-after: {retry_after}\r\n"
        body = b'{"error":{"message":"slow down"}}'
        await exchange.whole("429 Too Many Requests", body, "application/json", more)

    error, _, _ = asyncio.run(failing(answer))

    assert str(error).endswith(f"answered 429 (Too Many Requests): slow down; {advice}")
    assert (error.retry_after_s, error.retryable) == (seconds, True)


@pytest.mark.parametrize(
    ("status", "body", "content_type", "said"),
    [
        ("500 Internal Server Error", b"", "text/plain", "(Internal Server Error); try again"),
        ("500 Oops", b'{"error":"stack"}', "application/json", ": stack; try again later"),
        ("502 Bad Gateway", b"<html><title>nginx</title>", "text/html", ": nginx; try again later"),
        ("503 Busy", b"x" * 100_000, "text/plain", "x…; try again later"),
        ("404 Not Found", b"", "text/plain", "; check the endpoint and the model's name"),
        ("400 Bad Request", b'{"message":"no"}', "application/json", ": no; check the request's"),
    ],
)
def test_a_refusal_shows_the_body_short(
    status: str, body: bytes, content_type: str, said: str
) -> None:
    """5xx and 4xx with JSON, a page, plain text or nothing: one short sentence."""

    async def answer(exchange: Exchange) -> None:
        await exchange.whole(status, body, content_type)

    error, _, _ = asyncio.run(failing(answer))

    assert said in str(error)
    assert len(str(error)) < 400
    assert error.kind == "status"


def test_a_redirect_is_not_followed() -> None:
    """A key must not go where nobody sent it; the target is told without its query."""

    async def answer(exchange: Exchange) -> None:
        more = "location: https://elsewhere.example/v1?token=abc\r\n"
        await exchange.whole("308 Permanent Redirect", b"", "text/plain", more)

    error, _, server = asyncio.run(failing(answer))

    assert "it points to https://elsewhere.example/v1: set the endpoint" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content_type", "body", "said"),
    [
        (
            "text/html; charset=utf-8",
            b"<title>Sign in</title>",
            "text/html, not a stream and says: Sign in",
        ),
        ("image/png", b"\x89PNG", "image/png, not a stream"),
    ],
)
def test_a_success_that_is_no_stream_is_an_error(content_type: str, body: bytes, said: str) -> None:
    """200 with a page, as a portal or a wrong address gives."""

    async def answer(exchange: Exchange) -> None:
        await exchange.whole("200 OK", body, content_type)

    error, _, _ = asyncio.run(failing(answer))

    assert said in str(error)
    assert error.kind == "protocol"


def test_a_reset_in_mid_stream_keeps_what_came() -> None:
    """The bytes before it are handed over, then one retryable error."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, EVENT[:20])
        exchange.reset()

    error, body, _ = asyncio.run(failing(answer))

    assert body.startswith(EVENT)
    assert "the connection broke off in mid-stream" in str(error)
    assert (error.kind, error.retryable) == ("connection", True)


def test_a_connection_that_is_closed_without_an_answer_is_an_error() -> None:
    """Nothing at all, not even a head."""

    async def answer(exchange: Exchange) -> None:
        exchange.reset()

    error, body, _ = asyncio.run(failing(answer))

    assert body == b""
    assert error.kind == "connection"


@pytest.mark.parametrize("has_head", [False, True])
def test_an_answer_that_does_not_begin_times_out(has_head: bool) -> None:
    """The first byte has a limit of its own, before and after the head."""

    async def answer(exchange: Exchange) -> None:
        if has_head:
            await exchange.head()
        await exchange.gone.wait()

    error, _, _ = asyncio.run(failing(answer, Timeouts(first_byte_s=0.05, idle_s=30)))

    assert "no first byte within 0.05 s; raise first_byte_timeout_s" in str(error)
    assert (error.kind, error.retryable) == ("first_byte_timeout", True)


def test_a_stream_that_falls_silent_times_out() -> None:
    """What came is kept; the idle limit is another than the first byte's."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await exchange.gone.wait()

    error, body, _ = asyncio.run(failing(answer, Timeouts(first_byte_s=30, idle_s=0.05)))

    assert body == EVENT
    assert "silent for 0.05 s" in str(error)
    assert (error.kind, error.retryable) == ("idle_timeout", True)


def test_a_body_that_was_compressed_all_the_same_is_read() -> None:
    """A proxy that ignores what we accept is understood."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(more="content-encoding: gzip\r\n")
        await exchange.chunks(gzip.compress(EVENT + STOP))
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as server, asking(server.url) as stream:
            assert await read_all(stream) == EVENT + STOP

    asyncio.run(main())


def test_an_encoding_that_nobody_asked_for_is_an_error() -> None:
    """What we cannot undo is told by its name."""

    async def answer(exchange: Exchange) -> None:
        await exchange.whole("200 OK", b"?", "text/event-stream", "content-encoding: br\r\n")

    error, _, _ = asyncio.run(failing(answer))

    assert "(its encoding is br, which nobody asked for)" in str(error)


def test_a_broken_compressed_body_is_an_error() -> None:
    """Bytes that are not what their header says."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(more="content-encoding: gzip\r\n")
        await exchange.chunks(b"not gzip at all")
        await exchange.end()

    error, _, _ = asyncio.run(failing(answer))

    assert "the compressed answer is broken" in str(error)


async def _endless(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT)
    await exchange.gone.wait()


def test_cancelling_a_read_closes_the_connection() -> None:
    """The server sees the client go, and no task or generator is left."""

    async def main() -> None:
        async with serving(_endless) as server, asking(server.url) as stream:
            assert await stream.read() == EVENT
            reader = asyncio.create_task(stream.read())
            await asyncio.sleep(0)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader

            await server.gone[0].wait()
            assert await stream.read() is None
            assert server.open_connections == 0

    asyncio.run(main())


@pytest.mark.parametrize("is_reused", [False, True])
def test_a_cancel_at_any_moment_leaves_no_connection_behind(is_reused: bool) -> None:
    """Cancelled after 0, 1, 2 … turns of the loop, from connecting to closing: all is clean."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, EVENT, STOP)
        await exchange.end()

    async def cancelled_after(turns: int, url: str) -> bool:
        client = HttpClient(url, SystemClock())
        request = HttpRequest(f"{url}/x", b"{}")
        if is_reused:
            first = client.stream(request, PATIENT)
            await read_all(first)
        stream = client.stream(request, PATIENT)

        async def use() -> None:
            for _ in range(3):
                await stream.read()
            await stream.drain()

        task = asyncio.create_task(use())
        for _ in range(turns):
            await asyncio.sleep(0)
        was_running = task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await stream.aclose()

        transport = client._client._transport
        assert isinstance(transport, httpx.AsyncHTTPTransport)
        pool = transport._pool
        assert pool._requests == []
        assert all(each.is_idle() or each.is_closed() for each in pool.connections)
        await client.aclose()
        return was_running

    async def main() -> int:
        async with serving(answer) as server:
            turns = 0
            while await cancelled_after(turns, server.url):
                turns += 1
            await asyncio.gather(*[event.wait() for event in server.gone])
        return turns

    assert asyncio.run(main()) > 10


def test_closing_between_two_reads_closes_the_connection() -> None:
    """Closing is enough, also when bytes wait that nobody has read."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(*[EVENT] * 50)
        await exchange.gone.wait()

    async def main() -> None:
        async with serving(answer) as server, asking(server.url) as stream:
            await stream.read()
            before = asyncio.all_tasks()
            await stream.aclose()
            await stream.aclose()

            assert asyncio.all_tasks() <= before
            await server.gone[0].wait()

    asyncio.run(main())


def test_closing_while_another_task_reads_ends_its_wait() -> None:
    """The reader sees the end, not an error."""

    async def main() -> None:
        async with serving(_endless) as server, asking(server.url) as stream:
            await stream.read()
            reader = asyncio.create_task(stream.read())
            await asyncio.sleep(0)

            await stream.aclose()

            assert await reader is None
            await server.gone[0].wait()

    asyncio.run(main())


def test_a_drained_stream_leaves_its_connection_to_the_next() -> None:
    """A second request uses the same connection; one that was closed early does not."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(STOP)
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as server:
            client = HttpClient(server.url, SystemClock())
            for _ in range(2):
                stream = client.stream(HttpRequest(f"{server.url}/x", b"{}"), PATIENT)
                await stream.read()
                await stream.drain()
            assert server.opened == 1
            await client.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_kept_connection_that_the_server_has_given_up_is_replaced(is_reset: bool) -> None:
    """It closes while the next request is on its way: nothing came, so a new connection is asked.

    A new connection that ends so is an error: then it is no matter of a stale one.
    """

    async def answer(exchange: Exchange) -> None:
        if next(number) % 2 == 0:
            exchange.reset() if is_reset else exchange.writer.close()
            return
        await exchange.head()
        await exchange.chunks(STOP)
        await exchange.end()

    async def main() -> int:
        async with serving(answer) as server:
            client = HttpClient(server.url, SystemClock())
            request = HttpRequest(f"{server.url}/x", b"{}", where="provider p")
            for _ in range(2):
                assert await read_all(client.stream(request, PATIENT)) == STOP
            await client.aclose()
            client = HttpClient(server.url, SystemClock())
            with pytest.raises(ProviderError, match="closed without an answer"):
                await read_all(client.stream(request, PATIENT))
            await client.aclose()
            return server.opened

    number = count(1)
    assert asyncio.run(main()) == 3


def test_a_request_shows_no_key() -> None:
    """A request that ends up in a log line has no secret in it."""
    request = HttpRequest("http://h", b"{}", {"authorization": SECRET}, secret=SECRET)

    assert SECRET not in repr(request)


@pytest.mark.parametrize(
    ("answer", "words", "kind"),
    [
        (b"", "was closed without an answer", "connection"),
        (b"\x00\x01 SSH-2.0\r\n\r\n", "does not speak HTTP", "protocol"),
        (b"+OK" * 50_000, "does not speak HTTP", "protocol"),
    ],
)
def test_what_is_no_answer_is_not_called_a_stream(answer: bytes, words: str, kind: str) -> None:
    """Nothing came, so nothing is kept; a wrong port is told as one."""

    async def misbehave(exchange: Exchange) -> None:
        await exchange.send(answer)
        exchange.writer.close()

    error, body, _ = asyncio.run(failing(misbehave))

    assert words in str(error)
    assert len(str(error)) < 500
    assert (error.kind, body) == (kind, b"")


def test_a_compressed_body_that_is_cut_off_is_broken() -> None:
    """What came before it is handed over."""

    async def answer(exchange: Exchange) -> None:
        packed = gzip.compress(EVENT * 9)[:-12]
        await exchange.whole("200 OK", packed, "text/event-stream", "content-encoding: gzip\r\n")

    error, _, _ = asyncio.run(failing(answer))

    assert "the compressed answer is broken (it ends in the middle)" in str(error)


@pytest.mark.parametrize("secret", ["first\nsecond-half", "ключ-second-half", "\x01second-half"])
def test_a_key_that_no_header_carries_is_not_quoted(secret: str) -> None:
    """A key pasted with a line break is told by its variable's name, and nothing is sent."""

    async def ask() -> tuple[str, int]:
        async with serving(lambda exchange: exchange.end()) as server:
            async with asking(server.url, secret=secret) as stream:
                with pytest.raises(ProviderError) as caught:
                    await stream.read()
            return str(caught.value), len(server.requests)

    told, requests = asyncio.run(ask())

    assert "the key MODEL_KEY holds a letter" in told
    assert "second-half" not in told
    assert requests == 0


@pytest.mark.parametrize("begins", [False, True])
def test_an_answer_that_drips_is_ended_by_its_total_limit(begins: bool) -> None:
    """Bytes keep coming, so no other limit is due; what came is kept, the rest is not awaited."""

    async def answer(exchange: Exchange) -> None:
        if begins:
            await exchange.head()
            await exchange.chunks(EVENT)
        while not exchange.gone.is_set():
            await (exchange.chunks(b":") if begins else exchange.send(b""))
            # A drip is time itself; the server stops as soon as the client has gone.
            with suppress(TimeoutError):
                await asyncio.wait_for(exchange.gone.wait(), 0.01)

    limits = Timeouts(first_byte_s=30, idle_s=30, total_s=0.1)
    error, body, _ = asyncio.run(failing(answer, limits))

    assert (body[: len(EVENT)] == EVENT) is begins
    assert "was not complete after 0.1 s of waiting for it; what came is kept" in str(error)
    assert (error.kind, error.retryable) == ("total_timeout", True)


class JumpingClock(SystemClock):
    """The machine's clock, ahead by what a test says."""

    ahead_s = 0.0

    def now(self) -> float:
        """Return the time that the test wants it to be."""
        return super().now() + self.ahead_s


def test_time_in_which_nobody_reads_counts_for_no_limit() -> None:
    """A graph that is full may take longer than the whole answer may."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await may_end.wait()
        await exchange.chunks(STOP)
        await exchange.end()

    may_end = asyncio.Event()

    async def main() -> None:
        clock = JumpingClock()
        async with serving(answer) as server:
            client = HttpClient(server.url, clock)
            limits = Timeouts(first_byte_s=30, idle_s=30, total_s=30)
            stream = client.stream(HttpRequest(f"{server.url}/x", b"{}"), limits)
            assert await stream.read() == EVENT
            clock.ahead_s = 3600
            may_end.set()
            assert await read_all(stream) == STOP
            await client.aclose()

    asyncio.run(main())
