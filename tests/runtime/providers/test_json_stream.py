"""Tests of `aiflow.providers.json_stream`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.providers.frames import Frame
from aiflow.providers.json_stream import JsonFraming

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)


def frames_of(*pieces: bytes, clean: bool = True) -> list[Frame]:
    """Return the frames of a body that comes in these pieces."""
    framing = JsonFraming()
    frames = []
    for piece in pieces:
        framing.push(piece)
        while (frame := framing.pull()) is not None:
            frames.append(frame)
    return frames + framing.close(clean=clean)


@settings(max_examples=60)
@given(
    st.lists(OBJECTS, max_size=4),
    st.sampled_from(["lines", "indented", "array", "indented array"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_objects_come_out_as_they_went_in(
    objects: list[dict[str, Any]], form: str, is_ascii: bool, size: int
) -> None:
    """Lines, one after another, or an array, in pieces of any size: the same objects."""
    indent = 2 if "indented" in form else None
    texts = [json.dumps(each, indent=indent, ensure_ascii=is_ascii) for each in objects]
    joined = "\n".join(texts) if "array" not in form else "[" + ",\n".join(texts) + "]"
    body = joined.encode("utf-8", "surrogatepass")

    frames = frames_of(*[body[at : at + size] for at in range(0, len(body), size)])

    assert [frame.kind for frame in frames] == ["data"] * len(objects)
    assert [json.loads(frame.text) for frame in frames] == objects


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_torn_line_costs_only_itself(size: int) -> None:
    """A line cut inside or outside a string is malformed; the next one is read."""
    body = b'{"a":"x\n{"b":1}\n{"c":\n{"d":2}\nnot json\n{"e":3}'

    frames = frames_of(*[body[at : at + size] for at in range(0, len(body), size)])

    assert [frame.kind for frame in frames] == [
        *("malformed", "data", "malformed", "data", "malformed", "data"),
    ]
    assert [frame.text for frame in frames][1::2] == ['{"b":1}', '{"d":2}', '{"e":3}']


def test_an_object_is_there_with_its_closing_brace() -> None:
    """No line end is waited for."""
    framing = JsonFraming()
    framing.push(b'{"a": "\\"}"}')

    assert framing.pull() == Frame("data", '{"a": "\\"}"}')


def test_half_an_object_is_told_only_after_a_clean_end() -> None:
    """After a reset it is no server's mistake."""
    assert frames_of(b'{"a":', clean=True) == [Frame("malformed", '{"a":')]
    assert frames_of(b'{"a":', clean=False) == []


def test_an_object_longer_than_the_bound_ends_the_stream() -> None:
    """It is told once and nothing is kept."""
    framing = JsonFraming(max_frame_bytes=50)
    framing.push(b'{"a":"' + b"x" * 60)

    frame = framing.pull()

    assert frame is not None
    assert frame.kind == "too-long"
    assert framing.buffered_bytes == 0
    assert framing.pull() is None


def test_bytes_are_searched_once() -> None:
    """A long frame in many pieces costs linear time: what was searched is not searched again."""
    framing = JsonFraming()
    body = b'{"a":"' + b"x\\n" * 500
    for at in range(0, len(body), 50):
        framing.push(body[at : at + 50])
        framing.pull()

        assert framing._searched >= framing.buffered_bytes - 1
