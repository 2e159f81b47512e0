"""Tests of `aiflow.speech.wavfile`."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.speech.faults import SpeechFault
from aiflow.speech.wavfile import WavFile

RATE = 8_000


def sound(path: Path) -> bytes:
    """Return the samples of a file that any program can read."""
    with wave.open(str(path)) as reader:
        assert reader.getparams()[:3] == (1, 2, RATE)
        return reader.readframes(reader.getnframes())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a file may be made."""
    return tmp_path / "said.wav"


def test_it_is_whole_after_each_addition_and_before_the_first(path: Path) -> None:
    """Nobody need close it."""
    file = WavFile(path, "said.wav", RATE)
    assert sound(path) == b""
    for said in (b"\1\2" * 3, b"\3\4"):
        file.add(said)
        assert sound(path).endswith(said)
    file.close()

    assert sound(path) == b"\1\2\1\2\1\2\3\4"


def test_a_later_run_adds_to_it(path: Path) -> None:
    """What was said stays."""
    for said in (b"\1\2", b"\3\4"):
        file = WavFile(path, "said.wav", RATE)
        file.add(said)
        file.close()

    assert sound(path) == b"\1\2\3\4"


@given(st.integers(min_value=0, max_value=12), st.lists(st.binary(min_size=2, max_size=2)))
def test_a_kill_between_sound_and_header_costs_that_sound_only(
    tmp_path_factory: pytest.TempPathFactory, torn: int, said: list[bytes]
) -> None:
    """The next run goes on behind what the header counts."""
    path = tmp_path_factory.mktemp("wav") / "said.wav"
    file = WavFile(path, "said.wav", RATE)
    file.add(b"\1\2")
    file.close()
    with path.open("ab") as tail:
        tail.write(b"\7" * torn)

    assert sound(path) == b"\1\2"
    file = WavFile(path, "said.wav", RATE)
    for each in said:
        file.add(each)
    file.close()
    assert sound(path) == b"\1\2" + b"".join(said)


def test_a_file_that_lost_its_end_is_taken_up_where_it_ends(path: Path) -> None:
    """As after a loss of power."""
    file = WavFile(path, "said.wav", RATE)
    file.add(b"\1\2" * 10)
    file.close()
    os.truncate(path, 44 + 5)

    file = WavFile(path, "said.wav", RATE)
    file.add(b"\3\4")
    file.close()

    assert sound(path) == b"\1\2\1\2\3\4"


@pytest.mark.parametrize("content", [b"dear diary", b"x" * 100, b"RIFF"])
def test_another_file_is_left_as_it_is(path: Path, content: bytes) -> None:
    """And so is sound of another rate."""
    path.write_bytes(content)
    with pytest.raises(SpeechFault, match=r"the file said\.wav holds something else than sound"):
        WavFile(path, "said.wav", RATE)
    assert path.read_bytes() == content

    path.unlink()
    WavFile(path, "said.wav", RATE).close()
    with pytest.raises(SpeechFault, match=r"one channel, 22,050 Hz\); name another one"):
        WavFile(path, "said.wav", 22_050)


def test_a_folder_that_is_gone_and_a_full_file_are_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a clause."""
    with pytest.raises(SpeechFault, match=r"cannot be opened \(there is no such file"):
        WavFile(path / "deep.wav", "deep.wav", RATE)

    file = WavFile(path, "said.wav", RATE)
    monkeypatch.setattr("aiflow.speech.wavfile._MOST_BYTES", 3)
    file.add(b"\1\2")
    with pytest.raises(SpeechFault, match="is full: a WAV file takes 4 GiB"):
        file.add(b"\3\4")
    file.close()
    assert sound(path) == b"\1\2"


def test_a_full_disk_leaves_what_was_there(path: Path) -> None:
    """The part that fitted is not counted."""
    file = WavFile(path, "said.wav", RATE)
    file.add(b"\1\2")
    file._file = Full(path, file._file)

    with pytest.raises(SpeechFault, match=r"cannot be written \(the disk is full\); make room"):
        file.add(b"\3\4" * 4)
    file.close()

    assert path.stat().st_size == 44 + 2 + 3
    assert sound(path) == b"\1\2"


class Full(io.FileIO):
    """A file that takes three bytes more."""

    def __init__(self, path: Path, was: io.FileIO) -> None:
        was.close()
        super().__init__(path, "r+")
        self._left = 3

    def write(self, data: object) -> int:
        if not self._left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = bytes(memoryview(data)[: self._left])  # type: ignore[arg-type]
        self._left = 0
        return super().write(part)


@pytest.mark.skipif(sys.platform == "win32", reason="two runs are not kept apart there")
def test_two_runs_do_not_write_one_file(path: Path) -> None:
    """The second says so."""
    first = WavFile(path, "said.wav", RATE)
    with pytest.raises(SpeechFault, match="is being written by another voice"):
        WavFile(path, "said.wav", RATE)
    first.close()

    WavFile(path, "said.wav", RATE).close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("blocks", [1, 7, 50, 400])
def test_kill_9_in_the_middle_leaves_a_whole_file(path: Path, blocks: int) -> None:
    """A real process that writes as fast as it can, killed after so many blocks."""
    program = (
        "import sys; from pathlib import Path; from aiflow.speech.wavfile import WavFile\n"
        "file = WavFile(Path(sys.argv[1]), 'said.wav', 8000)\n"
        "while True:\n file.add(bytes(range(1, 201)) * 3); print(flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        for _ in range(blocks):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)

    said = sound(path)
    assert len(said) >= blocks * 600
    assert said == bytes(range(1, 201)) * (len(said) // 200)
    WavFile(path, "said.wav", RATE).close()
