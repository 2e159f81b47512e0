"""Tests of `aiflow.providers.limited`: a provider's limits, over sockets and over traces."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aiflow.clock import SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ProviderError
from aiflow.events import Token
from aiflow.providers.chat import ChatStream
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.trace import TraceWriter
from tests.runtime.providers.cases import STOP as STOP_CHUNK
from tests.runtime.providers.cases import chunk, sse
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, serving

HELLO = ChatRequest("m", (ChatMessage("user", "hello"),))


async def texts(stream: ChatStream) -> list[str]:
    """Return the text of all tokens."""
    return [payload.text async for payload, _ in stream if isinstance(payload, Token)]


def test_no_more_requests_are_open_than_the_provider_allows() -> None:
    """Of five at once two are at the server; each is let in when another has ended."""
    at_once: list[int] = []
    served = 0

    async def answer(exchange: Exchange) -> None:
        nonlocal served
        served += 1
        at_once.append(served)
        await exchange.head()
        await exchange.chunks(EVENT)
        # Others would have come by now if they were not held back.
        for _ in range(20):
            await asyncio.sleep(0)
        served -= 1
        await exchange.chunks(STOP)
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, max_concurrent=2))
            await provider.start(SystemClock())
            streams = [provider.stream_chat(HELLO) for _ in range(5)]
            first = [asyncio.ensure_future(texts(stream)) for stream in streams]
            await asyncio.sleep(0)
            assert provider.waiting_requests == 3
            assert streams[4].request_sent_at is None
            assert await asyncio.gather(*first) == [["x"]] * 5
            assert provider.waiting_requests == 0
            await provider.stop()
        assert len(server.requests) == 5

    asyncio.run(main())

    assert max(at_once) == 2


@pytest.mark.parametrize("way", ["cancelled", "closed"])
def test_a_request_that_waits_can_be_given_up(way: str) -> None:
    """It never reaches the server, and whoever is behind it comes in its stead."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        if len(server_requests) == 1:
            await exchange.gone.wait()
        await exchange.chunks(STOP)
        await exchange.end()

    server_requests: list[bytes] = []

    async def main() -> None:
        async with serving(answer) as server:
            nonlocal server_requests
            server_requests = server.requests
            provider = Provider("p", ProviderParams(endpoint=server.url, max_concurrent=1))
            await provider.start(SystemClock())
            held, given_up, last = (provider.stream_chat(HELLO) for _ in range(3))
            await anext(held)
            waits = asyncio.ensure_future(texts(given_up))
            behind = asyncio.ensure_future(texts(last))
            await asyncio.sleep(0)

            if way == "cancelled":
                waits.cancel()
            else:
                await given_up.aclose()
            ended = await asyncio.gather(waits, return_exceptions=True)
            await held.aclose()

            assert [isinstance(end, asyncio.CancelledError) for end in ended] == [
                way == "cancelled"
            ]
            assert await behind == ["x"]
            assert provider.waiting_requests == 0
            await provider.stop()
        assert len(server.requests) == 2

    asyncio.run(main())


def test_a_request_that_fails_makes_room() -> None:
    """A refusal and a broken connection each leave their place to the next."""
    answers = iter(("refuse", "break", "serve"))

    async def answer(exchange: Exchange) -> None:
        match next(answers):
            case "refuse":
                await exchange.whole("400 Bad Request", b"no", "text/plain")
            case "break":
                await exchange.head()
                await exchange.chunks(EVENT)
                exchange.reset()
            case _:
                await exchange.head()
                await exchange.chunks(EVENT, STOP)
                await exchange.end()

    async def main() -> list[object]:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, max_concurrent=1))
            await provider.start(SystemClock())
            tasks = [texts(provider.stream_chat(HELLO)) for _ in range(3)]
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await provider.stop()
        return list(ended)

    refused, broken, served = asyncio.run(main())

    assert isinstance(refused, ProviderError)
    assert isinstance(broken, ProviderError)
    assert served == ["x"]


def test_asking_again_gets_in_line_again() -> None:
    """A refused request leaves its place while it waits, and each one counts for the minute."""

    async def answer(exchange: Exchange) -> None:
        if len(requests) == 1:
            await exchange.whole("429 Too Many Requests", b"", "text/plain", "retry-after: 0\r\n")
            return
        await exchange.head()
        await exchange.chunks(EVENT, STOP)
        await exchange.end()

    requests: list[bytes] = []

    async def main() -> int:
        async with serving(answer) as server:
            nonlocal requests
            requests = server.requests
            params = ProviderParams(endpoint=server.url, max_concurrent=1, requests_per_minute=9)
            provider = Provider("p", params)
            await provider.start(SystemClock())
            assert await texts(provider.stream_chat(HELLO)) == ["x"]
            limits = provider._limits
            assert limits is not None
            counted = len(limits._began)
            assert limits.inside == 0
            await provider.stop()
        return counted

    assert asyncio.run(main()) == 2


@pytest.mark.parametrize(
    ("params", "sent_at"),
    [
        ({"max_concurrent": 1}, [0.0, 1.0, 2.0]),
        ({"max_concurrent": 2}, [0.0, 0.0, 1.0]),
        ({"requests_per_minute": 1}, [0.0, 60.0, 120.0]),
        ({"max_concurrent": 2, "requests_per_minute": 2}, [0.0, 0.0, 60.0]),
        ({}, [0.0, 0.0, 0.0]),
    ],
)
def test_limits_hold_on_the_virtual_clock(
    tmp_path: Path, params: dict[str, int], sent_at: list[float]
) -> None:
    """A replayed answer waits its turn like a real one; its times count from its request."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "openai-chat") as writer:
        writer.write(0.5, sse(chunk({"content": "x"}), done=False))
        writer.write(1.0, sse(STOP_CHUNK))
    provider = Provider("p", ProviderParams.model_validate({"trace": str(path), **params}))
    loop = VirtualLoop()
    arrived: list[float] = []

    async def one(stream: ChatStream) -> float | None:
        arrived.extend([at async for payload, at in stream if isinstance(payload, Token)])
        return stream.request_sent_at

    async def main() -> list[float | None]:
        await provider.start(VirtualClock(loop))
        sent = await asyncio.gather(*[one(provider.stream_chat(HELLO)) for _ in range(3)])
        await provider.stop()
        return list(sent)

    try:
        assert loop.run_until_complete(main()) == sent_at
    finally:
        loop.close()
    assert arrived == [at + 0.5 for at in sent_at]
