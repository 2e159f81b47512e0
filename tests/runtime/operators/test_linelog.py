"""Tests of `aiflow.operators.linelog`, some of which kill the writer."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.operators import linelog
from aiflow.operators.linelog import LineLog

unix = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9, and no lock")

# Adds numbered lines as fast as it can, each followed by a word to whoever listens.
_WRITER = """
import json, sys
from pathlib import Path
from aiflow.operators.linelog import LineLog
log = LineLog(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
for number in range(int(sys.argv[4]), 10**9):
    record = {"n": number, "by": sys.argv[5], "x": "x" * (number * 37 % 400)}
    log.add(json.dumps(record).encode() + b"\\n")
    print(number, flush=True)
"""


def line(number: int, length: int = 0) -> bytes:
    """Return a line with this number."""
    return json.dumps({"n": number, "x": "x" * length}).encode() + b"\n"


def numbers(log: LineLog) -> list[int]:
    """Return the numbers in all files, the oldest file first; each line must be whole."""
    files = [file for file in [*reversed(log.older()), log.path] if file.exists()]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert not text or text.endswith("\n")
    return [json.loads(each)["n"] for each in text.splitlines()]


@given(
    st.lists(st.integers(min_value=0, max_value=300), max_size=60),
    st.integers(min_value=20, max_value=900),
    st.integers(min_value=0, max_value=4),
)
def test_the_last_lines_are_kept_in_order_and_within_the_limits(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], limit: int, keep: int
) -> None:
    """No line is lost but with an oldest file; a file is too large only for a single line."""
    log = LineLog(tmp_path_factory.mktemp("log") / "log", limit, keep)
    for number, length in enumerate(lengths):
        log.add(line(number, length))

    kept = numbers(log)

    assert kept == list(range(len(lengths) - len(kept), len(lengths)))
    assert bool(kept) == bool(lengths)
    for file in log.path.parent.iterdir():
        assert file == log.path or file in log.older()
        data = file.read_bytes()
        assert len(data) <= limit or data.count(b"\n") == 1


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=1, max_value=99))
def test_wherever_a_line_is_torn_the_next_stands_alone(
    tmp_path_factory: pytest.TempPathFactory, at: int, block: int
) -> None:
    """What was there before is as it was, however long the torn piece is."""
    log = LineLog(tmp_path_factory.mktemp("log") / "log")
    log.add(line(0))
    torn = line(1, 200)[: at + 1]
    log.path.write_bytes(log.path.read_bytes() + torn)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linelog, "_BLOCK", block)
        log.add(line(2))

    assert numbers(log) == [0, 2]


@pytest.mark.parametrize("missing", [[], ["log"], ["log.1"], ["log.2"], ["log", "log.2"]])
def test_a_rotation_that_was_broken_off_is_gone_on_with(tmp_path: Path, missing: list[str]) -> None:
    """Whatever names are free after a kill, none of the other files is lost at once."""
    log = LineLog(tmp_path / "log", 20, 3)
    for number in range(4):
        log.add(line(number))
    for name in missing:
        (tmp_path / name).unlink(missing_ok=True)
    before = numbers(log)

    log.add(line(9))

    # Where a name is free, no file has to go.
    assert numbers(log) == [*(before if missing else before[1:]), 9]


@unix
def test_a_file_that_may_only_be_written_and_one_that_is_none_are_added_to(tmp_path: Path) -> None:
    """Nothing is mended there, and nothing renamed."""
    LineLog(Path("/dev/null"), 10, 1).add(line(0, 100))
    assert not Path("/dev/null.1").exists()

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        LineLog(pipe, 10, 1).add(line(1, 100))
        assert os.read(reader, 4096) == line(1, 100)
    finally:
        os.close(reader)


@unix
@pytest.mark.slow
def test_kill_9_at_any_moment_tears_no_record_and_loses_none(tmp_path: Path) -> None:
    """Twenty writers one after the other, each killed in its work; every third line rotates."""
    log = LineLog(tmp_path / "log", 1_200, 400)
    chance = random.Random(7)
    added = 0
    for _ in range(20):
        wanted = chance.randrange(1, 120)
        command = [sys.executable, "-c", _WRITER, str(log.path), "1200", "400", str(added), "a"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            said = -1
            for _ in range(wanted):
                said = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
        # What it was told of is there; the line at work may be too, and at most it is torn.
        log.add(line(-1))
        found = [number for number in numbers(log) if number >= 0]
        assert found == list(range(len(found)))
        assert len(found) > said
        added = len(found)


@unix
@pytest.mark.slow
def test_two_programs_share_a_log(tmp_path: Path) -> None:
    """Rotation by one does not lose a line of the other."""
    log = LineLog(tmp_path / "log", 1_200, 1_000)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(log.path), "1200", "1000", "0", name],
            stdout=subprocess.PIPE,
        )
        for name in "ab"
    ]
    said = {}
    for name, writer in zip("ab", writers, strict=True):
        assert writer.stdout is not None
        for _ in range(300):
            said[name] = int(writer.stdout.readline())
    for writer in writers:
        writer.kill()
        writer.communicate()
    log.add(line(-1))

    assert numbers(log)
    found: dict[str, list[int]] = {"a": [], "b": []}
    for file in [*log.older(), log.path]:
        for each in file.read_text("utf-8").splitlines() if file.exists() else ():
            record = json.loads(each)
            if record["n"] >= 0:
                found[record["by"]].append(record["n"])
    for name, last in said.items():
        assert sorted(found[name])[: last + 1] == list(range(last + 1))
        assert len(set(found[name])) == len(found[name])
