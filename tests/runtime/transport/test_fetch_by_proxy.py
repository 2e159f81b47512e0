"""Calls on a model's behalf where the environment names a proxy, over real sockets."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from aiflow.errors import ToolError
from aiflow.transport.fetch import Fetcher, FetchRequest
from aiflow.transport.guard import AddressGuard
from tests.runtime.transport.faulty_server import Exchange, closed_port, serving
from tests.runtime.transport.tunnel import tunnelling

SECRET = "sesame-0123456789"
LOGIN = "pond-secret"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any of the names that this file is about."""
    for name in (*NAMES, *map(str.upper, NAMES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


class Names:
    """A resolver that knows few names, as a machine behind a proxy does."""

    def __init__(self, **known: list[str]) -> None:
        self.known = known

    async def __call__(self, host: str, _port: int) -> list[str]:
        """Return the addresses of a name that is known, and an address as it is."""
        try:
            return self.known[host.replace(".", "_")]
        except KeyError:
            if not host[0].isdecimal():
                raise socket.gaierror(socket.EAI_NONAME, "unknown") from None
            return [host]


async def hello(exchange: Exchange) -> None:
    """Answer with a text."""
    await exchange.whole("200 OK", b"hello", "text/plain")


def guarded(allow_private: bool = False, **known: list[str]) -> Fetcher:
    """Return what calls, on a machine that knows these names."""
    return Fetcher(AddressGuard(allow_private, Names(**known)))


def request(url: str) -> FetchRequest:
    """Return a call with a key in it."""
    return FetchRequest("GET", url, {"authorization": f"Bearer {SECRET}"}, secret=SECRET)


def refusal_of(fetcher: Fetcher, url: str) -> ToolError:
    """Return the error that a call ends in, which shows neither key nor login."""

    async def main() -> ToolError:
        with pytest.raises(ToolError) as caught:
            await fetcher.fetch(request(url))
        return caught.value

    error = asyncio.run(main())
    assert SECRET not in str(error)
    assert LOGIN not in str(error)
    return error


def test_the_proxy_is_asked_for_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody knows the name here, and only for what NO_PROXY does not name."""

    async def main() -> None:
        async with serving(hello) as proxy, serving(hello) as server:
            monkeypatch.setenv("http_proxy", proxy.url.replace("//", f"//me:{LOGIN}@"))
            fetcher = guarded(allow_private=True, near_example=["127.0.0.1"])
            answer = await fetcher.fetch(request("http://tool.example/x?y=1"))
            assert answer.text == "hello"
            assert proxy.requests[0].startswith(b"GET http://tool.example/x?y=1 HTTP/1.1\r\n")
            assert b"host: tool.example\r\n" in proxy.requests[0].lower()
            monkeypatch.setenv("no_proxy", "near.example")
            port = urlsplit(server.url).port
            await fetcher.fetch(request(f"http://near.example:{port}/"))
            assert len(proxy.requests) == 1

    asyncio.run(main())


def test_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its address, by its name, and by a name that leads to it."""

    async def main() -> None:
        for name in ("http_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{await closed_port()}")
        here = {"localhost": ["127.0.0.1"], "my_host": ["127.0.0.1"]}
        async with serving(hello) as server:
            port = urlsplit(server.url).port
            for host in ("127.0.0.1", "localhost", "my.host"):
                answer = await guarded(True, **here).fetch(request(f"http://{host}:{port}/"))
                assert answer.text == "hello"

    asyncio.run(main())


def test_over_tls_the_proxy_sees_the_host_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It makes a tunnel; the certificate is held against the name."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("tool.example").configure_cert(tls)

    async def main() -> None:
        async with (
            serving(hello, tls) as server,
            tunnelling(urlsplit(server.url).port or 0) as proxy,
        ):
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", f"//me:{LOGIN}@"))
            answer = await guarded().fetch(request("https://tool.example/"))
            assert answer.text == "hello"
            assert SECRET.encode() in server.requests[0]
            with pytest.raises(ToolError, match="certificate is not trusted"):
                await guarded().fetch(request("https://other.example/"))
        assert proxy.asked[0].startswith(b"CONNECT tool.example:443 HTTP/1.1\r\n")
        assert SECRET.encode() not in proxy.asked[0]

    asyncio.run(main())


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1", "169.254.169.254", "in.example", "intranet", "metadata.internal", "a.local."],
)
def test_what_is_known_to_be_private_is_refused_before_a_proxy_is_asked(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its address, by where its name leads, or by the name where nobody knows it here."""

    async def dead() -> None:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{await closed_port()}")

    asyncio.run(dead())
    fetcher = guarded(in_example=["93.184.216.34", "10.0.0.1"])

    error = refusal_of(fetcher, f"http://{host}/")

    assert error.kind == "refused"
    assert "not on the open internet" in str(error)


def test_a_redirect_is_judged_anew_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leads from a name outside to an address inside."""

    async def away(exchange: Exchange) -> None:
        await exchange.whole("302 Found", b"", "text/plain", "location: http://10.0.0.1/\r\n")

    async def main() -> None:
        async with serving(away) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url)
            with pytest.raises(ToolError, match=r"10\.0\.0\.1 is not on the open internet"):
                await guarded().fetch(request("http://tool.example/"))
            assert len(proxy.requests) == 1

    asyncio.run(main())


def test_a_proxy_that_is_not_there_is_told_as_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool's server is not to blame, and nothing has begun."""

    async def dead() -> None:
        monkeypatch.setenv("ALL_PROXY", f"http://me:{LOGIN}@127.0.0.1:{await closed_port()}")

    asyncio.run(dead())
    for scheme in ("http", "https"):
        error = refusal_of(guarded(), f"{scheme}://tool.example/")
        assert "no connection through the proxy 127.0.0.1:" in str(error)
        assert (error.kind, error.is_transient, error.has_begun) == ("unreachable", True, False)


def test_a_proxy_that_refuses_is_told_as_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own words."""

    async def main() -> ToolError:
        async with tunnelling(1, refusal=b"403 Forbidden") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", f"//me:{LOGIN}@"))
            with pytest.raises(ToolError) as caught:
                await guarded().fetch(request("https://tool.example/"))
            return caught.value

    error = asyncio.run(main())
    assert "makes no connection to it (403 Forbidden)" in str(error)
    assert LOGIN not in str(error)
    assert not error.has_begun


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the variable and not what stands in it."""
    monkeypatch.setenv("HTTPS_PROXY", f"socks5://me:{LOGIN}@proxy.example:1080")

    error = refusal_of(guarded(), "https://tool.example/")

    assert "the proxy that HTTPS_PROXY or ALL_PROXY names begins with socks5://" in str(error)
