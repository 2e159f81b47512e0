"""Operators that do not end when they are told to: the program ends all the same."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

OPERATORS = """
import asyncio
import time

from aiflow.operators.base import NoParams, Operator, Port
from aiflow.types import ANY


class Deaf(Operator[NoParams]):
    name = "deaf"
    inputs = (Port("in", ANY),)

    async def process(self, payload, scope):
        print("begun", flush=True)
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass


class Blocked(Operator[NoParams]):
    name = "blocked"
    inputs = (Port("in", ANY),)
    is_blocking = True

    def process(self, payload, scope):
        print("begun", flush=True)
        time.sleep(3600)
"""


@pytest.mark.parametrize("operator", ["deaf", pytest.param("blocked", marks=pytest.mark.slow)])
def test_an_operator_that_never_ends_does_not_keep_the_program(
    operator: str, aiflow_process, tmp_path: Path
) -> None:
    """After the deadline it ends with 1, one sentence that names the node, and its report."""
    file, graph = tmp_path / "deaf.py", tmp_path / "g.aiflow.json"
    file.write_text(OPERATORS, encoding="utf-8")
    graph.write_text(
        json.dumps(
            {
                "format": "aiflow",
                "version": "1.0",
                "nodes": [
                    {"id": "numbers", "operator": "synthetic", "params": {"count": 3}},
                    {"id": "wall", "operator": operator},
                ],
                "edges": [{"from": "numbers.out", "to": "wall.in"}],
            }
        ),
        encoding="utf-8",
    )
    arguments = ("run", graph, "--operators", file, "--json")
    with aiflow_process(*arguments) as process:
        try:
            assert process.stdout.readline() == b"begun\n"
            process.send_signal(signal.SIGINT)
            while b"draining" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()

    assert process.returncode == 1
    assert b"aiflow: node wall did not end within 5" in err
    assert b"Traceback" not in err
    report = json.loads(out)
    assert report["status"] == "failed"
    assert report["error"].startswith("node wall did not end within 5")
