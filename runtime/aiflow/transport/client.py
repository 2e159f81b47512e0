"""HTTP to a model endpoint: one client per provider, one lazily read stream per request.

Reading is the only thing that makes bytes come: between two reads the socket is left alone, and
its receive buffer is small, so that a full graph soon stops the server. No retry lives here.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from aiflow.clock import Clock
from aiflow.errors import ProviderError
from aiflow.transport import failures, routes
from aiflow.transport.excerpt import place_of, redact
from aiflow.transport.exchange import HttpExchange, InterruptedExchangeError
from aiflow.transport.inflate import InflateError
from aiflow.transport.masking import SecretMask, is_key, without
from aiflow.transport.patience import Patience, Timeouts
from aiflow.transport.watch import WaitWatch

T = TypeVar("T")

CONNECT_TIMEOUT_S = 10.0
_DRAIN_S = 0.05
_ERROR_BODY_BYTES = 64 * 1024
_FIRST_REFUSAL = 300
# Visible ASCII, blanks and tabs (RFC 9110, section 5.5, without what nobody reads alike).
HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_NO_STREAMS = ("text/html", "application/xhtml", "application/pdf", "application/zip")
_TELLING = (ssl.SSLError, socket.gaierror, ConnectionRefusedError)
_NO_STREAM_KINDS = ("image", "audio", "video", "font")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A POST whose answer is a stream.

    Attributes:
        body: JSON.
        where: the provider, as a person knows it; begins every error's sentence.
        credential: name of the environment variable that holds the key, "" for none.
        secret: the key that `headers` carry; kept out of errors.
    """

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    where: str = ""
    credential: str = ""
    secret: str = field(default="", repr=False)


class HttpClient:
    """The connections to one endpoint.

    Args:
        url: the endpoint; a loopback one is never asked through a proxy.
        clock: must be a real one.

    Raises:
        ProviderError: the environment names a proxy or certificates that cannot be used.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self._clock = clock
        proxy = routes.proxy_for(url)
        self._via = "" if proxy is None else place_of(proxy)
        self._client = httpx.AsyncClient(
            trust_env=False,
            transport=routes.transport_for(url, proxy),
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            follow_redirects=False,
        )

    def stream(self, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        """Return the answer's stream; nothing is sent before its first read."""
        return HttpStream(self._client, request, timeouts, self._clock, self._via)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class HttpStream:
    """One request and its answer's bytes, decompressed, with stars in place of the key.

    Args:
        via: place of the proxy on the way, "" for none.

    Attributes:
        request_sent_at: when the request had left, seconds on the clock; None before.
        content_type: what the server calls the body, "" before the first read and for nothing.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        request: HttpRequest,
        timeouts: Timeouts,
        clock: Clock,
        via: str = "",
    ) -> None:
        self.request_sent_at: float | None = None
        self.content_type = ""
        self._client = client
        self._exchange = HttpExchange(client, self._note_sent)
        self._request = request
        self._patience = Patience(timeouts)
        self._clock = clock
        self._via = via
        self._watch = WaitWatch(clock)
        self._mask = SecretMask(request.secret if is_key(request.secret) else "")
        self._is_open = False
        self._is_closed = False

    async def read(self) -> bytes | None:
        """Return the next bytes, as many as one read brought; None at the end of the body.

        Raises:
            ProviderError: nobody is there, the server refused, timed out, sent no stream, or
                broke off. The connection is closed then, as it is when the read is cancelled.
        """
        return None if self._is_closed else await self._read()

    async def drain(self) -> None:
        """Read on to an end that is due at once, so that the connection can serve again."""
        with suppress(TimeoutError, httpx.HTTPError, InflateError):
            while await self._watch.wait(self._exchange.read(), _DRAIN_S) is not None:
                pass
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, unless its answer has been read to the end; safe to repeat."""
        self._is_closed = True
        self._watch.close()
        await self._exchange.aclose()

    async def _read(self) -> bytes | None:
        try:
            if not self._is_open:
                await self._open()
            piece = await self._next_piece()
        except BaseException as error:
            # Closed by another task meanwhile: then its end is no news.
            is_news = not (
                self._is_closed and isinstance(error, ProviderError | InterruptedExchangeError)
            )
            await self.aclose()
            if is_news:
                raise
            return None
        if piece is None:
            await self.aclose()
        return piece

    async def _next_piece(self) -> bytes | None:
        """Return the next bytes without the key; what may be its beginning comes with the next."""
        piece: bytes | None = b""
        while piece == b"":
            piece = await self._wait(self._exchange.read())
            self._patience.begin()
            piece = self._mask.end() or None if piece is None else self._mask.add(piece)
        return piece

    async def _open(self) -> None:
        # Told here: the libraries below would quote the value, which is the key.
        if not all(map(HEADER_VALUE.fullmatch, self._request.headers.values())):
            raise failures.unsendable(self._request.where, self._request.credential)
        request = self._client.build_request(
            "POST",
            self._request.url,
            content=self._request.body,
            # A compressing server or proxy holds events back until a block is full.
            headers={
                "content-type": "application/json",
                "accept-encoding": "identity",
                **self._request.headers,
            },
        )
        response = await self._wait(self._exchange.send(request))
        self._is_open = True
        asked = self._request
        self.content_type = without(response.headers.get("content-type", ""), asked.secret)
        content_type = self.content_type.partition(";")[0].strip().lower()
        if response.status_code >= _FIRST_REFUSAL:
            raise failures.refused(
                asked.where,
                response.status_code,
                dict(response.headers),
                await self._beginning(),
                asked.credential,
                asked.secret,
            )
        if content_type in _NO_STREAMS or content_type.partition("/")[0] in _NO_STREAM_KINDS:
            body = await self._beginning()
            raise failures.not_a_stream(asked.where, content_type, body, asked.secret)

    async def _beginning(self) -> bytes:
        """Return the first part of a body that tells why there is no stream."""
        body = b""
        while len(body) < _ERROR_BODY_BYTES:
            piece = await self._wait(self._exchange.read())
            if piece is None:
                break
            self._patience.begin()
            body += piece
        return body[:_ERROR_BODY_BYTES]

    async def _wait(self, awaitable: Awaitable[T]) -> T:
        """Wait for one step of the exchange and turn what goes wrong into our errors."""
        where = self._request.where
        began = self._clock.now()
        try:
            return await self._watch.wait(awaitable, self._patience.left_s)
        except TimeoutError:
            raise self._patience.expired(where) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._unconnected(error) from error
        except httpx.ProxyError as error:
            raise failures.proxy_refused(where, self._via, str(error)) from error
        except InflateError as error:
            raise failures.not_decodable(where, str(error)) from error
        except httpx.TransportError as error:
            raise self._lost(error) from error
        finally:
            self._patience.spend(self._clock.now() - began)

    def _unconnected(self, error: httpx.TransportError) -> ProviderError:
        """Return the error of a connection that could not be made."""
        where = self._request.where
        cause = _cause_of(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return failures.untrusted(where, cause.verify_code, cause.verify_message)
        if isinstance(cause, ssl.SSLError):
            return failures.not_tls(where, cause.reason or "no handshake")
        return failures.nobody_there(where, _connect_reason(error, cause), self._via)

    def _lost(self, error: httpx.TransportError) -> ProviderError:
        """Return the error of a connection that failed after it was made."""
        where, reason = self._request.where, redact(_reason(error), self._request.secret)
        if self._is_open:
            return failures.broken_off(where, reason)
        # httpx has one class for both: a server that says nothing, and one that says nonsense.
        is_nonsense = isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in reason
        return (failures.not_http if is_nonsense else failures.unanswered)(where, reason)

    def _note_sent(self) -> None:
        self.request_sent_at = self._clock.now()


def _cause_of(error: BaseException) -> BaseException | None:
    """Return what the system said that we have words for, below what libraries made of it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, _TELLING):
        cause = cause.__cause__ or cause.__context__
    return cause


def _connect_reason(error: Exception, cause: BaseException | None) -> str:
    """Return why there is no connection, in the system's words without its numbers."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no answer within {CONNECT_TIMEOUT_S:g} s"
    if isinstance(cause, socket.gaierror):
        return "the host's name is not known"
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    return _reason(error)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
