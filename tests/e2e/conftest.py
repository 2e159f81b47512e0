"""The program as a person calls it: in this process, or as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aiflow.cli import main


@dataclass(frozen=True, slots=True)
class Called:
    """How a call of the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds, which must be JSON and nothing else."""
        return json.loads(self.out)


@pytest.fixture
def aiflow(capfd: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Return a function that calls `aiflow` with its arguments, in this process."""

    def call(*arguments: str | Path) -> Called:
        capfd.readouterr()
        code = main([str(each) for each in arguments])
        captured = capfd.readouterr()
        return Called(code, captured.out, captured.err)

    return call


@pytest.fixture
def aiflow_process() -> Callable[..., subprocess.Popen[bytes]]:
    """Return a function that starts `python -m aiflow` with pipes for all three streams."""

    def start(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "aiflow", *map(str, arguments)],
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "env": {**os.environ, "PYTHONWARNINGS": "error"},
                **options,
            },
        )

    return start
