"""Masking: a key that a server sends back is covered before anybody sees it.

Servers quote the key that they refuse, in errors and in headers, plain or encoded on the way. What
a stream brings is covered where it enters the process, so that neither an event, a file, a trace
nor an error text can hold it.
"""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

REDACTED = "[redacted]"
# Servers of one's own take any word as a key, such as `none` or `ollama`, and so do people. A word
# that an answer may well hold is not covered there.
_SHORTEST_KEY = 8
_SURELY_A_KEY = 16
_STAR = b"*"


def is_key(secret: str) -> bool:
    """Say whether a text is long and odd enough to be a key, and not a word that stands for one."""
    has_digit = any(letter.isdigit() for letter in secret)
    return len(secret) >= (_SHORTEST_KEY if has_digit else _SURELY_A_KEY)


def without(text: str, secret: str) -> str:
    """Return text with a key, in whatever form, taken out."""
    for form in forms_of(secret):
        text = text.replace(form, REDACTED)
    return text


def forms_of(secret: str) -> tuple[str, ...]:
    """Return a key as it may be written, longest first: plain, escaped, quoted and in base 64.

    In base 64 a key looks different by what stands before it, so there are three, each without the
    letters at its ends that depend on its neighbours.

    Returns:
        () for no key.
    """
    data = secret.encode()
    forms = {secret, json.dumps(secret)[1:-1], secret.replace("/", "\\/"), quote(secret, safe="")}
    if len(secret) >= _SHORTEST_KEY:
        for code in (base64.b64encode, base64.urlsafe_b64encode):
            for before in range(3):
                text = code(b"\0" * before + data).decode().rstrip("=")
                # 0, 2 or 3 letters hold bits of what is before, and the last ones of what follows.
                start = (0, 2, 3)[before]
                end = (before + len(data)) // 3 * 4
                forms.add(text[start:end])
    # The same order in each process, whatever it makes of the hash of a text.
    return tuple(sorted(forms - {""}, key=lambda form: (-len(form), form)))


class SecretMask:
    """Puts stars in the place of a key, in any of its forms and wherever the bytes are cut.

    Invariant: `_kept` is the longest end of what came that may be the beginning of a form.

    Args:
        secret: the key, "" for none.
    """

    def __init__(self, secret: str) -> None:
        self._forms = [form.encode() for form in forms_of(secret)]
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if secret else None
        self._letters = frozenset(b"".join(self._forms))
        self._kept = b""

    def add(self, data: bytes) -> bytes:
        """Return what may leave; it may be b""."""
        if self._pattern is None or not data:
            return data
        data = self._pattern.sub(_stars, self._kept + data)
        kept = self._beginning(data)
        self._kept = data[len(data) - kept :]
        return data[: len(data) - kept]

    def end(self) -> bytes:
        """Return what was kept back."""
        kept, self._kept = self._kept, b""
        return kept

    def _beginning(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a form."""
        # Almost every piece ends with a line, and no key holds a line end.
        if not data or data[-1] not in self._letters:
            return 0
        return max(_overlap(data, form) for form in self._forms)


def _stars(found: re.Match[bytes]) -> bytes:
    return _STAR * len(found[0])


def _overlap(data: bytes, form: bytes) -> int:
    """Return the longest end of `data` that is a beginning of `form` and not all of it."""
    lengths = range(min(len(data), len(form) - 1), 0, -1)
    return next((n for n in lengths if data.endswith(form[:n])), 0)
