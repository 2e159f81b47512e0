"""What an error may show of a body: one short line, without keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiflow.transport.masking import REDACTED, without

SHOWN_CHARS = 200

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
# Servers quote the key that they refuse, whole or with stars in it.
_KEY = re.compile(r"(?i)\bbearer\s+\S+|\b(?:sk|pk|rk|gsk|xai|hf|api|key|token)[-_][\w*.-]{6,}")
_MESSAGES = ("message", "detail", "error_description", "msg", "error")


def shorten(text: str) -> str:
    """Return text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def page_text(page: str) -> str:
    """Return what a page of HTML says, in one short line: its title, else its text."""
    title = _TITLE.search(page)
    return shorten(title[1] if title else _TAG.sub(" ", page)) or "no text"


def redact(text: str, secret: str = "") -> str:
    """Return text with the secret, and all that looks like a key, taken out."""
    return _KEY.sub(REDACTED, without(text, secret))


def body_words(body: bytes, secret: str = "") -> tuple[str, str | None]:
    """Return what the body of an error response says, and its error code.

    Args:
        body: its beginning; JSON, HTML, plain text or nothing.
        secret: the key that was sent, which must not be shown.

    Returns:
        The provider's words, short and redacted, "" where it said nothing; and its code.
    """
    text = body.decode("utf-8", "replace").strip()
    report = _json(text)
    if report is not None:
        inner = report.get("error")
        report = inner if isinstance(inner, Mapping) else report
        words = next(
            (report[name] for name in _MESSAGES if isinstance(report.get(name), str)), text
        )
        code = report.get("code") or report.get("type")
        said = shorten(redact(_whole(words), secret))
        return said, None if code is None else without(_whole(str(code)), secret)
    # First the keys: one that is cut in the middle would not be known any more.
    text = redact(text, secret)
    return page_text(text) if text.startswith("<") else shorten(text), None


def place_of(url: str) -> str:
    """Return `host:port` of an address, without what may be secret in it."""
    parts = urlsplit(url)
    default = 443 if parts.scheme == "https" else 80
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or default}"


def _json(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


def _whole(text: str) -> str:
    """Return text that can be encoded: JSON may hold half a character."""
    return text.encode("utf-8", "replace").decode()
