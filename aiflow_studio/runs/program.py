"""How this program starts others: `aiflow`, and the probe of the display.

Where the studio is installed, it asks the Python that it runs on. A studio that was packed into
one program, as PyInstaller does, has no Python to ask: there it starts itself, with a first
argument that says what it is to be. No Qt here.
"""

from __future__ import annotations

import sys

#: First argument of a packed studio that is to be `aiflow`, and of one that is to try the display.
AS_AIFLOW = "--as-aiflow"
AS_PROBE = "--as-probe"


def is_packed() -> bool:
    """Say whether this program is one file, or one folder, with its Python inside."""
    return bool(getattr(sys, "frozen", False))


def aiflow_command() -> list[str]:
    """Return the words that start `aiflow`; its own arguments follow."""
    return [sys.executable, AS_AIFLOW] if is_packed() else [sys.executable, "-m", "aiflow"]


def probe_command(code: str) -> list[str]:
    """Return the words that run a piece of code in a process of its own.

    Args:
        code: what a packed program knows by itself, see `aiflow_studio.app.main`.
    """
    return [sys.executable, AS_PROBE] if is_packed() else [sys.executable, "-c", code]
