"""Tests of `aiflow.tools.mcp_ways`: what is between the MCP client and an address."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from aiflow.errors import ProviderError, ToolError
from aiflow.tools import mcp_ways
from aiflow.transport.guard import AddressGuard
from tests.runtime.transport.faulty_server import Exchange, closed_port, serving

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
QUESTION = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a proxy, and with little room."""
    for name in (*NAMES, *map(str.upper, NAMES)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(mcp_ways, "MOST_BYTES", 1024 * 1024)


@asynccontextmanager
async def client(allow_private: bool = True) -> AsyncIterator[httpx2.AsyncClient]:
    """Give an HTTP client that goes the way of the MCP client."""
    way = mcp_ways._Guarded(AddressGuard(allow_private))
    async with httpx2.AsyncClient(transport=way, trust_env=False) as found:
        yield found


async def answer_of(url: str, allow_private: bool = True) -> Any:
    """Ask and return what a JSON answer says."""
    async with client(allow_private) as asking:
        return (await asking.post(url, json=QUESTION)).json()


async def hello(exchange: Exchange) -> None:
    """Answer with JSON."""
    await exchange.whole("200 OK", b'{"hello": 1}', "application/json")


def test_a_body_that_is_too_long_is_an_error_of_the_question() -> None:
    """It is not read to its end, and the client finds the answer to what it has asked."""

    async def long(exchange: Exchange) -> None:
        await exchange.whole("200 OK", b" " * 2 * mcp_ways.MOST_BYTES, "application/json")

    async def main() -> Any:
        async with serving(long) as server:
            return await answer_of(server.url)

    answer = asyncio.run(main())
    assert answer["id"] == 7
    assert "a message of more than 1 MiB, which is not read" in answer["error"]["message"]


def test_a_compressed_body_is_not_undone() -> None:
    """A few bytes could become any amount."""

    async def small(exchange: Exchange) -> None:
        body = gzip.compress(b" " * 9 * 1024 * 1024)
        await exchange.whole("200 OK", body, "application/json", "content-encoding: gzip\r\n")

    async def main() -> Any:
        async with serving(small) as server:
            return await answer_of(server.url)

    assert "compresses its answer" in asyncio.run(main())["error"]["message"]


def test_an_address_elsewhere_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, which nobody may know here; this machine is asked directly."""

    async def main() -> None:
        async with serving(hello) as proxy, serving(hello) as server:
            monkeypatch.setenv("http_proxy", proxy.url)
            assert await answer_of("http://tools.invalid/mcp", False) == {"hello": 1}
            assert proxy.requests[0].startswith(b"POST http://tools.invalid/mcp HTTP/1.1\r\n")
            port = urlsplit(server.url).port
            for host in ("127.0.0.1", "localhost"):
                assert await answer_of(f"http://{host}:{port}/mcp") == {"hello": 1}
            assert len(proxy.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize("host", ["10.0.0.1", "intranet-that-nobody-knows", "tools.internal"])
def test_what_is_private_is_refused_before_a_proxy_is_asked(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for an HTTP tool."""

    async def main() -> None:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{await closed_port()}")
        with pytest.raises(ToolError, match="not on the open internet"):
            await answer_of(f"http://{host}/mcp", False)

    asyncio.run(main())


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked directly in its place."""
    monkeypatch.setenv("HTTP_PROXY", "socks5://proxy.example:1080")

    with pytest.raises(ProviderError, match="begins with socks5://"):
        asyncio.run(answer_of("http://tools.invalid/mcp", False))
