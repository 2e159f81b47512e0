"""An editor completes operators, params and ports, because a type checker knows them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_mypy_knows_every_name_of_the_dsl() -> None:
    """What is right passes mypy strict; each misspelling in the file is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "tests/typing/flow_types.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
