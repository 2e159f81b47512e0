"""The way to an endpoint: whether a proxy is on it, and whose certificates are trusted.

The environment says both, by the names that other programs read too: HTTP_PROXY, HTTPS_PROXY,
ALL_PROXY and NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR. This machine itself is never asked through a
proxy, whatever they say. A proxy's address may hold a password, so only its place is ever shown.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from aiflow.errors import reason_of
from aiflow.transport import failures

# With this, one read brings about 64 KiB at most, whatever the loop would take. Much less, and
# a reader that pauses finds TCP waiting for its 200 ms probe.
RECEIVE_BUFFER_BYTES = 48 * 1024
# As many streams as a graph opens: how many that are is the graph's business.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=8)
_PROXY_SCHEMES = ("http", "https")


def is_loopback(url: str) -> bool:
    """Say whether an address is on this machine."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy that the environment names for an endpoint, or None.

    Raises:
        ProviderError: it is none that we can use; the sentence has no name of a provider.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or is_loopback(url) or _is_exempt(url, proxies.get("no", "")):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    scheme = proxy.partition("://")[0].lower()
    try:
        is_right = scheme in _PROXY_SCHEMES and bool(httpx.URL(proxy).host)
    except httpx.InvalidURL:
        is_right = False
    if not is_right:
        raise failures.unusable_proxy(parts.scheme, scheme)
    return proxy


def transport_for(url: str, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """Return what makes connections to an endpoint; its sockets hold little for us.

    Args:
        url: the endpoint.
        proxy: address of the proxy on the way, None for none.

    Raises:
        ProviderError: the certificates that the environment names cannot be read.
    """
    verify = trusted() if has_tls(url, proxy) else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    option = (socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    return httpx.AsyncHTTPTransport(
        verify=verify,
        trust_env=False,
        limits=_LIMITS,
        proxy=through(proxy, verify),
        socket_options=[option],
    )


def has_tls(url: str, proxy: str | None) -> bool:
    """Say whether there is a certificate to verify on the way; to read whose count takes time."""
    return "https" in (urlsplit(url).scheme, urlsplit(proxy or "").scheme)


def through(proxy: str | None, verify: ssl.SSLContext) -> httpx.Proxy | None:
    """Return a proxy as a connection is told of it, None for none.

    Args:
        proxy: its address, as `proxy_for` returns it.
        verify: whose certificates are trusted, where it has one itself.
    """
    if proxy is None:
        return None
    return httpx.Proxy(proxy, ssl_context=verify if proxy.startswith("https:") else None)


def trusted() -> ssl.SSLContext:
    """Return whose certificates are trusted: those that the environment names, else the usual.

    Raises:
        ProviderError: what the environment names cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        return httpx.create_ssl_context(trust_env=False)
    try:
        if folder:
            # One that is not there would silently trust nobody.
            os.listdir(folder)
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        no_text = isinstance(error, ssl.SSLError) or not error.strerror
        reason = "it holds no certificates" if no_text else reason_of(error)
        raise failures.unreadable_certificates(file or "", folder or "", reason) from error


def _is_exempt(url: str, no_proxy: str) -> bool:
    """Say whether NO_PROXY names the host of an address, its domain or its network."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if proxy_bypass(parts.netloc.rpartition("@")[2]) or proxy_bypass(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(_holds(entry.strip(), address) for entry in no_proxy.split(","))


def _holds(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Say whether an entry is a network, such as 10.0.0.0/8, that an address is in."""
    try:
        return "/" in entry and address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
