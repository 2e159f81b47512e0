"""Addresses: `host:port` as a person writes it, and which of them only this machine reaches."""

from __future__ import annotations

import ipaddress
import re

from aiflow.errors import RemoteError, reason_of

LOOPBACK = "127.0.0.1"
_LAST_PORT = 65535
_PORT = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"[\w.:%-]*")
#: Most letters of a wrong address that are shown: fewer than a token has.
_MOST_SHOWN = 15
_ANNOUNCED = "serving at "


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of `host:port`, `[::1]:port`, `:port` or `port`.

    Raises:
        RemoteError: it is none of them.
    """
    host, _, port = text.strip().rpartition(":")
    host = host.strip("[]")
    if not _is_host(host) or not _PORT.fullmatch(port) or int(port) > _LAST_PORT:
        # A token or a password may have been written into it, or in its place.
        what = repr(text) if len(text) <= _MOST_SHOWN else "this"
        raise RemoteError(
            f"{what} is no address; write host:port or port, such as 8080, of 0 to {_LAST_PORT},"
            " and nothing else"
        )
    return host or LOOPBACK, int(port)


def _is_host(text: str) -> bool:
    """Say whether a look-up of the name ends well or in an `OSError`."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return _HOST.fullmatch(text) is not None


def written(host: str, port: int) -> str:
    """Return an address as `address_of` reads it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_of_this_machine(host: str) -> bool:
    """Say whether nobody but this machine can reach what listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening_address(text: str, *, serve_anywhere: bool) -> tuple[str, int]:
    """Return host and port of an address to listen at.

    Args:
        text: as `address_of` takes it.
        serve_anywhere: whether other machines may reach it.

    Raises:
        RemoteError: it is none, or other machines can reach it and should not.
    """
    host, port = address_of(text)
    if not serve_anywhere and not is_of_this_machine(host):
        raise RemoteError(
            f"{host} can be reached from other machines; serve at {LOOPBACK}, or say that it is"
            " meant (serve_anywhere)"
        )
    return host, port


def cannot_listen(host: str, port: int, error: OSError) -> RemoteError:
    """Return the error for an address that the system does not give."""
    return RemoteError(
        f"cannot listen at {written(host, port)}: {reason_of(error)};"
        " choose another port, or 0 for any that is free"
    )


def announcement(address: str) -> str:
    """Return the words in which a program says where it serves."""
    return f"{_ANNOUNCED}{address}"


def announced(line: str) -> str | None:
    """Return the address of a line that announces one, None for any other line."""
    _, found, address = line.partition(_ANNOUNCED)
    return address.split()[0].rstrip(";,") if found and address.strip() else None
