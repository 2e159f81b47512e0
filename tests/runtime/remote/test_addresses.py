"""Addresses: what is one, and that a secret in what is none is not repeated."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import RemoteError
from aiflow.remote.addresses import address_of, listening_address

SECRET = "a-token-that-is-long-enough"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8080", "127.0.0.1", 8080),
        (":8080", "127.0.0.1", 8080),
        ("localhost:0", "localhost", 0),
        (" 192.0.2.1:65535 ", "192.0.2.1", 65535),
        ("[::1]:80", "::1", 80),
        ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
        ("a-host_name.example.:80", "a-host_name.example.", 80),
    ],
)
def test_an_address_is_read_as_it_is_written(text: str, host: str, port: int) -> None:
    """A port alone is one of this machine."""
    assert address_of(text) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET}@127.0.0.1:4711",
        f"http://127.0.0.1:4711/?token={SECRET}",
        f"127.0.0.1:4711?token={SECRET}",
        f"http://me:{SECRET}@127.0.0.1:4711",
        SECRET,
    ],
)
def test_a_secret_in_what_is_no_address_is_not_repeated(text: str) -> None:
    """It would end in a log; neither who looks nor who listens shows it."""
    for read in (address_of, lambda text: listening_address(text, serve_anywhere=True)):
        with pytest.raises(RemoteError) as caught:
            read(text)
        assert str(caught.value).startswith("this is no address; write host:port")


@given(st.text(max_size=90).map(lambda host: f"{host}:80") | st.text(max_size=20))
def test_a_text_is_an_address_that_can_be_looked_up_or_is_refused(text: str) -> None:
    """Whatever it is, nobody has to expect another error than these two."""
    try:
        host, port = address_of(text)
        socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST)
    except (RemoteError, OSError):
        pass
