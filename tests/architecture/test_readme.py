"""What the README prints as a program runs as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_python_example_of_the_readme_runs_as_printed(tmp_path: Path) -> None:
    """And prints what the comment behind it says."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (promised,) = re.findall(r"print\(.*\)  # (.*)", example)

    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == promised.split()
