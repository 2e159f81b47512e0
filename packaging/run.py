"""Show a graph running: in the studio, or in the terminal without a display.

`make run` runs this with the interpreter of `.venv` for the slow-speech example, `make live` for
the graph that it names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aiflow_studio.app import guard

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = Path("graphs", "examples", "slow-speech.aiflow.json")

HOW_TO_GET_THE_WINDOW = """\
Running it in this terminal instead; Ctrl+C ends it.
The window needs a desktop, or a virtual one:
  sudo apt-get install xvfb xauth && xvfb-run -s '-screen 0 1600x1000x24' {studio} {graph} --run
A picture of it needs none:
  QT_QPA_PLATFORM=offscreen {studio} {graph} --run --screenshot shot.png --after 6
"""


def copy_of(graph: Path) -> Path:
    """Return a copy that may be changed and saved without touching the checkout."""
    folder = Path(tempfile.mkdtemp(prefix="aiflow-"))
    return Path(shutil.copy(ROOT / graph, folder))


def logs_into_files(graph: Path) -> list[str]:
    """Return the options that lead logs without a file into one: here they would drown the rest."""
    nodes = json.loads((ROOT / graph).read_text(encoding="utf-8")).get("nodes", [])
    logs = [
        node["id"]
        for node in nodes
        if node["operator"] == "jsonl" and not node.get("params", {}).get("path")
    ]
    if not logs:
        return []
    folder = Path(tempfile.mkdtemp(prefix="aiflow-"))
    options = []
    for log in logs:
        file = folder / f"{log}.jsonl"
        print(f"What {log} gets goes into {file}")
        options += ["--set", f"{log}.path={file}"]
    return options


def command(reason: str | None, graph: Path = EXAMPLE) -> list[str]:
    """Return what to start, and say why.

    Args:
        reason: why no window can be opened, None where one can.
        graph: relative to the checkout.
    """
    # Not resolved: the interpreter of a virtual environment is a link to one elsewhere.
    programs = Path(sys.executable).parent
    studio, aiflow = programs / "aiflow-studio", programs / "aiflow"
    if reason is not None:
        shown = os.path.relpath(studio)
        print(reason, HOW_TO_GET_THE_WINDOW.format(studio=shown, graph=graph), sep="\n")
        return [str(aiflow), "run", str(ROOT / graph), *logs_into_files(graph)]
    copy = copy_of(graph)
    print(f"Opening a copy of {graph}: {copy}")
    return [str(studio), str(copy), "--run"]


def main() -> None:
    """Become the program, so that every signal reaches it and its exit code is ours."""
    line = command(guard.probe_display(), Path(*sys.argv[1:2] or EXAMPLE.parts))
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(line[0], line)
    # Windows has no exec that a console waits for.
    sys.exit(subprocess.call(line))


if __name__ == "__main__":
    main()
