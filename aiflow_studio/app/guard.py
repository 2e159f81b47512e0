"""What must hold before Qt is imported or started: versions that work together, and a display.

No Qt at module level, on purpose: a bad pair of versions aborts the interpreter once Qt runs,
and without a display Qt ends the process with an abort that no `except` sees.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata

from aiflow_studio.runs.program import probe_command

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)
OLDEST_PYSIDE = (6, 8)
# From this version on, PySide6 drops a reference to None in every overridden virtual function;
# CPython 3.11 counts those and aborts, 3.12 and later never free None.
PYSIDE_BAD_ON_311 = (6, 12)

# Platforms of Qt that need no screen.
SCREENLESS = frozenset({"offscreen", "minimal", "vnc"})

# Long enough for a cold start from a slow disk; a display that answers takes a fifth of a second.
PROBE_TIMEOUT_S = 30.0

_PROBE = "from aiflow_studio.app.guard import try_display; try_display()"


def check_versions(python: tuple[int, int], pyside: str) -> str | None:
    """Say what is wrong with this pair of versions.

    Args:
        python: major and minor, `sys.version_info[:2]`.
        pyside: version of PySide6-Essentials, empty where it is not installed.

    Returns:
        One sentence with what to do, or None where the studio may start.
    """
    have = f"{python[0]}.{python[1]}"
    if not OLDEST_PYTHON <= python <= NEWEST_PYTHON:
        return (
            f"AiFlow Studio needs Python 3.11, 3.12 or 3.13, and this is {have};"
            " make the environment anew with one of them."
        )
    if not pyside:
        return (
            "AiFlow Studio needs PySide6-Essentials: pip install 'PySide6-Essentials>=6.8,<6.12'."
        )
    version = _numbers(pyside)
    if version < OLDEST_PYSIDE:
        return (
            f"AiFlow Studio needs PySide6 6.8 or newer, and this is {pyside}:"
            " pip install 'PySide6-Essentials>=6.8,<6.12'."
        )
    if version >= PYSIDE_BAD_ON_311 and python == (3, 11):
        return (
            f"PySide6 {pyside} aborts on Python 3.11 after some minutes:"
            " pip install 'PySide6-Essentials>=6.8,<6.12', or use Python 3.12 or 3.13."
        )
    return None


def installed_pyside() -> str:
    """Return the version of PySide6-Essentials, empty where it is not installed; imports no Qt."""
    try:
        return metadata.version("PySide6-Essentials")
    except metadata.PackageNotFoundError:
        return ""


def probe_display(environ: Mapping[str, str] | None = None) -> str | None:
    """Say why Qt cannot open a window here, by letting a child process try.

    Args:
        environ: the environment to try in; this process's own by default.

    Returns:
        One sentence, or None where a window can be opened or none is asked for.
    """
    environ = os.environ if environ is None else environ
    platform = environ.get("QT_QPA_PLATFORM", "")
    if platform.split(":")[0] in SCREENLESS:
        return None
    if sys.platform.startswith("linux") and not platform:
        if not environ.get("DISPLAY") and not environ.get("WAYLAND_DISPLAY"):
            return "There is no display: neither DISPLAY nor WAYLAND_DISPLAY is set."
    return _try_in_a_child(environ)


def try_display() -> None:
    """Start Qt, which ends the process without a word of Python's where it has no display."""
    from PySide6.QtGui import QGuiApplication  # noqa: PLC0415 - only in the child

    QGuiApplication([])


def _try_in_a_child(environ: Mapping[str, str]) -> str | None:
    try:
        child = subprocess.run(
            probe_command(_PROBE),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"The display did not answer within {PROBE_TIMEOUT_S:.0f} s."
    if child.returncode == 0:
        return None
    lines = child.stderr.strip().splitlines()
    return f"Qt could not open the display: {lines[0] if lines else f'exit {child.returncode}'}"


def _numbers(version: str) -> tuple[int, int]:
    """Return major and minor of a version; what is no number counts as 0."""
    parts = [int(part) if part.isdigit() else 0 for part in version.split(".")[:2]]
    return parts[0], parts[1] if len(parts) > 1 else 0
