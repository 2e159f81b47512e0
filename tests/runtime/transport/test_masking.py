"""Tests of `aiflow.transport.masking`."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.transport.masking import SecretMask, forms_of, is_key, without

KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=24)


def masked(secret: str, data: bytes, cuts: list[int]) -> bytes:
    """Return data as it leaves the mask, cut at these places."""
    mask = SecretMask(secret)
    ends = [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    out, at = b"", 0
    for end in ends:
        out += mask.add(data[at:end])
        at = end
    return out + mask.end()


@given(
    secret=KEYS,
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    cuts=st.lists(st.integers(0, 200), max_size=6),
)
def test_a_key_is_covered_in_any_form_at_any_cut(
    secret: str, before: bytes, after: bytes, cuts: list[int]
) -> None:
    """Plain, escaped, quoted and in base 64, also as a part of what was encoded."""
    around = base64.b64encode(before + secret.encode() + after)
    for form in (
        secret.encode(),
        json.dumps(secret)[1:-1].encode(),
        quote(secret, safe="").encode(),
        base64.b64encode(secret.encode()),
    ):
        out = masked(secret, before + form + after, cuts)
        assert len(out) == len(before + form + after)
        assert secret.encode() not in out
        assert form not in out
    # What was encoded with its neighbours cannot be read back.
    left = masked(secret, around, cuts).replace(b"*", b"A")
    assert secret.encode() not in base64.b64decode(left)


@given(secret=KEYS, data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_what_holds_no_key_leaves_as_it_came(secret: str, data: bytes, cuts: list[int]) -> None:
    """Whatever its end looks like."""
    if not any(form.encode() in data for form in forms_of(secret)):
        assert masked(secret, data, cuts) == data
    assert masked("", data, cuts) == data


def test_a_piece_that_ends_a_line_leaves_at_once() -> None:
    """No key holds a line end, so an event is never kept for what follows it."""
    mask = SecretMask("sk-0123456789")

    assert mask.add(b"data: s\n\n") == b"data: s\n\n"
    assert mask.add(b"data: s") == b"data: "
    assert mask.add(b"k-01\n") == b"sk-01\n"
    assert mask.end() == b""


@pytest.mark.parametrize(
    ("secret", "is_one"),
    [
        ("sk-0123456789", True),
        ("correct-horse-battery", True),
        ("ollama", False),
        ("not-needed", False),
        ("placeholder", False),
        ("", False),
        ("abc123", False),
    ],
)
def test_a_word_in_place_of_a_key_is_none(secret: str, is_one: bool) -> None:
    """An answer may hold it, and stars there would be a lie."""
    assert is_key(secret) == is_one


def test_text_has_a_mark_in_place_of_the_key() -> None:
    """For sentences that people read."""
    key = "a/key+0123456789"

    assert without(f"bad {key} and {quote(key, safe='')}", key) == "bad [redacted] and [redacted]"
    assert without("nothing", "") == "nothing"
