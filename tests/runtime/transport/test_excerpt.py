"""Tests of `aiflow.transport.excerpt`."""

from __future__ import annotations

import pytest

from aiflow.transport.excerpt import (
    SHOWN_CHARS,
    body_words,
    page_text,
    place_of,
    redact,
    shorten,
)
from aiflow.transport.masking import REDACTED


def test_what_is_shown_is_one_short_line() -> None:
    """Line ends and runs of blanks become one blank; a long text is cut."""
    assert shorten(" a\r\n\tb  c ") == "a b c"
    assert len(shorten("x" * 1000)) == 200
    assert shorten("x" * 1000).endswith("…")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<html><title lang=en> 502\nBad </title>", "502 Bad"),
        ("<p>Not <b>here</b></p><script>var a;</script><style>p{}</style>", "Not here"),
        ("<html></html>", "no text"),
    ],
)
def test_a_page_is_told_by_its_title_or_its_text(page: str, text: str) -> None:
    """Tags, scripts and styles say nothing to a person."""
    assert page_text(page) == text


@pytest.mark.parametrize(
    "text",
    [
        "key sk-abcdef0123456789 is wrong",
        "key sk-ab****6789 is wrong",
        "key gsk_abcdefgh12 is wrong",
        "Bearer abc.def-ghi",
        "the key s3cr3t!",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    """Whole, with stars, as a header, and the very key that was sent."""
    shown = redact(text, secret="s3cr3t!")

    assert REDACTED in shown
    assert not {"abcdef", "6789", "abc.def", "s3cr3t"} & {part for part in shown.split()}


@pytest.mark.parametrize(
    ("body", "words", "code"),
    [
        (b'{"error":{"message":"m","code":"c"}}', "m", "c"),
        (b'{"error":{"message":"m","type":"t"}}', "m", "t"),
        (b'{"error":"text"}', "text", None),
        (b'{"detail":"d"}', "d", None),
        (b'{"message":"m","code":7}', "m", "7"),
        (b'{"error":{"message":"half \\ud83e"}}', "half ?", None),
        (b'{"x":1}', '{"x":1}', None),
        (b"[1]", "[1]", None),
        (b"<h1>No</h1>", "No", None),
        (b"busy\n", "busy", None),
        (b"", "", None),
        (b"\xff\xfe", "\ufffd\ufffd", None),
    ],
)
def test_the_words_of_a_body_in_any_shape(body: bytes, words: str, code: str | None) -> None:
    """JSON of several shapes, a page, text, nothing and nonsense."""
    assert body_words(body) == (words, code)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://user:pw@h:8080/v1?key=k", "h:8080"),
        ("https://model.example/v1", "model.example:443"),
        ("http://[::1]/", "[::1]:80"),
    ],
)
def test_a_place_is_host_and_port_only(url: str, place: str) -> None:
    """Passwords and queries are not shown."""
    assert place_of(url) == place


def test_no_part_of_a_key_is_left_where_the_text_is_cut() -> None:
    """A key that straddles the cut is taken out whole."""
    secret = "A1b2C3d4" * 8
    for lead in range(SHOWN_CHARS - len(secret), SHOWN_CHARS):
        for before in ("x", "<p>x"):
            words, _ = body_words((before * lead + secret).encode(), secret)
            assert secret[:8] not in words
