"""Build both wheels straight from the checkout (`make wheels`).

Not through an sdist: `graphs/` lies beside `runtime/`, where an sdist of the runtime cannot reach.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(folder: Path) -> list[Path]:
    """Build aiflow-runtime and aiflow-studio into `folder`; return the two wheels, in that order.

    The build back end of this environment is used, so nothing is fetched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder)]
    subprocess.run([*pip, str(ROOT / "runtime"), str(ROOT)], check=True)
    return [newest(folder, "aiflow_runtime"), newest(folder, "aiflow_studio")]


def newest(folder: Path, name: str) -> Path:
    """Return the wheel of one distribution that was written last."""
    return max(folder.glob(f"{name}-*.whl"), key=lambda wheel: wheel.stat().st_mtime_ns)


if __name__ == "__main__":
    for built in build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")):
        print(built)
