"""Tests of `aiflow.transport.guard`."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import ToolError
from aiflow.transport.guard import AddressGuard, is_public

PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
    *("198.18.0.1", "203.0.113.7", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1"),
    *("fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1"),
    *("2002:a00:1::", "2001:0:7f00:1::", "100::1", "not-an-address", ""),
]
PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_on_the_open_internet_is_private(address: str) -> None:
    """This machine, private and shared networks, metadata, and each of them inside IPv6."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_open_internet_is_public(address: str) -> None:
    """Also one of IPv4 inside IPv6."""
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_each_of_its_ipv6_forms(
    address: ipaddress.IPv4Address,
) -> None:
    """What is private as it is, is private however it is wrapped."""
    number = int(address)

    mapped = str(ipaddress.IPv6Address(0xFFFF << 32 | number))
    translated = str(ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | number))

    assert is_public(mapped) == is_public(translated) == is_public(str(address))


async def fixed(*addresses: str) -> list[str]:
    """Return what a resolver found."""
    return list(addresses)


def test_one_private_address_among_several_closes_a_name() -> None:
    """And the sentence says where the name leads."""
    guard = AddressGuard(resolve=lambda _host, _port: fixed("1.1.1.1", "10.0.0.1"))

    with pytest.raises(ToolError, match=r"10\.0\.0\.1, where inside\.test leads") as caught:
        asyncio.run(guard.addresses("inside.test", 80))

    assert caught.value.kind == "refused"
    assert not caught.value.has_begun


def test_a_private_address_is_let_through_where_it_is_meant() -> None:
    """With `allow_private` all that the name has comes back."""
    guard = AddressGuard(allow_private=True, resolve=lambda _host, _port: fixed("10.0.0.1"))

    assert asyncio.run(guard.addresses("inside.test", 80)) == ["10.0.0.1"]


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1", "0", "localhost"]
)
def test_however_this_machine_is_written_it_is_refused(host: str) -> None:
    """The system's own resolver reads decimal, hexadecimal, octal and short forms."""
    try:
        socket.getaddrinfo(host, 80)
    except OSError:
        pytest.skip(f"this system does not read {host} as an address")

    with pytest.raises(ToolError, match="not on the open internet"):
        asyncio.run(AddressGuard().addresses(host, 80))


def test_a_host_without_address_is_told() -> None:
    """A resolver that finds nothing, or fails."""

    async def failing(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    with pytest.raises(ToolError, match="has no address"):
        asyncio.run(AddressGuard(resolve=lambda _host, _port: fixed()).addresses("a.test", 1))
    with pytest.raises(ToolError, match=r"there is no host a\.test") as caught:
        asyncio.run(AddressGuard(resolve=failing).addresses("a.test", 1))
    assert caught.value.is_transient
