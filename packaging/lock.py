"""Pin every package, with hashes, for all supported Pythons and platforms, without any address.

`make lock` runs this. It needs nothing installed: uv is fetched into a throw-away environment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = Path("packaging", "requirements.lock")

COMPILE = [
    *("pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate"),
    *("--no-emit-package", "aiflow-runtime"),
    *("pyproject.toml", "runtime/pyproject.toml", "--group", "dev", "-o", str(LOCK)),
]

# The lock must work against any index and hold nothing of the machine that made it.
ADDRESS = re.compile(r"://|file:|--(extra-)?index|--find-links|(^|[\s=@])(/|[A-Za-z]:\\)", re.M)


def addresses_in(text: str) -> list[str]:
    """Return the lines of a lock file that hold an address or an absolute path."""
    return [line for line in text.splitlines() if ADDRESS.search(line)]


def main() -> None:
    """Write the lock anew; packages go to the newest version that pyproject allows."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        # Without the old file uv starts from nothing, so that old pins do not stay for ever.
        (ROOT / LOCK).unlink(missing_ok=True)
        subprocess.run([programs / "uv", *COMPILE], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    found = addresses_in((ROOT / LOCK).read_text(encoding="utf-8"))
    if found:
        sys.exit(f"{LOCK} holds an address: {found[0]}")
    print(f"{LOCK} is new; look at the diff, then run make test")


if __name__ == "__main__":
    main()
