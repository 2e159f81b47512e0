"""Tests of `aiflow.providers.framing`."""

from __future__ import annotations

import pytest

from aiflow.providers.framing import DetectedFraming


@pytest.mark.parametrize(
    ("body", "is_sse", "is_page"),
    [
        (b"data: x\n\n", True, False),
        (b": ping\n\n", True, False),
        (b"\n\n event: x", True, False),
        (b'  {"a":1}', False, False),
        (b'[{"a":1}]', False, False),
        (b"\xef\xbb\xbf<!doctype html>", False, True),
        (b"Internal error", True, False),
    ],
)
def test_the_first_byte_decides(body: bytes, is_sse: bool, is_page: bool) -> None:
    """White space and a byte-order mark are skipped, then one byte says what it is."""
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        framing = DetectedFraming()
        for piece in pieces:
            framing.push(piece)

        assert (framing.is_sse, framing.is_page) == (is_sse, is_page)


def test_part_of_a_byte_order_mark_is_held() -> None:
    """Two of its three bytes decide nothing, and are counted."""
    framing = DetectedFraming()

    framing.push(b"\xef\xbb")

    assert framing.pull() is None
    assert framing.buffered_bytes == 2
    assert framing.close(clean=True) == []


def test_a_page_is_swallowed_but_for_its_beginning() -> None:
    """A page of any length takes no memory."""
    framing = DetectedFraming()
    for _ in range(100):
        framing.push(b"<p>" + b"x" * 1000)

    assert framing.buffered_bytes == 0
    assert framing.pull() is None
    assert len(framing.excerpt) == 2048
