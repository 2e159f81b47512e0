"""What can go wrong between us and a server, each as one sentence: what, where, what to do."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from aiflow.errors import ProviderError
from aiflow.transport.excerpt import body_words, shorten
from aiflow.transport.masking import without

_TRANSIENT = frozenset({408, 409, 425, 429})
_PROXY_NAMES = "HTTP_PROXY and HTTPS_PROXY"
# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL.
_OTHER_HOST = frozenset({62, 64})


def nobody_there(where: str, reason: str, via: str = "") -> ProviderError:
    """Return the error of a connection that could not be made.

    Args:
        where: the provider, as a person knows it.
        reason: why.
        via: place of the proxy on the way, "" for none.
    """
    sentence = (
        f"no connection through the proxy {via} ({reason}); check {_PROXY_NAMES} in the"
        " environment, or name the host in NO_PROXY"
        if via
        else f"no connection ({reason}); start the server there or correct the endpoint"
    )
    return ProviderError(f"{where}: {sentence}", kind="connection", retryable=True)


def proxy_refused(where: str, via: str, reason: str) -> ProviderError:
    """Return the error of a proxy that makes no connection for us.

    Args:
        where: the provider, as a person knows it.
        via: place of the proxy.
        reason: its status and words, such as `403 Forbidden`.
    """
    status = reason.partition(" ")[0]
    code = int(status) if status.isdecimal() else None
    return ProviderError(
        f"{where}: the proxy {via} makes no connection to it ({shorten(reason)}); check"
        f" {_PROXY_NAMES} in the environment, and whether the proxy wants a login",
        kind="connection",
        status=code,
        retryable=code is not None and is_transient(code),
    )


def unusable_proxy(endpoint_scheme: str, proxy_scheme: str) -> ProviderError:
    """Return the error of a proxy that the environment names and that we cannot use."""
    name = f"{endpoint_scheme.upper()}_PROXY"
    known = proxy_scheme in ("http", "https")
    reason = "is no address" if known else f"begins with {shorten(proxy_scheme)}://"
    return ProviderError(
        f"the proxy that {name} or ALL_PROXY names {reason}; name one that begins with http:// or"
        " https://, or name the host in NO_PROXY",
        kind="connection",
    )


def unreadable_certificates(file: str, folder: str, reason: str) -> ProviderError:
    """Return the error of certificates that the environment names and that cannot be read."""
    named = [
        f"{name} ({path})"
        for name, path in (("SSL_CERT_FILE", file), ("SSL_CERT_DIR", folder))
        if path
    ]
    return ProviderError(
        f"the certificates that {' and '.join(named)} name cannot be read: {reason}; correct or"
        " unset it",
        kind="connection",
    )


def untrusted(where: str, code: int, reason: str) -> ProviderError:
    """Return the error of a certificate that was not accepted.

    Args:
        where: the provider, as a person knows it.
        code: OpenSSL's number of what is wrong.
        reason: its words.
    """
    advice = (
        "correct the host in the endpoint"
        if code in _OTHER_HOST
        else "if it is your own, name the file of its authority in SSL_CERT_FILE"
    )
    return ProviderError(
        f"{where}: the server's certificate is not trusted ({reason.rstrip('.')}); {advice}",
        kind="connection",
    )


def not_tls(where: str, reason: str) -> ProviderError:
    """Return the error of an answer to https that is none."""
    return ProviderError(
        f"{where}: no secure connection ({reason.lower().replace('_', ' ')}); check whether the"
        " endpoint begins with http:// and not https://",
        kind="connection",
    )


def silent_from_the_start(where: str, limit_s: float) -> ProviderError:
    """Return the error of an answer that did not begin in time."""
    return ProviderError(
        f"{where}: no first byte within {limit_s:g} s; raise first_byte_timeout_s if the server"
        " needs longer to load its model",
        kind="first_byte_timeout",
        retryable=True,
    )


def silent(where: str, limit_s: float) -> ProviderError:
    """Return the error of a stream that stopped in the middle without ending."""
    return ProviderError(
        f"{where}: the stream has been silent for {limit_s:g} s; try again, or raise"
        " idle_timeout_s if the model pauses that long",
        kind="idle_timeout",
        retryable=True,
    )


def too_long(where: str, limit_s: float) -> ProviderError:
    """Return the error of an answer that had not ended when all its time was used up."""
    return ProviderError(
        f"{where}: the answer was not complete after {limit_s:g} s of waiting for it; what came"
        " is kept, try again, or raise total_timeout_s if the model needs longer",
        kind="total_timeout",
        retryable=True,
    )


def broken_off(where: str, reason: str) -> ProviderError:
    """Return the error of a connection lost in mid-stream."""
    return ProviderError(
        f"{where}: the connection broke off in mid-stream ({reason}); what came before it is"
        " kept, try again",
        kind="connection",
        retryable=True,
    )


def unsendable(where: str, credential: str) -> ProviderError:
    """Return the error of a header that HTTP cannot carry; what is in it may be secret."""
    what = f"the key {credential} holds" if credential else "a header of the request holds"
    return ProviderError(
        f"{where}: {what} a letter that no header can carry, such as a line break;"
        " nothing was sent, set it again",
        kind="protocol",
    )


def unanswered(where: str, reason: str) -> ProviderError:
    """Return the error of a connection that was closed before an answer began."""
    return ProviderError(
        f"{where}: the connection was closed without an answer ({reason}); try again, and look"
        " into the server's log if it stays so",
        kind="connection",
        retryable=True,
    )


def not_http(where: str, reason: str) -> ProviderError:
    """Return the error of an answer that is no HTTP."""
    return ProviderError(
        f"{where}: what answers there does not speak HTTP ({shorten(reason)}); correct the"
        " endpoint",
        kind="protocol",
    )


def not_decodable(where: str, reason: str) -> ProviderError:
    """Return the error of a compressed body that is broken."""
    return ProviderError(
        f"{where}: the compressed answer is broken ({reason}); a proxy on the way may be at fault",
        kind="protocol",
        retryable=True,
    )


def not_a_stream(where: str, content_type: str, body: bytes, secret: str) -> ProviderError:
    """Return the error of an answer that is a page or a file."""
    words, _ = body_words(body, secret)
    shown = f" and says: {words}" if words else ""
    return ProviderError(
        f"{where}: the answer is {content_type}, not a stream{shown}; check that the endpoint"
        " is the address of an API",
        kind="protocol",
        detail=words,
    )


def refused(
    where: str, status: int, headers: dict[str, str], body: bytes, credential: str, secret: str
) -> ProviderError:
    """Return the error of a response that is no success.

    Args:
        where: the provider, as a person knows it.
        status: HTTP status, 300 or more.
        headers: names in lower case.
        body: the beginning of it.
        credential: name of the variable that holds the key, "" where none is used.
        secret: the key itself, so that it can be taken out of what is shown.
    """
    words, code = body_words(body, secret)
    retry_after_s = parse_retry_after(headers.get("retry-after"))
    said = f": {words}" if words else ""
    advice = without(_advice(status, headers, retry_after_s, credential), secret)
    return ProviderError(
        f"{where}: the server answered {status}{_phrase(status)}{said}; {advice}",
        kind="status",
        status=status,
        code=code,
        retry_after_s=retry_after_s,
        retryable=is_transient(status),
        detail=words,
    )


def is_transient(status: int) -> bool:
    """Say whether a request that got this status may succeed when it is sent again."""
    return status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, 0 or more.

    Args:
        value: seconds, or an HTTP date; None where there is no such header.

    Returns:
        None where there is none or it makes no sense.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _advice(
    status: int, headers: dict[str, str], retry_after_s: float | None, credential: str
) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        if credential:
            return f"check the key {credential}"
        return "set `credential` to the name of the environment variable that holds the key"
    if status < HTTPStatus.BAD_REQUEST:
        target = headers.get("location", "another address").partition("?")[0]
        return f"it points to {target}: set the endpoint to where that leads"
    if status == HTTPStatus.NOT_FOUND:
        return "check the endpoint and the model's name"
    if is_transient(status):
        wait = "" if retry_after_s is None else f" in {math.ceil(retry_after_s)} s"
        return f"try again{wait or ' later'}"
    return "check the request's model and parameters"
