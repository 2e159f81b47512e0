"""Tests of `aiflow.cli.linefile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.cli.exits import UsageError
from aiflow.cli.linefile import LineFile
from aiflow.engine.eventlog import header_line

HEADER = header_line("graph", "aiflow", 0, is_virtual=True)


@pytest.mark.parametrize("old", ['{"format": "aiflow"}\n', '{"aiflow-trace": 1}\n', "notes", "{"])
def test_a_file_that_is_no_run_is_never_replaced(tmp_path: Path, old: str) -> None:
    """A graph, a trace, a text: a slip of the hand must not cost it."""
    path = tmp_path / "old"
    path.write_text(old, encoding="utf-8")

    with pytest.raises(UsageError, match="old is not replaced: it exists and holds something else"):
        LineFile(str(path))

    assert path.read_text(encoding="utf-8") == old


@pytest.mark.parametrize("old", ["", HEADER + "\n" + "{}\n" * 9, HEADER[:40]])
def test_the_file_of_an_earlier_run_is_replaced(tmp_path: Path, old: str) -> None:
    """So is an empty one, and one that broke off."""
    path = tmp_path / "run.jsonl"
    path.write_text(old, encoding="utf-8")

    file = LineFile(str(path))
    file.write(HEADER)
    file.close()

    assert path.read_text(encoding="utf-8") == HEADER + "\n"
