"""One bounded HTTP call on a model's behalf: guarded addresses, few redirects, a limited answer.

Each hop is looked up and judged anew (`guard`) and connected to by its address, with the name kept
in `Host` and in TLS. Where the environment names a proxy for it (`routes`), the proxy is asked for
the name, and what is known here to be private is refused before. A credential, and every header
that is not the protocol's own, stays with the origin it is for.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TypeVar

import httpx

from aiflow.errors import ProviderError, ToolError
from aiflow.transport import failures
from aiflow.transport.client import HEADER_VALUE
from aiflow.transport.excerpt import body_words, place_of, redact, shorten
from aiflow.transport.exchange import HttpExchange
from aiflow.transport.failures import is_transient, parse_retry_after
from aiflow.transport.guard import AddressGuard, is_here
from aiflow.transport.inflate import InflateError
from aiflow.transport.masking import SecretMask, is_key
from aiflow.transport.routes import has_tls, proxy_for, through, trusted

T = TypeVar("T")

_MOST_REDIRECTS = 5
_CONNECT_TIMEOUT_S = 10.0
_MOVED = (301, 302, 303, 307, 308)
# After these the method stays and the body is sent again.
_SAME_METHOD = (307, 308)
# Nothing is kept: a connection to an address must not serve another name at that address.
_LIMITS = httpx.Limits(max_connections=8, max_keepalive_connections=0)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What to call.

    Attributes:
        headers: for the first origin only, the credential among them.
        secret: what of them is secret; kept out of errors.
        max_bytes: of the answer no more is read.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""
    secret: str = field(default="", repr=False)
    max_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """What came back.

    Attributes:
        status: HTTP status.
        content_type: without its parameters, in lower case.
        text: as much of the body as was read.
        is_cut: there was more.
        retry_after_s: seconds that the server asks to wait; None where it does not.
    """

    status: int
    content_type: str
    text: str
    is_cut: bool = False
    retry_after_s: float | None = None


class Fetcher:
    """Calls addresses that the guard lets through.

    Args:
        guard: judges addresses.
        transport: takes the place of sockets in a test.
        verify: trusted certificates; None are those that the environment names, else the usual.
    """

    def __init__(
        self,
        guard: AddressGuard,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._transport = transport
        self._verify = verify

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        """Make one call, over redirects, and return its answer whatever its status.

        Raises:
            ToolError: an address may not be called, nobody answers there, or the answer is no HTTP.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._hop(request)
            if isinstance(answer, FetchAnswer):
                return answer
            request = answer
        raise ToolError(
            f"{place_of(request.url)} redirects more than {_MOST_REDIRECTS} times",
            kind="failed",
            has_begun=True,
        )

    async def _hop(self, request: FetchRequest) -> FetchAnswer | FetchRequest:
        """Return the answer, or the request that it redirects to."""
        url = _checked(request.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses, proxy = await self._way(url, port)
        client = self._client(url, proxy)
        via = "" if proxy is None else place_of(proxy)
        try:
            # The next address is tried only while nothing has been sent.
            for address in addresses[:-1]:
                try:
                    return await self._ask(client, request, url, address, via)
                except ToolError as error:
                    if error.kind != "unreachable" or error.has_begun:
                        raise
            return await self._ask(client, request, url, addresses[-1], via)
        finally:
            await client.aclose()

    async def _way(self, url: httpx.URL, port: int) -> tuple[list[str], str | None]:
        """Return addresses to connect to, or the name for a proxy to look up, and the proxy."""
        try:
            proxy = proxy_for(str(url))
        except ProviderError as error:
            raise ToolError(f"{place_of(str(url))}: {error}", kind="failed") from error
        if proxy is None:
            return await self._guard.addresses(url.host, port), None
        known = await self._guard.known(url.host, port)
        return (known, None) if is_here(known) else ([url.host], proxy)

    async def _ask(
        self,
        client: httpx.AsyncClient,
        request: FetchRequest,
        url: httpx.URL,
        address: str,
        via: str,
    ) -> FetchAnswer | FetchRequest:
        # Told here: the libraries below would quote the value, which may be a key.
        if not all(map(HEADER_VALUE.fullmatch, request.headers.values())):
            raise ToolError(
                f"a header for {place_of(request.url)} holds a letter that no header can carry,"
                " such as a line break in a key; nothing was sent",
                kind="failed",
            )
        sent: list[bool] = []
        exchange = HttpExchange(client, lambda: sent.append(True))
        wire = client.build_request(
            request.method,
            # Without the zone of a link-local address, which no URL can hold.
            url.copy_with(host=address.partition("%")[0]),
            content=request.body or None,
            headers={
                "host": url.netloc.decode("ascii"),
                "user-agent": "aiflow",
                "accept-encoding": "identity",
                **request.headers,
            },
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        )
        try:
            response = await _told(exchange.send(wire), request, sent, via)
            if response.status_code in _MOVED and "location" in response.headers:
                return _redirected(request, url, response)
            body, is_cut = await _told(_read(exchange, request), request, sent, via)
        finally:
            await exchange.aclose()
        return FetchAnswer(
            response.status_code,
            response.headers.get("content-type", "").partition(";")[0].strip().lower(),
            _decoded(body, response.charset_encoding),
            is_cut,
            parse_retry_after(response.headers.get("retry-after")),
        )

    def _client(self, url: httpx.URL, proxy: str | None) -> httpx.AsyncClient:
        transport = self._transport
        if transport is None:
            is_plain = not has_tls(str(url), proxy)
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else self._trusted()
            transport = httpx.AsyncHTTPTransport(
                verify=verify, trust_env=False, limits=_LIMITS, proxy=through(proxy, verify)
            )
        return httpx.AsyncClient(
            transport=transport,
            trust_env=False,
            timeout=httpx.Timeout(None, connect=_CONNECT_TIMEOUT_S),
            follow_redirects=False,
        )

    def _trusted(self) -> ssl.SSLContext:
        """Return whose certificates are trusted; read once, because it takes time."""
        if self._verify is None:
            try:
                self._verify = trusted()
            except ProviderError as error:
                raise ToolError(str(error), kind="failed") from error
        return self._verify


def refused(answer: FetchAnswer, where: str, secret: str = "") -> ToolError | None:
    """Return the error of an answer whose status is no success; None where it is one."""
    if answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    words, _ = body_words(answer.text.encode("utf-8", "replace"), secret)
    said = f": {words}" if words else ""
    return ToolError(
        f"{where} answered {answer.status}{said}",
        kind="status",
        is_transient=is_transient(answer.status),
        has_begun=True,
        retry_after_s=answer.retry_after_s,
    )


def _checked(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
        # httpx lets some through that nothing else can read.
        place_of(address)
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolError(f"{shorten(redact(address))} is no address", kind="refused") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError(f"{shorten(redact(address))} is no http or https address", kind="refused")
    if url.userinfo:
        raise ToolError(f"the address of {url.host} holds a password", kind="refused")
    return url


def _redirected(request: FetchRequest, url: httpx.URL, response: httpx.Response) -> FetchRequest:
    """Return the request that a redirect asks for."""
    try:
        target = url.join(response.headers["location"])
    except httpx.InvalidURL as error:
        raise ToolError(
            f"{url.host} redirects to what is no address", kind="failed", has_begun=True
        ) from error
    keeps = response.status_code in _SAME_METHOD or request.method in ("GET", "HEAD")
    if not keeps:
        request = replace(request, method="GET", body=b"")
    if _origin(target) != _origin(url):
        kept = ("accept", "content-type") if keeps else ("accept",)
        headers = {name: part for name, part in request.headers.items() if name.lower() in kept}
        request = replace(request, headers=headers)
    return replace(request, url=str(target))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _read(exchange: HttpExchange, request: FetchRequest) -> tuple[bytes, bool]:
    """Return the body as far as it may be read, and whether there was more.

    A key that the server sends back is covered, also one that the end cuts in two.
    """
    mask = SecretMask(request.secret if is_key(request.secret) else "")
    body = b""
    while (piece := await exchange.read()) is not None:
        body += mask.add(piece)
        if len(body) > request.max_bytes:
            return body[: request.max_bytes], True
    body += mask.end()
    return body[: request.max_bytes], len(body) > request.max_bytes


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


async def _told(awaitable: Awaitable[T], request: FetchRequest, sent: list[bool], via: str) -> T:
    """Await one step and turn what goes wrong into a sentence."""
    where = place_of(request.url)
    try:
        return await awaitable
    except httpx.ProxyError as error:
        raise _on_the_way(failures.proxy_refused(where, via, str(error))) from error
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        is_untrusted = "certificate" in str(error).lower()
        if via and not is_untrusted:
            reason = shorten(str(error) or type(error).__name__)
            raise _on_the_way(failures.nobody_there(where, reason, via)) from error
        why = " (its certificate is not trusted)" if is_untrusted else ""
        raise ToolError(
            f"{where} cannot be reached{why}", kind="unreachable", is_transient=not is_untrusted
        ) from error
    except InflateError as error:
        raise ToolError(
            f"{where}: the compressed answer is broken", kind="failed", has_begun=True
        ) from error
    except httpx.TransportError as error:
        said = shorten(redact(str(error) or type(error).__name__, request.secret))
        raise ToolError(
            f"{where}: the connection failed ({said})",
            kind="unreachable",
            is_transient=True,
            has_begun=bool(sent),
        ) from error


def _on_the_way(error: ProviderError) -> ToolError:
    """Return the error of a proxy that has made no connection: nothing has begun."""
    return ToolError(str(error), kind="unreachable", is_transient=error.retryable)
