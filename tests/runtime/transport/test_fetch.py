"""Tests of `aiflow.transport.fetch`, over real sockets of this machine."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest
import trustme

from aiflow.errors import ToolError
from aiflow.transport.fetch import Fetcher, FetchRequest, refused
from aiflow.transport.guard import AddressGuard
from tests.runtime.transport.faulty_server import Answer, Exchange, closed_port, serving

T = TypeVar("T")
SECRET = "sesame-0123456789"


class Names:
    """A resolver that knows what it is told, and counts how often it is asked."""

    def __init__(self, **known: list[str]) -> None:
        self.known = known
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> list[str]:
        """Return the addresses; each list is used up from the front, its last one stays."""
        self.asked.append(host)
        left = self.known.get(host.replace(".", "_"), [host])
        return [left.pop(0) if len(left) > 1 else left[0]]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run on the real loop."""
    return asyncio.run(coroutine)


def open_guard(resolve: Names | None = None) -> AddressGuard:
    """Return a guard that lets this machine through."""
    return AddressGuard(True, resolve or Names())


async def hello(exchange: Exchange) -> None:
    """Answer with a text."""
    await exchange.whole("200 OK", b"hello", "text/plain; charset=utf-8")


def redirect(to: str, status: str = "302 Found") -> Answer:
    """Return an answer that leads to another address."""

    async def answer(exchange: Exchange) -> None:
        await exchange.whole(status, b"", "text/plain", f"location: {to}\r\n")

    return answer


def test_a_body_comes_back_with_its_type() -> None:
    """And the connection is closed at the server."""

    async def scenario() -> None:
        async with serving(hello) as server:
            answer = await Fetcher(open_guard()).fetch(FetchRequest("GET", server.url + "/x?y=1"))
            await asyncio.gather(*(gone.wait() for gone in server.gone))

        assert (answer.status, answer.text, answer.content_type) == (200, "hello", "text/plain")
        assert server.requests[0].startswith(b"GET /x?y=1 HTTP/1.1\r\n")
        assert server.open_connections == 0

    run(scenario())


def test_the_connection_goes_to_the_address_and_the_name_stays_in_host() -> None:
    """The name exists only in the resolver."""

    async def scenario() -> None:
        async with serving(hello) as server:
            port = urlsplit(server.url).port
            names = Names(tool_test=["127.0.0.1"])
            url = f"http://tool.test:{port}/"
            answer = await Fetcher(open_guard(names)).fetch(FetchRequest("GET", url))

        assert answer.text == "hello"
        assert f"host: tool.test:{port}\r\n".encode() in server.requests[0].lower()
        assert names.asked == ["tool.test"]

    run(scenario())


def test_a_certificate_is_held_against_the_name_and_not_the_address() -> None:
    """Over TLS the server is asked for by its name."""
    authority = trustme.CA()
    served, trusted = (
        ssl.SSLContext(kind) for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    )
    authority.issue_cert("tool.test").configure_cert(served)
    authority.configure_trust(trusted)

    async def scenario() -> None:
        async with serving(hello, served) as server:
            port = urlsplit(server.url).port
            names = Names(tool_test=["127.0.0.1"], other_test=["127.0.0.1"])
            fetcher = Fetcher(open_guard(names), verify=trusted)
            answer = await fetcher.fetch(FetchRequest("GET", f"https://tool.test:{port}/"))
            with pytest.raises(ToolError, match="certificate is not trusted"):
                await fetcher.fetch(FetchRequest("GET", f"https://other.test:{port}/"))

        assert answer.text == "hello"

    run(scenario())


def test_certificates_that_cannot_be_read_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that the environment names are trusted, or nobody is."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    fetcher = Fetcher(open_guard(Names(tool_test=["127.0.0.1"])))

    with pytest.raises(ToolError, match=r"gone\.pem"):
        run(fetcher.fetch(FetchRequest("GET", "https://tool.test/")))


def test_this_machine_is_refused_unless_it_is_meant() -> None:
    """Nothing is sent, not even a connection is made."""

    async def scenario() -> None:
        async with serving(hello) as server:
            with pytest.raises(ToolError, match="not on the open internet") as caught:
                await Fetcher(AddressGuard()).fetch(FetchRequest("GET", server.url))

        assert caught.value.kind == "refused"
        assert server.opened == 0

    run(scenario())


def test_a_name_that_changes_its_address_is_connected_to_where_it_was_judged() -> None:
    """DNS rebinding: the second answer of the resolver would be this machine."""
    called: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        called.append(request)
        body = httpx.ByteStream(b"public")
        return httpx.Response(200, stream=body, extensions={"network_stream": None})

    names = Names(rebind_test=["93.184.216.34", "127.0.0.1"])
    fetcher = Fetcher(AddressGuard(resolve=names), httpx.MockTransport(answer))

    result = run(fetcher.fetch(FetchRequest("GET", "https://rebind.test/secret")))

    assert result.text == "public"
    assert names.asked == ["rebind.test"]
    assert [request.url.host for request in called] == ["93.184.216.34"]
    assert called[0].headers["host"] == "rebind.test"
    assert called[0].extensions["sni_hostname"] == "rebind.test"


def test_a_redirect_into_a_private_network_is_refused() -> None:
    """The first address is public, where it leads is not; the second is never called."""

    def answer(_request: httpx.Request) -> httpx.Response:
        headers = {"location": "http://inside.test/admin"}
        return httpx.Response(302, headers=headers, extensions={"network_stream": None})

    names = Names(outside_test=["93.184.216.34"], inside_test=["10.0.0.1"])
    fetcher = Fetcher(AddressGuard(resolve=names), httpx.MockTransport(answer))

    with pytest.raises(ToolError, match=r"10\.0\.0\.1, where inside\.test leads"):
        run(fetcher.fetch(FetchRequest("GET", "http://outside.test/")))
    assert names.asked == ["outside.test", "inside.test"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://a.test/", "http://u:p@a.test/"])
def test_a_redirect_to_what_is_no_plain_web_address_is_refused(target: str) -> None:
    """Only http and https, and no password in an address."""

    async def scenario() -> None:
        async with serving(redirect(target)) as server:
            with pytest.raises(ToolError) as caught:
                await Fetcher(open_guard()).fetch(FetchRequest("GET", server.url))
            assert caught.value.kind == "refused"
            assert "u:p" not in str(caught.value)

    run(scenario())


def test_a_credential_stays_with_its_origin() -> None:
    """Within it a redirect keeps the key; another port is another origin."""

    async def scenario() -> tuple[list[bytes], list[bytes]]:
        async with serving(hello) as other:

            async def answer(exchange: Exchange) -> None:
                is_first = b"GET /first " in exchange.request
                await redirect("/second" if is_first else other.url)(exchange)

            async with serving(answer) as own:
                headers = {"Authorization": f"Bearer {SECRET}", "x-own": "1", "accept": "*/*"}
                request = FetchRequest("GET", own.url + "/first", headers, secret=SECRET)
                await Fetcher(open_guard()).fetch(request)
        return own.requests, other.requests

    own, other = run(scenario())

    assert [SECRET.encode() in request for request in own] == [True, True]
    assert len(other) == 1
    assert SECRET.encode() not in other[0]
    assert b"x-own" not in other[0]
    assert b"accept: */*" in other[0]


@pytest.mark.parametrize(
    ("status", "method"), [("302 Found", b"GET"), ("303 See Other", b"GET"), ("307 T", b"POST")]
)
def test_a_redirect_keeps_the_method_only_where_it_says_so(status: str, method: bytes) -> None:
    """With the body, or without."""

    async def scenario() -> bytes:
        async def answer(exchange: Exchange) -> None:
            is_first = b" /first " in exchange.request
            await (redirect("/second", status) if is_first else hello)(exchange)

        async with serving(answer) as server:
            request = FetchRequest("POST", server.url + "/first", body=b'{"a": 1}')
            await Fetcher(open_guard()).fetch(request)
        return server.requests[1]

    second = run(scenario())

    assert second.startswith(method + b" /second ")
    assert second.endswith(b'{"a": 1}') == (method == b"POST")


def test_redirects_come_to_an_end() -> None:
    """A circle is told after a few."""

    async def scenario() -> int:
        async with serving(redirect("/again")) as server:
            with pytest.raises(ToolError, match="redirects more than 5 times"):
                await Fetcher(open_guard()).fetch(FetchRequest("GET", server.url))
        return len(server.requests)

    assert run(scenario()) == 6


def test_of_an_endless_body_no_more_is_read_than_allowed() -> None:
    """The connection is closed then, and the server sees it."""

    async def scenario() -> None:
        async def answer(exchange: Exchange) -> None:
            await exchange.head(content_type="text/plain")
            while not exchange.gone.is_set():
                await exchange.chunks(b"x" * 1000)

        async with serving(answer) as server:
            request = FetchRequest("GET", server.url, max_bytes=5_000)
            result = await Fetcher(open_guard()).fetch(request)
            await server.gone[0].wait()

        assert (len(result.text), result.is_cut) == (5_000, True)

    run(scenario())


def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    """While the server says nothing."""

    async def scenario() -> None:
        asked = asyncio.Event()

        async def answer(exchange: Exchange) -> None:
            asked.set()
            await exchange.gone.wait()

        async with serving(answer) as server:
            fetch = Fetcher(open_guard()).fetch(FetchRequest("GET", server.url))
            task = asyncio.get_running_loop().create_task(fetch)
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.gone[0].wait()

    run(scenario())


def test_nobody_there_is_told_and_nothing_has_begun() -> None:
    """So that such a call may be made again whatever it does."""

    async def scenario() -> ToolError:
        url = f"http://127.0.0.1:{await closed_port()}"
        with pytest.raises(ToolError, match="cannot be reached") as caught:
            await Fetcher(open_guard()).fetch(FetchRequest("GET", url))
        return caught.value

    error = run(scenario())

    assert (error.kind, error.is_transient, error.has_begun) == ("unreachable", True, False)


def test_a_connection_that_breaks_has_begun() -> None:
    """The server may have done what it was asked."""

    async def scenario() -> ToolError:
        async def answer(exchange: Exchange) -> None:
            exchange.reset()

        async with serving(answer) as server:
            with pytest.raises(ToolError, match="the connection failed") as caught:
                await Fetcher(open_guard()).fetch(FetchRequest("GET", server.url))
        return caught.value

    error = run(scenario())

    assert (error.kind, error.has_begun) == ("unreachable", True)


def test_the_next_address_is_tried_where_nobody_answers_at_the_first() -> None:
    """As long as nothing has been sent."""

    async def two(_host: str, _port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async def scenario() -> str:
        async with serving(hello) as server:
            port = urlsplit(server.url).port
            fetcher = Fetcher(AddressGuard(True, two))
            answer = await fetcher.fetch(FetchRequest("GET", f"http://two.test:{port}/"))
        return answer.text

    assert run(scenario()) == "hello"


def test_a_key_that_no_header_can_carry_is_not_shown() -> None:
    """Nothing is sent, and the sentence holds no piece of it."""

    async def scenario() -> FetchRequest:
        async with serving(hello) as server:
            request = FetchRequest("GET", server.url, {"authorization": f"{SECRET}\nx"})
            with pytest.raises(ToolError, match="no header can carry") as caught:
                await Fetcher(open_guard()).fetch(request)
        assert server.opened == 0
        assert SECRET not in str(caught.value)
        return request

    assert SECRET not in repr(run(scenario()))


def test_an_error_is_told_in_the_servers_words_without_the_key() -> None:
    """With its status, and whether it will pass."""

    async def scenario() -> ToolError | None:
        # The key is covered where the body comes in.
        async def answer(exchange: Exchange) -> None:
            body = f'{{"error": {{"message": "bad key {SECRET}"}}}}'.encode()
            more = "retry-after: 7\r\n"
            await exchange.whole("503 Busy", body, "application/json", more)

        async with serving(answer) as server:
            request = FetchRequest("GET", server.url, secret=SECRET)
            result = await Fetcher(open_guard()).fetch(request)
        return refused(result, "the tool t", SECRET)

    error = run(scenario())

    assert error is not None
    assert str(error) == f"the tool t answered 503: bad key {'*' * len(SECRET)}"
    assert (error.kind, error.is_transient, error.retry_after_s) == ("status", True, 7)


@pytest.mark.parametrize("most", [10, 14, 20, 27, 100])
def test_a_key_that_the_server_sends_back_is_covered(most: int) -> None:
    """Wherever it is cut: by the network, or by the longest answer that is read."""

    async def scenario() -> str:
        async def answer(exchange: Exchange) -> None:
            await exchange.head(content_type="text/plain")
            text = f"your key: {SECRET}!".encode()
            await exchange.chunks(text[:15], text[15:])
            await exchange.end()

        async with serving(answer) as server:
            request = FetchRequest("GET", server.url, secret=SECRET, max_bytes=most)
            return (await Fetcher(open_guard()).fetch(request)).text

    shown = run(scenario())

    assert shown.startswith("your key: "[:most])
    assert not set(shown) & set("0123456789")
    assert SECRET[:4] not in shown


def test_a_charset_that_nobody_knows_is_read_as_utf_8() -> None:
    """A wrong header is no reason to lose the answer."""

    async def scenario() -> str:
        async def answer(exchange: Exchange) -> None:
            await exchange.whole("200 OK", "grün".encode(), "text/plain; charset=klingon")

        async with serving(answer) as server:
            return (await Fetcher(open_guard()).fetch(FetchRequest("GET", server.url))).text

    assert run(scenario()) == "grün"


@pytest.mark.parametrize("address", ["http://", "nonsense", "http://[", "http://a.test:99999/"])
def test_what_is_no_address_is_told(address: str) -> None:
    """Before anybody is asked."""
    with pytest.raises(ToolError, match="is no"):
        run(Fetcher(open_guard()).fetch(FetchRequest("GET", address)))
