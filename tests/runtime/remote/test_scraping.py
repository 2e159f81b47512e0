"""Metrics over HTTP: pulled by whoever asks at this machine, and nothing else is said."""

from __future__ import annotations

import asyncio
import contextlib
import http.client

import pytest

from aiflow.errors import RemoteError
from aiflow.remote import scraping
from aiflow.remote.scraping import scraped
from tests.runtime.remote.served import serving


def asked(address: str, path: str = "/metrics", method: str = "GET", host: str = "") -> tuple[
    int, str, dict[str, str]
]:  # fmt: skip
    """Ask as Prometheus does; return status, body and headers."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        response = connection.getresponse()
        return response.status, response.read().decode(), dict(response.getheaders())
    finally:
        connection.close()


async def raw(address: str, said: bytes) -> bytes:
    """Say bytes and return all that is answered."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(said)
        writer.write_eof()
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def test_the_numbers_of_now_are_read() -> None:
    """A queue that stands at its bound is seen from outside, in the format that was named."""

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            status, body, headers = await asyncio.to_thread(asked, address)

            assert status == 200
            assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert 'aiflow_node_queue_depth_events{node="k"} 4\n' in body
            assert 'aiflow_node_queue_capacity_events{node="k"} 4\n' in body

    asyncio.run(go())


@pytest.mark.parametrize(
    ("path", "method", "host", "status"),
    [
        ("/", "GET", "", 404),
        ("/metrics?x=1", "GET", "", 200),
        ("/metrics", "POST", "", 405),
        ("/metrics", "HEAD", "localhost:9", 200),
        ("/metrics", "GET", "evil.example:80", 403),
    ],
)
def test_only_metrics_are_told_and_only_under_an_own_name(
    path: str, method: str, host: str, status: int
) -> None:
    """A page that leads a browser here under its own name learns nothing."""

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            found, body, _ = await asyncio.to_thread(asked, address, path, method, host)

            assert found == status
            assert ("aiflow_node" in body) == (status == 200 and method == "GET")

    asyncio.run(go())


@pytest.mark.parametrize(
    "said", [b"", b"GET /metrics HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000]
)
def test_who_asks_nothing_or_too_much_hears_nothing(said: bytes) -> None:
    """And the next one is answered."""

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            assert await raw(address, said) == b""
            assert (await asyncio.to_thread(asked, address))[0] == 200

    asyncio.run(go())


def test_no_more_are_held_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many takes the place of who is there longest; the rest are let go at the end."""
    monkeypatch.setattr(scraping, "MOST_CONNECTIONS", 1)

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            host, _, port = address.rpartition(":")
            reader, idle = await asyncio.open_connection(host, int(port))
            said = await raw(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert said.startswith(b"HTTP/1.1 200 OK")
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        idle.transport.abort()
        with contextlib.suppress(OSError):
            await idle.wait_closed()

    asyncio.run(go())


@pytest.mark.parametrize(
    ("address", "reason"),
    [("0.0.0.0:0", "other machines"), ("here", "is no address"), ("192.0.2.1:1", "other machines")],
)
def test_it_listens_at_this_machine_only_if_nothing_else_is_said(address: str, reason: str) -> None:
    """Refused before anything listens."""

    async def go() -> None:
        async with serving() as it:
            with pytest.raises(RemoteError, match=reason):
                async with scraped(it.session.snapshot, address):
                    pass

    asyncio.run(go())


def test_a_taken_port_is_told() -> None:
    """The sentence names the address."""

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            with pytest.raises(RemoteError, match=f"cannot listen at {address}: another program"):
                async with scraped(it.session.snapshot, address):
                    pass

    asyncio.run(go())


def test_those_who_ask_nothing_keep_nobody_out() -> None:
    """The one that is there longest makes room, so that few are held and the next is answered."""

    async def go() -> None:
        async with serving() as it, scraped(it.session.snapshot, "127.0.0.1:0") as address:
            host, _, port = address.rpartition(":")
            silent = [await asyncio.open_connection(host, int(port)) for _ in range(100)]

            status, _, _ = await asyncio.to_thread(asked, address)

            assert status == 200
            for reader, _ in silent[: -scraping.MOST_CONNECTIONS]:
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
            for _, writer in silent:
                writer.transport.abort()

    asyncio.run(go())
