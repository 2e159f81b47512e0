"""Tests of `aiflow.cli.bench`; measuring itself is tried with the engine's bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiflow.bench.engine import Row
from aiflow.bench.figures import Figure
from aiflow.bench.peers import PeerRow
from aiflow.cli import bench, main

ROW = Row("sync, inline, one output per input", "asyncio", 8, 4, 1, 1, 2.5, 9.0, 3.6, 0, 0, 3.0)
FIGURE = Figure("gap of the loop", "asyncio", 17.25, "ms", "≤ 16", False)
RESULT = {"rows": [ROW.to_dict()], "figures": [FIGURE.to_dict()]}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Return the rows that a measuring gives; a test may put others in."""
    found = [ROW]

    def rows(runs: int, *, full: bool) -> Iterator[Row]:
        assert (runs, full) == (2, False)
        yield from found

    monkeypatch.setattr(bench, "rows", rows)
    monkeypatch.setattr(bench, "figures", lambda runs, *, full: iter([FIGURE]))
    return found


def test_each_row_is_shown_as_a_line(
    measured: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    """Case, loop, q, hops, k, both times, the ratio, and the one that is wanted."""
    assert main(["bench", "engine", "--runs", "2"]) == 0

    head, line, between, figure = capsys.readouterr().out.splitlines()
    assert head.split()[:8] == ["case", "loop", "q", "hops", "k", "µs/event", "by", "hand"]
    assert head.split()[8:] == ["ratio", "wanted"]
    assert line.split()[-9:] == ["asyncio", "8", "4", "1", "2.50", "9.00", "3.60×", "≥", "3.00×"]
    assert between == ""
    assert figure.split()[-7:] == ["asyncio", "17.25", "ms", "≤", "16", "not", "met"]


def test_json_and_file_hold_the_same_rows(
    measured: list[Row], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder is made, stdout is one object, and the lines go to stderr."""
    folder = tmp_path / "results"

    code = main(["bench", "engine", "--runs", "2", "--json", "--out", str(folder)])

    captured = capsys.readouterr()
    assert code == 0
    assert json.loads(captured.out) == RESULT
    assert json.loads((folder / "engine.json").read_text("utf-8")) == RESULT
    assert "3.60×" in captured.err


def test_a_lost_event_fails_the_measuring(
    measured: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    """A fast engine that loses events is no engine."""
    measured[0] = Row("suspending", "uvloop", 1, 4, 1, 1, 2.5, 9.0, 3.6, 0, 3)

    assert main(["bench", "engine", "--runs", "2"]) == 1

    captured = capsys.readouterr()
    assert "3 lost" in captured.out
    assert "suspending at q = 1 on uvloop" in captured.err


def test_a_peer_that_is_missing_is_a_line_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails nothing; the others have their figures, on the terminal and in the file."""
    rows = [
        PeerRow("AiFlow", "", 8, 9.5, 1.0, 9, 0, 0),
        PeerRow("Another", "", None, reason="not installed; pip install it"),
    ]
    monkeypatch.setattr(bench, "peer_rows", lambda runs: iter(rows))

    assert main(["bench", "engine", "--peers", "--out", str(tmp_path)]) == 0

    _, ours, other = capsys.readouterr().out.splitlines()
    assert ours.split() == ["AiFlow", "8", "9.50", "1.00×", "9"]
    assert other.split(maxsplit=2) == ["Another", "–", "n/a: not installed; pip install it"]
    written = json.loads((tmp_path / "peers.json").read_text("utf-8"))
    assert written["peers"] == [row.to_dict() for row in rows]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--runs", "0"), "--runs is 0; it must be 1 to 1000"),
        (("--out", "/dev/null/x"), "/dev/null/x cannot be written"),
    ],
)
def test_wrong_use_is_told_before_minutes_are_spent(
    options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is measured for a result that nobody gets."""
    assert main(["bench", "engine", *options]) == 2
    assert reason in capsys.readouterr().err
