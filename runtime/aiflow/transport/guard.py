"""Which addresses may be called on a model's behalf, and the one that is really connected to.

A name is looked up once, every address that it has is judged, and the connection is made to one of
those: between the look and the connection nothing can change (DNS rebinding). How an address
is written (decimal, hexadecimal, short) does not matter, because the resolver has read it by then.
A proxy looks names up itself: what is known of a name here is judged all the same, and where it
leads in the end is for whoever runs the proxy. Knows no HTTP: `fetch` and the MCP client ask here.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address

from aiflow.errors import ToolError

#: Turns a host's name and a port into addresses.
Resolver = Callable[[str, int], Awaitable[list[str]]]

# Only from here are addresses of the open internet given out; all else of IPv6 is refused.
_UNICAST = ipaddress.IPv6Network("2000::/3")
# It carries an IPv4 address, which is where the packets go in the end.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# What older versions of Python call global: protocol assignments (among them a cloud's metadata),
# and a cloud's wire server, which has an address of the open internet.
_CLOSED = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("168.63.129.16/32"))

# Names that are of no open network (RFC 6761, 6762 and 8375; ICANN 2024-07-29), as those are that
# have no dot.
_OWN_DOMAINS = (".localhost", ".local", ".internal", ".home.arpa")
#: Seconds for the look at a name that a proxy will look up anyway.
_LOOK_S = 2.0


async def system_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host as this machine knows them, best first.

    Raises:
        OSError: it has none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Say whether an address is on the open internet; what cannot be read is not."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return all(map(_is_open, _readings(parsed)))


class AddressGuard:
    """Says where a connection may go.

    Args:
        allow_private: this machine, private networks and all that is not on the open internet may
            be called too.
        resolve: looks names up.
    """

    def __init__(self, allow_private: bool = False, resolve: Resolver = system_addresses) -> None:
        self._allow_private = allow_private
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses that stand for a host, any of which may be connected to.

        Raises:
            ToolError: there is none, or one of them may not be called. One is enough: a name
                that leads to both a public and a private place is not what it seems.
        """
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(
                f"there is no host {host}; correct the address",
                kind="unreachable",
                is_transient=getattr(error, "errno", None) == socket.EAI_AGAIN,
            ) from error
        if not found:
            raise ToolError(f"the host {host} has no address", kind="unreachable")
        self._refuse_closed(host, found)
        return found

    async def known(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host that a proxy will be asked for, as far as they are known.

        Behind a proxy a machine often knows no names of the internet at all.

        Raises:
            ToolError: one of them may not be called, or the name is of a private network.
        """
        found: list[str] = []
        with contextlib.suppress(OSError, UnicodeError):
            async with asyncio.timeout(_LOOK_S):
                found = await self._resolve(host, port)
        self._refuse_closed(host, found)
        if not found and not self._allow_private and _is_of_own_network(host):
            raise ToolError(
                f"the host {host} is not on the open internet, so no tool may call it;"
                " set allow_private where it is meant",
                kind="refused",
            )
        return found

    def _refuse_closed(self, host: str, found: list[str]) -> None:
        closed = [] if self._allow_private else [each for each in found if not is_public(each)]
        if closed:
            leads = "" if closed[0] == host else f", where {host} leads,"
            raise ToolError(
                f"the address {closed[0]}{leads} is not on the open internet, so no tool may call"
                " it; set allow_private where it is meant",
                kind="refused",
            )


def is_here(addresses: list[str]) -> bool:
    """Say whether addresses are known and all of this machine."""
    with contextlib.suppress(ValueError):
        return bool(addresses) and all(ipaddress.ip_address(a).is_loopback for a in addresses)
    return False


def _is_of_own_network(host: str) -> bool:
    name = host.rstrip(".").lower()
    return "." not in name or name.endswith(_OWN_DOMAINS)


def _readings(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return an address and the IPv4 addresses that stand inside it."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        # It is that address and nothing else.
        return [address.ipv4_mapped]
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address, *filter(None, [address.sixtofour, *(address.teredo or ())])]


def _is_open(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        return address in _UNICAST and address.is_global
    if any(address in network for network in _CLOSED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
