"""Tests of `aiflow.transport.inflate`."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.transport.inflate import PIECE_BYTES, InflateError, Inflater


def raw_deflate(data: bytes) -> bytes:
    """Return deflate without zlib's header, as some servers send it."""
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return engine.compress(data) + engine.flush()


def undone(encoding: str, *pieces: bytes) -> list[bytes]:
    """Return what comes of a body in these pieces."""
    inflater = Inflater(encoding)
    out = []
    for piece in pieces:
        inflater.push(piece)
        while data := inflater.pull():
            out.append(data)
    return out


@given(
    st.binary(max_size=300),
    st.sampled_from(["gzip", "x-gzip", "deflate", "raw", "identity", ""]),
    st.integers(1, 50),
)
def test_a_body_comes_back_at_any_cut(data: bytes, encoding: str, size: int) -> None:
    """However it was compressed and cut."""
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "x-gzip": gzip.compress,
        "deflate": zlib.compress,
        "raw": raw_deflate,
    }
    packed = pack.get(encoding, bytes)(data)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]

    assert b"".join(undone(encoding.replace("raw", "deflate"), *pieces)) == data


def test_a_small_body_that_becomes_huge_comes_in_pieces() -> None:
    """What waits undone is never more than a piece."""
    pieces = undone("gzip", gzip.compress(b"\x00" * 10_000_000))

    assert sum(map(len, pieces)) == 10_000_000
    assert max(map(len, pieces)) <= PIECE_BYTES


def test_what_was_flushed_is_there_at_once() -> None:
    """An event does not wait for the end of the body."""
    engine = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first = engine.compress(b"event 1") + engine.flush(zlib.Z_SYNC_FLUSH)

    assert undone("gzip", first) == [b"event 1"]


def test_several_compressed_bodies_in_a_row_are_one() -> None:
    """As gzip allows it."""
    assert undone("gzip", gzip.compress(b"a") + gzip.compress(b"b")) == [b"a", b"b"]


def test_a_broken_body_and_an_unknown_encoding_are_errors() -> None:
    """Each is told for what it is."""
    with pytest.raises(InflateError):
        undone("gzip", b"plain text, not compressed")
    with pytest.raises(InflateError, match="its encoding is br"):
        Inflater("br")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("kept", [1, 9, 20])
def test_a_body_that_is_cut_off_is_no_whole_body(encoding: str, kept: int) -> None:
    """Its end is missing, also where that is within the header."""
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    inflater = Inflater(encoding)
    inflater.push(pack(bytes(range(256)))[:kept])
    while inflater.pull():
        pass

    with pytest.raises(InflateError, match="it ends in the middle"):
        inflater.finish()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
def test_a_whole_or_an_empty_body_ends_well(encoding: str) -> None:
    """A server may announce an encoding and send nothing."""
    packs: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "identity": bytes,
    }
    pack = packs[encoding]
    for body in (b"", pack(b"text" * 9)):
        inflater = Inflater(encoding)
        inflater.push(body)
        while inflater.pull():
            pass
        inflater.finish()
