"""Ways to an MCP server: a program that is started, or an address. Needs `aiflow-runtime[mcp]`.

No message is read that is longer than `MOST_BYTES`. An address is judged at each connection as an
HTTP tool's is, and a proxy that the environment names is asked in the same cases.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TextIO

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from aiflow.tools.mcp_lines import ENCODING, limited
from aiflow.transport.guard import AddressGuard, is_here
from aiflow.transport.routes import has_tls, proxy_for, trusted

#: Most bytes of one message: a long list of tools fits, and so does a picture.
MOST_BYTES = 8 * 1024 * 1024
_MESSAGE_TIMEOUT_S = 30.0
_STREAM_TIMEOUT_S = 300.0
_EVENTS = "text/event-stream"
# JSON-RPC's word for what is wrong at the server.
_INTERNAL_ERROR = -32603

#: What the client takes as a way to a server: streams to read and to write, while it is entered.
#: It is handed a file for what a program complains of, and what to call, with a reason, where
#: the connection cannot go on.
Way = Callable[[TextIO, Callable[[str], None]], AbstractAsyncContextManager[Any]]


def program_way(command: Sequence[str], environment: Mapping[str, str]) -> Way:
    """Return the way to a program that is started, and ended at the end."""
    server = StdioServerParameters(
        command=command[0],
        args=list(command[1:]),
        env=dict(environment) or None,
        encoding=ENCODING,
    )

    @asynccontextmanager
    async def way(complaints: TextIO, give_up: Callable[[str], None]) -> AsyncIterator[Any]:
        with limited(MOST_BYTES, lambda: give_up(_too_long())):
            async with stdio_client(server, errlog=complaints) as streams:
                yield streams

    return way


def address_way(url: str, headers: Mapping[str, str], guard: AddressGuard) -> Way:
    """Return the way to an address that the guard lets through, at each connection."""

    @asynccontextmanager
    async def way(_: TextIO, __: Callable[[str], None]) -> AsyncIterator[Any]:
        timeout = httpx2.Timeout(_MESSAGE_TIMEOUT_S, read=_STREAM_TIMEOUT_S)
        async with (
            httpx2.AsyncClient(
                headers={"accept-encoding": "identity", **headers},
                timeout=timeout,
                transport=_Guarded(guard),
                trust_env=False,
            ) as client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=MOST_BYTES
            ) as streams,
        ):
            yield streams

    return way


class _Guarded(httpx2.AsyncBaseTransport):
    """Connects to an address that has been judged; the name stays in `Host` and in TLS."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._inners: dict[tuple[str, str | None], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        address, proxy = await self._place(url)
        if address:
            request.extensions["sni_hostname"] = url.raw_host.decode("ascii")
            request.url = url.copy_with(host=address.partition("%")[0])
        try:
            response = await self._inner(url, proxy).handle_async_request(request)
        finally:
            request.url = url
        return await _bounded(request, response)

    async def aclose(self) -> None:
        for inner in self._inners.values():
            await inner.aclose()

    async def _place(self, url: httpx2.URL) -> tuple[str, str | None]:
        """Return the address to connect to, "" for the name, and the proxy to ask for it."""
        port = url.port or (443 if url.scheme == "https" else 80)
        proxy = proxy_for(str(url))
        if proxy is None:
            return (await self._guard.addresses(url.host, port))[0], None
        known = await self._guard.known(url.host, port)
        return (known[0], None) if is_here(known) else ("", proxy)

    def _inner(self, url: httpx2.URL, proxy: str | None) -> httpx2.AsyncHTTPTransport:
        way = (url.scheme, proxy)
        if way not in self._inners:
            is_plain = not has_tls(str(url), proxy)
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else trusted()
            via = None
            if proxy is not None:
                own = verify if proxy.startswith("https:") else None
                via = httpx2.Proxy(proxy, ssl_context=own)
            # Nothing is kept: a connection to an address must not serve another name there.
            limits = httpx2.Limits(max_keepalive_connections=0)
            self._inners[way] = httpx2.AsyncHTTPTransport(
                verify=verify, trust_env=False, limits=limits, proxy=via
            )
        return self._inners[way]


async def _bounded(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a response of which the client cannot read too much.

    It takes a body of JSON whole, so that is read here first; of a stream of events it bounds
    each one itself. What is too long is answered as an error in the server's place.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        # A little of it may be any amount when it is undone.
        return await _replaced(request, response, "it compresses its answer, which none has asked")
    if response.headers.get("content-type", "").strip().lower().startswith(_EVENTS):
        return response
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MOST_BYTES:
            return await _replaced(request, response, _too_long())
    await response.aclose()
    framing = ("content-length", "transfer-encoding")
    headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in framing]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body))


async def _replaced(
    request: httpx2.Request, response: httpx2.Response, reason: str
) -> httpx2.Response:
    await response.aclose()
    try:
        id = json.loads(request.content).get("id")
    except (ValueError, AttributeError, httpx2.RequestNotRead):
        id = None
    error = {"code": _INTERNAL_ERROR, "message": reason}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": id, "error": error})


def _too_long() -> str:
    return (
        f"it sent a message of more than {MOST_BYTES // 1024**2} MiB, which is not read;"
        " let its tools answer with less"
    )
