"""Tests of `aiflow.transport.routes` over real sockets: proxies, and whose certificates count."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from aiflow.errors import ProviderError
from aiflow.transport.routes import is_loopback, proxy_for, trusted
from tests.runtime.transport.asking import SECRET, asking, read_all
from tests.runtime.transport.faulty_server import EVENT, STOP, Exchange, closed_port, serving
from tests.runtime.transport.tunnel import tunnelling

PROXY_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any of the names that this file is about."""
    for name in (*PROXY_NAMES, *map(str.upper, PROXY_NAMES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def _folder_of(authority: Path) -> Path:
    """Return a folder in which OpenSSL finds an authority, under a name that only it can make."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("the openssl program is not there to name the file")
    hashed = subprocess.run(
        [program, "x509", "-hash", "-noout", "-in", str(authority)],
        check=True,
        capture_output=True,
        text=True,
    )
    folder = authority.parent / "authorities"
    folder.mkdir()
    (folder / f"{hashed.stdout.strip()}.0").write_bytes(authority.read_bytes())
    return folder


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Return an authority that nobody knows."""
    return trustme.CA()


@pytest.fixture
def trust(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Trust the authority, as a user would; return its file."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


def tls_of(authority: trustme.CA, host: str) -> ssl.SSLContext:
    """Return a server's side of TLS, with a certificate for a host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context


async def _serve(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT, STOP)
    await exchange.end()


async def refusal_of(url: str) -> ProviderError:
    """Return the error that asking an address ends in."""
    async with asking(url) as stream:
        with pytest.raises(ProviderError) as caught:
            await read_all(stream)
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_loopback_endpoint_is_never_asked_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy in the environment would take even 127.0.0.1."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(STOP)
        await exchange.end()

    async def main() -> None:
        dead = f"http://127.0.0.1:{await closed_port()}"
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, dead)
        async with serving(answer) as server, asking(server.url) as stream:
            assert await read_all(stream) == STOP

    asyncio.run(main())


def test_another_endpoint_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says holds for all that is not on this machine."""
    asked: list[bytes] = []

    async def answer(exchange: Exchange) -> None:
        asked.append(exchange.request)
        await exchange.head()
        await exchange.chunks(STOP)
        await exchange.end()

    async def main() -> None:
        async with serving(answer) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url)
            monkeypatch.delenv("no_proxy", raising=False)
            async with asking("http://model.example") as stream:
                assert await read_all(stream) == STOP

    asyncio.run(main())

    assert asked[0].startswith(b"POST http://model.example/v1/chat/completions ")


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://localhost:1", True),
        ("http://api.localhost", True),
        ("http://127.8.0.1", True),
        ("http://[::1]:80", True),
        ("http://0.0.0.0:80", True),
        ("http://localhost.example", False),
        ("http://10.0.0.1", False),
        ("https://model.example", False),
    ],
)
def test_what_counts_as_this_machine(url: str, is_here: bool) -> None:
    """Names and addresses of the loopback, and nothing that only looks like one."""
    assert is_loopback(url) == is_here


def test_an_https_endpoint_is_asked_through_a_tunnel(
    authority: trustme.CA, trust: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy sees the host and its own login, never the key or what is asked."""

    async def main() -> None:
        async with serving(_serve, tls_of(authority, "model.example")) as server:
            async with tunnelling(urlsplit(server.url).port or 0) as proxy:
                monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:pond@"))
                async with asking("https://model.example") as stream:
                    assert await read_all(stream) == EVENT + STOP
            assert b"authorization: Bearer" in server.requests[0]
        (asked,) = proxy.asked
        assert asked.startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic bWU6cG9uZA==" in asked
        assert SECRET.encode() not in asked

    asyncio.run(main())


def test_a_cancelled_stream_closes_its_tunnel(
    authority: trustme.CA, trust: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the proxy and the server behind it see the client go."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunks(EVENT)
        await exchange.gone.wait()

    async def main() -> None:
        tls = tls_of(authority, "model.example")
        async with (
            serving(answer, tls) as server,
            tunnelling(urlsplit(server.url).port or 0) as proxy,
        ):
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            async with asking("https://model.example") as stream:
                assert await stream.read() == EVENT
                reading = asyncio.ensure_future(stream.read())
                await asyncio.sleep(0)
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                await proxy.gone[0].wait()
                await server.gone[0].wait()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "is_retryable"), [(b"403 Forbidden", False), (b"503 Service Unavailable", True)]
)
def test_a_proxy_that_refuses_is_told_as_the_proxy(
    status: bytes, is_retryable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the endpoint nor its key is to blame, and the proxy's password is not shown."""

    async def main() -> ProviderError:
        async with tunnelling(1, refusal=status) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:pond-secret@"))
            return await refusal_of("https://model.example")

    error = asyncio.run(main())

    assert "the proxy 127.0.0.1:" in str(error)
    assert f"makes no connection to it ({status.decode()})" in str(error)
    assert "pond-secret" not in str(error)
    assert (error.kind, error.retryable) == ("connection", is_retryable)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_told_as_the_proxy(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a server that should be started."""

    async def main() -> ProviderError:
        monkeypatch.setenv("ALL_PROXY", f"http://me:pond-secret@127.0.0.1:{await closed_port()}")
        return await refusal_of(f"{scheme}://model.example")

    told = str(asyncio.run(main()))

    assert "no connection through the proxy 127.0.0.1:" in told
    assert "(connection refused); check HTTP_PROXY and HTTPS_PROXY" in told
    assert "pond-secret" not in told


@pytest.mark.parametrize(
    ("proxy", "told"),
    [
        ("socks5://127.0.0.1:9", "begins with socks5://; name one that begins with http://"),
        ("http://", "is no address; name one"),
        ("http://[::1", "is no address; name one"),
    ],
)
def test_a_proxy_that_we_cannot_use_is_told(
    proxy: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked."""
    monkeypatch.setenv("HTTPS_PROXY", proxy)

    with pytest.raises(ProviderError, match="the proxy that HTTPS_PROXY") as caught:
        proxy_for("https://model.example")

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("no_proxy", "url", "is_proxied"),
    [
        ("", "https://model.example", True),
        ("other.example", "https://model.example", True),
        ("model.example", "https://model.example", False),
        (".example", "https://model.example", False),
        ("model.example:8443", "https://model.example:8443", False),
        ("model.example:8443", "https://model.example", True),
        ("*", "https://model.example", False),
        ("10.0.0.0/8", "https://10.1.2.3", False),
        ("nonsense/8, 10.0.0.0/8", "https://11.1.2.3", True),
        ("10.1.2.3", "https://10.1.2.3:8443", False),
        ("", "https://localhost", False),
        ("", "https://[::1]:8443", False),
    ],
)
def test_which_endpoints_need_no_proxy(
    no_proxy: str, url: str, is_proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_PROXY names hosts, domains, ports and networks; this machine needs no name."""
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)

    assert proxy_for(url) == ("http://proxy.example:3128" if is_proxied else None)


@pytest.mark.parametrize("by", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_an_authority_of_ones_own_is_trusted(
    by: str, authority: trustme.CA, trust: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a server on this machine, which only proxies are kept from."""
    if by == "SSL_CERT_DIR":
        monkeypatch.delenv("SSL_CERT_FILE")
        monkeypatch.setenv("SSL_CERT_DIR", str(_folder_of(trust)))

    async def main() -> None:
        tls = tls_of(authority, "127.0.0.1")
        async with serving(_serve, tls) as server, asking(server.url) as stream:
            assert await read_all(stream) == EVENT + STOP

    asyncio.run(main())


def test_a_certificate_of_nobody_we_know_is_one_sentence(authority: trustme.CA) -> None:
    """What is wrong, and how to trust an authority of one's own; asking again helps nothing."""

    async def main() -> ProviderError:
        async with serving(_serve, tls_of(authority, "127.0.0.1")) as server:
            return await refusal_of(server.url)

    error = asyncio.run(main())

    assert "the server's certificate is not trusted (" in str(error)
    assert str(error).endswith("name the file of its authority in SSL_CERT_FILE")
    assert "_ssl.c" not in str(error)
    assert (error.kind, error.retryable) == ("connection", False)


def test_a_certificate_for_another_host_says_so(authority: trustme.CA, trust: Path) -> None:
    """Then the endpoint is wrong, not the trust."""

    async def main() -> ProviderError:
        async with serving(_serve, tls_of(authority, "other.example")) as server:
            return await refusal_of(server.url)

    told = str(asyncio.run(main()))

    assert "certificate is not valid for '127.0.0.1'" in told
    assert told.endswith("; correct the host in the endpoint")


def test_https_to_a_server_without_it_says_so() -> None:
    """The most usual mistake with a server of one's own."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async def main() -> ProviderError:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
            return await refusal_of(f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}")

    told = str(asyncio.run(main()))

    assert "no secure connection (" in told
    assert told.endswith("check whether the endpoint begins with http:// and not https://")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("SSL_CERT_FILE", None, "there is no such file or folder"),
        ("SSL_CERT_FILE", "no certificate", "it holds no certificates"),
        ("SSL_CERT_DIR", None, "there is no such file or folder"),
    ],
)
def test_certificates_that_cannot_be_read_are_told(
    name: str, content: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable that names them, before anything is asked."""
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(name, str(path))

    with pytest.raises(ProviderError, match=f"that {name} .* cannot be read: {reason}"):
        trusted()
