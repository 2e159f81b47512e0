"""`aiflow-studio`: check that a window can be opened, then open it.

Qt is imported only after the checks: a bad pair of versions aborts the interpreter, and so does
Qt itself without a display.

Exit codes: 0 closed, 1 it cannot start here, 2 usage or a file that cannot be opened,
130 interrupted before the window was there.

A studio that was packed into one program is also what it starts, see `runs.program`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aiflow_studio.app import guard
from aiflow_studio.app.options import parse
from aiflow_studio.runs.program import AS_AIFLOW, AS_PROBE, is_packed

CANNOT_START = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studio until its window is closed; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if is_packed() and words[:1] in ([AS_AIFLOW], [AS_PROBE]):
            return _as_another(*words)
        return _open(words)
    except KeyboardInterrupt:
        return INTERRUPTED


def _as_another(what: str, *words: str) -> int:
    """Be what the packed studio has started itself as."""
    if what == AS_PROBE:
        guard.try_display()
        return 0
    from aiflow.cli import main as aiflow  # noqa: PLC0415 - the studio itself has no use for it

    return aiflow(words)


def _open(words: Sequence[str]) -> int:
    options = parse(words)
    fault = guard.check_versions(sys.version_info[:2], guard.installed_pyside())
    way = "To run a graph without a window: aiflow run GRAPH"
    if fault is None:
        fault = guard.probe_display()
        if options.screenshot is not None:
            way = "To take a picture without one, set QT_QPA_PLATFORM=offscreen"
    if fault is not None:
        complain(f"{fault.rstrip('.')}. {way}")
        return CANNOT_START

    from aiflow_studio.app.start import start  # noqa: PLC0415 - Qt, only after the checks

    return start(options)


def complain(sentence: str) -> None:
    """Print a sentence to stderr; a program started without a console has none."""
    if sys.stderr is not None:
        sys.stderr.write(f"aiflow-studio: {sentence}\n")


if __name__ == "__main__":
    sys.exit(main())
