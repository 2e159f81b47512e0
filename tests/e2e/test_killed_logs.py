"""Logs of a real run that is killed: every record whole, none twice, none between two missing."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aiflow import Flow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
]

LIMIT = 20_000
KEPT = 3


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Return a graph that logs as fast as it can."""
    flow = Flow("logs", max_conversations=1)
    source = flow.synthetic("source", count=1_000_000, rate=0)
    source >> flow.jsonl("lines", path="log.jsonl", rotate_bytes=LIMIT, keep_files=KEPT)
    source >> flow.sqlite_log("rows", path="log.sqlite", max_records=500)
    path = tmp_path / "logs.aiflow.json"
    path.write_text(flow.to_json(), encoding="utf-8")
    return path


def files(folder: Path) -> list[Path]:
    """Return the files of the log that there are, the oldest first."""
    names = [*(f"log.jsonl.{number}" for number in range(KEPT, 0, -1)), "log.jsonl"]
    return [folder / name for name in names if (folder / name).exists()]


def wait_for(path: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file is there and has grown, while a run goes on."""
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size >= size:
                return
        os.sched_yield()
    raise AssertionError(f"the run has ended before {path.name} had {size} bytes")


def is_run_of_numbers(numbers: list[int]) -> bool:
    """Say whether each number is one more than that before it."""
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_run_leaves_whole_records(
    graph: Path, aiflow_process: Callable[..., Any], seed: int
) -> None:
    """Killed while files become older ones; the next run goes on behind what is there."""
    chance = random.Random(seed)
    folder = graph.parent
    process = aiflow_process("run", graph, "--json")
    wait_for(folder / "log.jsonl.2", 1, process)
    wait_for(folder / "log.jsonl", chance.randrange(LIMIT // 2), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    lines = [line for file in files(folder) for line in file.read_bytes().splitlines(True)]
    # Only the very last could be torn, and would lack its newline.
    whole = lines if lines[-1].endswith(b"\n") else lines[:-1]
    assert is_run_of_numbers([json.loads(line)["sequence"] for line in whole])
    assert all(file.stat().st_size <= LIMIT for file in files(folder))
    with closing(sqlite3.connect(folder / "log.sqlite")) as database:
        found = database.execute("SELECT sequence FROM events ORDER BY id").fetchall()
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert 0 < len(found) <= 500
    assert is_run_of_numbers([sequence for (sequence,) in found])

    again = aiflow_process("run", graph, "--set", "source.count=3", "--json")
    assert json.loads(again.communicate()[0])["status"] == "completed"
    tail = (folder / "log.jsonl").read_bytes().splitlines()[-3:]
    assert [json.loads(line)["sequence"] for line in tail] == [0, 1, 2]
