"""Each way a provider's answer can go wrong on the wire, from a real socket to the payloads.

What the bytes mean is tested with the dialects, and what a request ends in with the transport;
here both are joined, for every row that real servers and proxies were seen to send. In each the
text that came is kept, there is one finish, at most one error after it, and nothing left open.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.events import Control, Payload, Token
from aiflow.providers.frames import MAX_FRAME_BYTES
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.masking import forms_of
from tests.runtime.providers.cases import chunk
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))
WHOLE = json.dumps(
    {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "xx"}, "finish_reason": "stop"}],
    }
).encode()
LONG = "l" * 1_000_000

Answer = Callable[[Exchange], Awaitable[None]]


@dataclass
class Reading:
    """What came of one request.

    Attributes:
        error: what it ended with, None for a whole answer.
        requests: how often the server was asked.
    """

    payloads: list[Payload]
    error: ProviderError | None
    requests: int

    @property
    def text(self) -> str:
        """The text of all tokens."""
        return "".join(each.text for each in self.payloads if isinstance(each, Token))

    @property
    def finishes(self) -> list[str]:
        """The reasons of all finishes."""
        return [
            each.data["reason"]
            for each in self.payloads
            if isinstance(each, Control) and each.kind == "finish"
        ]


def reading(answer: Answer, **params: Any) -> Reading:
    """Ask a server that answers so, and return what came when nothing is left open."""

    async def main() -> Reading:
        async with serving(answer) as server:
            params.setdefault("retries", 0)
            provider = Provider("p", ProviderParams(endpoint=server.url, **params))
            await provider.start(SystemClock())
            payloads: list[Payload] = []
            error = None
            try:
                await _take(provider, payloads)
            except ProviderError as caught:
                error = caught
            await provider.stop()
            await asyncio.gather(*[gone.wait() for gone in server.gone])
            return Reading(payloads, error, len(server.requests))

    return asyncio.run(main())


async def _take(provider: Provider, payloads: list[Payload]) -> None:
    async for payload, _ in provider.stream_chat(HELLO):
        payloads.append(payload)


def body(*chunks: bytes, more: str = "", content_type: str = "text/event-stream") -> Answer:
    """Return an answer that sends these chunks and ends as it should."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(content_type=content_type, more=more)
        await exchange.chunks(*chunks)
        await exchange.end()

    return answer


def flushed(packer: Any, *pieces: bytes) -> list[bytes]:
    """Return each piece compressed so that it can be read at once, and the end."""
    packed = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*packed, packer.flush()]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(body(EVENT, EVENT, STOP), id="plain"),
        pytest.param(body(*[bytes([each]) for each in EVENT + EVENT + STOP]), id="byte after byte"),
        pytest.param(body(EVENT + EVENT + STOP), id="one burst, as a buffering proxy gives"),
        pytest.param(body(b": OK\n\n", EVENT, b":\n\n", EVENT, STOP), id="comments between"),
        pytest.param(
            body(gzip.compress(EVENT + EVENT + STOP), more="content-encoding: gzip\r\n"), id="gzip"
        ),
        pytest.param(
            body(
                *flushed(zlib.compressobj(wbits=31), EVENT, EVENT, STOP),
                more="content-encoding: gzip\r\n",
            ),
            id="gzip, flushed",
        ),
        pytest.param(
            body(
                *flushed(zlib.compressobj(), EVENT, EVENT, STOP),
                more="content-encoding: deflate\r\n",
            ),
            id="deflate",
        ),
        pytest.param(
            body(
                *flushed(zlib.compressobj(wbits=-15), EVENT, EVENT, STOP),
                more="content-encoding: deflate\r\n",
            ),
            id="deflate without its header",
        ),
        pytest.param(
            body(EVENT, EVENT, STOP, content_type="text/plain; charset=utf-8"), id="text/plain"
        ),
        pytest.param(
            body(EVENT, EVENT, STOP, content_type="application/json"), id="a stream called JSON"
        ),
        pytest.param(body(WHOLE, content_type="application/json"), id="a whole answer"),
        pytest.param(
            body(b"\n\n \n", WHOLE, content_type="application/json"),
            id="a whole answer after blank lines",
        ),
    ],
)
def test_an_answer_reads_right_however_it_was_sent(answer: Answer) -> None:
    """Cuts, compression, comments and wrong names of the content change nothing."""
    read = reading(answer)

    assert (read.text, read.finishes, read.error) == ("xx", ["stop"], None)


async def _reset(exchange: Exchange) -> None:
    await exchange.head()
    # The reset must not overtake what came before it.
    await exchange.chunks(EVENT, EVENT[:-20])
    await asyncio.sleep(0)
    exchange.writer.close()


async def _cut_in_a_chunk(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT)
    await exchange.send(b"40\r\n" + EVENT[:20])
    exchange.writer.close()


async def _short_of_its_length(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 4000\r\n\r\n"
        + EVENT
    )
    exchange.writer.close()


async def _chunked_nonsense(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT)
    await exchange.send(b"zz\r\nwhat is this\r\n")
    exchange.writer.close()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(_reset, id="closed in a chunked body, half an event before"),
        pytest.param(_cut_in_a_chunk, id="closed inside a chunk"),
        pytest.param(_short_of_its_length, id="closed before its content length"),
        pytest.param(_chunked_nonsense, id="no chunk where one was due"),
    ],
)
def test_a_connection_lost_in_mid_stream_keeps_what_came(answer: Answer) -> None:
    """The whole events before it, no half one, one finish, one error that may be retried."""
    read = reading(answer, retries=5)

    assert (read.text, read.finishes) == ("x", ["error"])
    assert read.error is not None
    assert (read.error.kind, read.error.retryable) == ("connection", True)
    assert "broke off in mid-stream" in str(read.error)
    assert read.requests == 1


async def _head_only(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.gone.wait()


async def _silent_after_one(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT)
    await exchange.gone.wait()


@pytest.mark.parametrize(
    ("answer", "limit", "kind", "text"),
    [
        pytest.param(
            _head_only, "first_byte_timeout_s", "first_byte_timeout", "", id="headers only"
        ),
        pytest.param(_silent_after_one, "idle_timeout_s", "idle_timeout", "x", id="stalled"),
    ],
)
def test_a_server_that_says_nothing_more_is_left(
    answer: Answer, limit: str, kind: str, text: str
) -> None:
    """Its connection is closed by us, and what came is kept."""
    read = reading(answer, **{limit: 0.05})

    assert read.text == text
    assert read.error is not None
    assert (read.error.kind, read.error.retryable) == (kind, True)


@pytest.mark.parametrize(
    ("answer", "said", "kind"),
    [
        pytest.param(body(), "the provider sent an empty answer", "protocol", id="no body"),
        pytest.param(
            body(b"<html><title>Sign in</title></html>", content_type="text/html"),
            "the answer is text/html, not a stream and says: Sign in",
            "protocol",
            id="a page",
        ),
        pytest.param(
            body(b"<html><title>Sign in</title></html>"),
            "the provider sent a page, not a stream: Sign in",
            "protocol",
            id="a page called a stream",
        ),
        pytest.param(
            body(
                b'{"error":{"message":"no such model","code":404}}', content_type="application/json"
            ),
            "it ended the stream with an error: no such model",
            "stream",
            id="an error object",
        ),
        pytest.param(
            body(b'event: error\ndata: {"error":{"message":"overloaded_error"}}\n\n'),
            "it ended the stream with an error: overloaded_error",
            "stream",
            id="an error event",
        ),
        pytest.param(
            body(b"event stream of nothing\n\n"),
            "no event that could be read: event stream of nothing",
            "protocol",
            id="plain text",
        ),
        pytest.param(
            body(b"\x1f\x8b\x08 torn", more="content-encoding: gzip\r\n"),
            "the compressed answer is broken",
            "protocol",
            id="broken gzip",
        ),
        pytest.param(
            body(b"\x0b\x02\x80", more="content-encoding: br\r\n"),
            "its encoding is br, which nobody asked for",
            "protocol",
            id="brotli",
        ),
    ],
)
def test_a_success_without_an_answer_is_one_clear_error(
    answer: Answer, said: str, kind: str
) -> None:
    """Status 200 means nothing by itself."""
    read = reading(answer)

    assert read.text == ""
    assert read.error is not None
    assert said in str(read.error)
    assert read.error.kind == kind


def test_a_long_line_is_read_and_an_endless_one_ends_the_answer() -> None:
    """A picture fits into a line; what never ends is left, with what came before it."""
    long = f"data: {json.dumps(chunk({'content': LONG}))}\n\n".encode()
    fits = reading(body(*[long[at : at + 65_536] for at in range(0, len(long), 65_536)], STOP))

    assert (fits.text, fits.error) == (LONG, None)

    async def endless(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT, b"data: ")
        while not exchange.gone.is_set():
            await exchange.chunks(b"l" * 65_536)

    read = reading(endless)

    assert (read.text, read.finishes) == ("x", ["error"])
    assert f"longer than {MAX_FRAME_BYTES} bytes" in str(read.error)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_no_redirect_is_followed(status: str) -> None:
    """The key would go where nobody sent it."""

    async def answer(exchange: Exchange) -> None:
        more = "location: http://elsewhere.example/v1?token=hidden\r\n"
        await exchange.whole(status, b"", "text/plain", more)

    read = reading(answer, retries=5)

    assert "it points to http://elsewhere.example/v1: set the endpoint" in str(read.error)
    assert "hidden" not in str(read.error)
    assert read.requests == 1


@pytest.mark.parametrize(
    "after", ["0", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 -0000"]
)
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("page", [b"", b"<h1>busy</h1>", b'{"error":{"message":"busy"}}'])
def test_a_refusal_that_passes_is_asked_again_when_it_said(
    after: str, status: str, page: bytes
) -> None:
    """Retry-After in both forms, and any body; the answer comes as if nothing had been."""
    asked = 0

    async def answer(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            await exchange.whole(status, page, "text/html", f"retry-after: {after}\r\n")
        else:
            await body(EVENT, STOP)(exchange)

    read = reading(answer, retries=1)

    assert (read.text, read.error, read.requests) == ("x", None, 2)


KEY = "sk/pond+0123456789"


@pytest.mark.parametrize("form", forms_of(KEY))
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(["data: {", '"error":{"message":"bad', "FORM", '"}}\n\n'], id="an error"),
        pytest.param(["event: error\ndata: bad", "FORM", "\n\n"], id="a plain error"),
        pytest.param([": ", "FORM", "\n\n"], id="a comment"),
        pytest.param(["data: {torn ", "FORM", "\n\n"], id="what cannot be read"),
        pytest.param(["data: ", "TOKEN", "\n\n"], id="the answer"),
    ],
)
def test_a_key_that_a_server_sends_back_is_covered(
    form: str, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever form, and cut in two: no payload and no error holds it."""
    monkeypatch.setenv("POND_KEY", KEY)
    token = json.dumps(chunk({"content": "FORM"})).replace("FORM", form)
    pieces = [part.replace("FORM", form).replace("TOKEN", token).encode() for part in sent]
    half = [cut for each in pieces for cut in (each[: len(each) // 2], each[len(each) // 2 :])]

    read = reading(body(*filter(None, half), STOP), credential="POND_KEY")

    shown = f"{read.payloads!r} {read.error} {read.error and read.error.detail}"
    assert not any(each in shown for each in forms_of(KEY))
    assert "*" in shown
