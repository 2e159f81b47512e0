"""Tests of `aiflow.transport.trace`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import TraceError
from aiflow.transport.trace import FIRST_BYTES, MAX_PIECE_BYTES, Trace, TracePiece, TraceWriter

HEADER = '{"aiflow-trace": 1, "dialect": "ollama"}\n'
END = '2.0\t{"end": "closed"}\n'


def trace_of(folder: Path, text: str | bytes) -> Trace:
    """Write a file and open it as a trace."""
    path = folder / "t.trace"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Trace.open(path)


@given(
    st.lists(st.tuples(st.integers(0, 3_000_000), st.binary(min_size=1, max_size=12)), max_size=8)
)
def test_any_bytes_come_back_with_their_times(written: list[tuple[int, bytes]]) -> None:
    """Text, halves of characters, line ends and zeros: what was written is read."""
    pieces = [TracePiece(micros / 1e6, data) for micros, data in sorted(written)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.trace"
        with TraceWriter(path, "openai-chat", "text/event-stream") as writer:
            for piece in pieces:
                writer.write(*piece)
        trace = Trace.open(path)

        assert list(trace.pieces()) == pieces
        assert trace.check() == "closed"
        assert path.read_bytes().startswith(FIRST_BYTES)
        assert (trace.dialect, trace.content_type) == ("openai-chat", "text/event-stream")


def test_a_text_piece_is_readable_in_the_file(tmp_path: Path) -> None:
    """A person can read and compare it."""
    path = tmp_path / "t.trace"
    with TraceWriter(path, "ollama") as writer:
        writer.write(0.25, "Grüße\n".encode())
        writer.write(0.5, b"\xff")

    assert path.read_text("utf-8").splitlines()[1:] == [
        '0.250000\t"Grüße\\n"',
        '0.500000\t{"base64": "/w=="}',
        '0.500000\t{"end": "closed"}',
    ]


def test_a_long_piece_is_written_as_several(tmp_path: Path) -> None:
    """A line has a bound, however much one read brought."""
    path = tmp_path / "t.trace"
    data = b"\x00" * (MAX_PIECE_BYTES + 10)
    with TraceWriter(path, "ollama") as writer:
        writer.write(0.0, data)

    pieces = list(Trace.open(path).pieces())

    assert [len(piece.data) for piece in pieces] == [MAX_PIECE_BYTES, 10]
    assert b"".join(piece.data for piece in pieces) == data


def test_a_stream_that_broke_is_recorded_as_broken(tmp_path: Path) -> None:
    """An error inside the block is the stream's end, and the file is whole."""
    path = tmp_path / "t.trace"

    def record() -> None:
        with TraceWriter(path, "ollama") as writer:
            writer.write(0.1, b"a")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        record()

    assert Trace.open(path).check() == "broken"


def test_the_file_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    """A torn line is told when it is reached; what stands before it has been given."""
    trace = trace_of(tmp_path, HEADER + '0.1\t"a"\n0.2\t"b"\n0.3\t"c')
    pieces = trace.pieces()

    assert [next(pieces).data, next(pieces).data] == [b"a", b"b"]
    with pytest.raises(TraceError, match=r"t\.trace: line 4: the file was cut off here"):
        next(pieces)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: the file was cut off here"),
        ("{}\n", "line 1: this is no trace"),
        ("[1]\n", "line 1: this is no trace"),
        ("data: x\n", "line 1: it is not JSON"),
        ('{"aiflow-trace": "one"}\n', "line 1: the version is 'one'"),
        ('{"aiflow-trace": 9, "dialect": "x"}\n', "version 9, and this program reads up to 1"),
        ('{"aiflow-trace": 1}\n', "line 1: it does not say its dialect"),
        (b"\xff\xfe\n", "line 1: it is not JSON"),
    ],
)
def test_what_is_no_trace_does_not_open(tmp_path: Path, text: str | bytes, reason: str) -> None:
    """The first line says what the file is, or the error does."""
    with pytest.raises(TraceError, match=reason):
        trace_of(tmp_path, text)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "line 2: the file was cut off here"),
        ('soon\t"a"\n', "line 2: it does not begin with seconds and a tab"),
        ('0.1 "a"\n', "line 2: it does not begin with seconds and a tab"),
        ('-1\t"a"\n', "line 2: it does not begin with seconds and a tab"),
        ('nan\t"a"\n', "line 2: it does not begin with seconds and a tab"),
        ('0.5\t"a"\n0.4\t"b"\n', r"line 3: its time 0\.4 is before 0\.5"),
        ("0.1\ta\n", "line 2: it is not JSON"),
        ("0.1\t7\n", "line 2: it holds neither text, nor base64, nor an end"),
        ('0.1\t{"base64": "!"}\n', "line 2: its base64 is broken"),
        ('0.1\t"\\ud83e"\n', "line 2: its text has half a character"),
        ('0.1\t{"end": "somehow"}\n', "line 2: no stream ends by 'somehow'"),
        (END + "more\n", "line 3: there is more after the end"),
        ("0.1\t" + "x" * 3_000_000, "line 2: it is longer than"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, lines: str, reason: str) -> None:
    """Each kind of damage: what is wrong, and in which line."""
    trace = trace_of(tmp_path, HEADER + lines)

    with pytest.raises(TraceError, match=reason):
        trace.check()


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """No such file, or a folder."""
    for path in (tmp_path / "none.trace", tmp_path):
        with pytest.raises(TraceError, match="it cannot be read"):
            Trace.open(path)
