"""Tests of `aiflow.providers.sse`."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.providers.frames import Frame
from aiflow.providers.sse import SseFraming


def frames_of(*pieces: bytes, clean: bool = True) -> list[Frame]:
    """Return the frames of a body that comes in these pieces."""
    framing = SseFraming()
    frames = []
    for piece in pieces:
        framing.push(piece)
        while (frame := framing.pull()) is not None:
            frames.append(frame)
    return frames + framing.close(clean=clean)


@given(
    st.lists(
        st.sampled_from(
            [b"data: a", b"data:", b": c", b"event: e", b"id: 1", b"x: y", b"", b"\xc3"]
        ),
        max_size=12,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 80), max_size=4),
)
def test_a_cut_changes_nothing(lines: list[bytes], eol: bytes, cuts: list[int]) -> None:
    """However the bytes are cut, the frames are the same."""
    body = eol.join(lines) + eol
    places = [0, *sorted(cuts), len(body)]
    pieces = [body[a:b] for a, b in pairwise(places)]

    assert frames_of(*pieces) == frames_of(body)


def test_an_event_needs_a_data_field() -> None:
    """A block of other fields dispatches nothing, and its event name is forgotten."""
    assert frames_of(b"event: a\nid: 3\n\ndata: x\n\n") == [Frame("data", "x", "")]


def test_a_comment_is_told_at_once() -> None:
    """A sign of life does not wait for a blank line."""
    framing = SseFraming()
    framing.push(b": busy\n")

    assert framing.pull() == Frame("comment", "busy")


def test_the_last_event_is_left_out_after_a_reset() -> None:
    """What a broken connection leaves may be half an event."""
    assert frames_of(b"data: x", clean=True) == [Frame("data", "x")]
    assert frames_of(b"data: x\n", clean=False) == []


def test_a_frame_waits_until_it_is_pulled() -> None:
    """Bytes behind the pulled frame are still counted as unread."""
    framing = SseFraming()
    framing.push(b"data: 1\n\ndata: 2\n\n")

    framing.pull()

    assert framing.buffered_bytes == len(b"data: 2\n\n")


@pytest.mark.parametrize(
    "body", [b"data: " + b"x" * 99, b"data: xxxxxxxx\n" * 9, b"{" + b"\n y: z" * 20]
)
def test_what_is_longer_than_the_bound_ends_the_stream(body: bytes) -> None:
    """A line, an event and a bare object are bounded; nothing is kept of them."""
    framing = SseFraming(max_frame_bytes=60)
    framing.push(body)

    frame = framing.pull()
    framing.push(b"data: more\n\n")

    assert frame is not None
    assert frame.kind == "too-long"
    assert "60 bytes" in frame.text
    assert framing.pull() is None
    assert framing.buffered_bytes == 0


def test_bytes_are_searched_once() -> None:
    """A long frame in many pieces costs linear time: what was searched is not searched again."""
    framing = SseFraming()
    body = b"data: " + b"x" * 500
    for at in range(0, len(body), 50):
        framing.push(body[at : at + 50])
        framing.pull()

        assert framing._searched >= framing.buffered_bytes - 1
