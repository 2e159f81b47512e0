"""No nested event loop anywhere in the studio: it would hang every task of a run."""

from __future__ import annotations

import re
from pathlib import Path

import aiflow_studio

STUDIO = Path(aiflow_studio.__file__).parent

# A call of `exec`, of the static dialogs that spin a loop inside, or of `processEvents`.
NESTED = re.compile(
    r"\.exec_?\("
    r"|QMessageBox\.(information|question|warning|critical|about)\("
    r"|QFileDialog\.get\w+\(|QInputDialog\.get\w+\(|QColorDialog\.getColor\("
    r"|\.processEvents\("
)
# A drag is Qt's own loop on every platform; it runs outside of any task.
ALLOWED = re.compile(r"\bdrag\.exec\(")


def test_nothing_spins_a_loop_inside_a_loop() -> None:
    """Dialogs are `open()` and a future, see `ui.dialogs`."""
    found = [
        f"{path.relative_to(STUDIO)}:{number}: {line.strip()}"
        for path in sorted(STUDIO.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NESTED.search(ALLOWED.sub("", line)) and not line.lstrip().startswith(("#", '"', "`"))
    ]

    assert found == []
