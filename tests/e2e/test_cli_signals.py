"""SIGTERM at a real child process: it drains in its time, or is cut off, and says which."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

OPERATORS = """
import sys
import time

from aiflow.operators.base import NoParams, Operator, Port
from aiflow.types import ANY


class Brisk(Operator[NoParams]):
    name = "brisk"
    inputs = (Port("in", ANY),)
    seconds = 0.02

    async def process(self, payload, scope):
        print("begun", file=sys.stderr, flush=True)
        await scope.sleep(self.seconds)


class Endless(Brisk):
    name = "endless"
    seconds = 3600.0


class Wall(Operator[NoParams]):
    name = "wall"
    inputs = (Port("in", ANY),)

    def process(self, payload, scope):
        print("begun", file=sys.stderr, flush=True)
        time.sleep(3600)
"""

Start = Callable[..., subprocess.Popen[bytes]]


def ended(start: Start, folder: Path, operator: str, grace: float, signals: int) -> tuple[int, str]:
    """Return exit code and stderr of a run that gets SIGTERM in its middle; stdout is kept."""
    operators, graph = folder / "operators.py", folder / "g.aiflow.json"
    operators.write_text(OPERATORS, encoding="utf-8")
    nodes = [
        {"id": "numbers", "operator": "synthetic", "params": {"count": 100_000, "rate": 100}},
        {"id": "end", "operator": operator},
    ]
    edges = [{"from": "numbers.out", "to": "end.in"}]
    head = {"format": "aiflow", "version": "1.0"}
    graph.write_text(json.dumps({**head, "nodes": nodes, "edges": edges}), encoding="utf-8")
    arguments = ("run", graph, "--operators", operators, "--json", "--grace", str(grace))
    with (folder / "out.json").open("wb") as out, start(*arguments, stdout=out) as process:
        assert process.stderr is not None
        try:
            told = _read_until(process.stderr, b"begun")
            process.send_signal(signal.SIGTERM)
            if signals > 1:
                told += _read_until(process.stderr, b"draining")
                process.send_signal(signal.SIGTERM)
            told += process.communicate(timeout=60)[1]
        finally:
            process.kill()
    return process.returncode, told.decode()


def _read_until(stream: object, word: bytes) -> bytes:
    told = b""
    while word not in told:
        line: bytes = stream.readline()  # type: ignore[attr-defined]
        assert line, told
        told += line
    return told


@pytest.mark.parametrize(
    ("operator", "grace", "signals", "code", "status"),
    [
        ("brisk", 60.0, 1, 0, "completed"),
        ("endless", 0.2, 1, 130, "cancelled"),
        ("endless", 600.0, 2, 130, "cancelled"),
    ],
    ids=["drained", "cut off by its deadline", "cut off by a second one"],
)
def test_the_exit_code_says_whether_all_came_out(
    operator: str,
    grace: float,
    signals: int,
    code: int,
    status: str,
    tmp_path: Path,
    aiflow_process: Start,
) -> None:
    """0 where it did; 130, as for an interrupt, where the rest was cancelled."""
    ended_with, told = ended(aiflow_process, tmp_path, operator, grace, signals)

    report = json.loads((tmp_path / "out.json").read_text())
    assert (ended_with, report["status"]) == (code, status), told
    assert "Traceback" not in told
    cut_off = sum(node["cancelled"] for node in report["nodes"].values())
    assert (cut_off == 0) is (code == 0)
    for node in report["nodes"].values():
        assert node["received"] == node["processed"] + node["cancelled"]


@pytest.mark.slow
def test_sigterm_ends_a_process_whose_loop_is_blocked(
    tmp_path: Path, aiflow_process: Start
) -> None:
    """Nothing of the loop runs any more; a thread beside it says why and leaves."""
    ended_with, told = ended(aiflow_process, tmp_path, "wall", 0.1, 1)

    assert ended_with == 130
    assert "an operator blocks the event loop" in told
    assert "node end has blocked the event loop" in told
