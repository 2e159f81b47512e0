"""Tests of `aiflow.cli.bench_paper`; measuring itself is tried with the bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aiflow.bench.paper import PaperRow
from aiflow.cli import bench_paper, main

ROW = PaperRow(
    "routing", "aiflow", 2, "completed", 101.0, 210.0, (200.0, 220.0), -0.79, 0.0005,
    8, None, -0.937, None, 12, 3.5,
)  # fmt: skip


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[PaperRow]:
    """Return the rows that a measuring gives; a test may put others in."""
    found = [ROW]

    def rows(runs: int, _catalog: object) -> list[PaperRow]:
        assert runs == 2
        return found

    monkeypatch.setattr(bench_paper, "paper_rows", rows)
    return found


@pytest.mark.usefixtures("measured")
def test_each_row_says_what_was_gained(capsys: pytest.CaptureFixture[str]) -> None:
    """TTFT, TTFPT with its interval, MaxQ, and both against what the paper holds them to."""
    assert main(["bench", "paper", "--runs", "2"]) == 0

    _, line = capsys.readouterr().out.splitlines()
    assert "101.0 ms" in line
    assert "200.0 to 220.0" in line
    assert line.endswith("-79.0% (p = 0.0005), -93.7%")


@pytest.mark.usefixtures("measured")
def test_json_and_file_hold_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object on stdout, the table on stderr."""
    assert main(["bench", "paper", "--runs", "2", "--json", "--out", str(tmp_path)]) == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"][0]["ttfpt_ci_ms"] == [200.0, 220.0]
    assert json.loads((tmp_path / "paper.json").read_text("utf-8")) == printed


def test_a_run_that_failed_fails_the_measuring(
    measured: list[PaperRow], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its workload and strategy are named."""
    measured[0] = PaperRow(
        "routing", "callback", 2, "failed", None, None, None, None, None, 0, None, None, None, 0, 0
    )

    assert main(["bench", "paper", "--runs", "2"]) == 1
    assert "first routing under callback" in capsys.readouterr().err


def test_no_runs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing runs."""
    assert main(["bench", "paper", "--runs", "0"]) == 2
    assert "--runs is 0" in capsys.readouterr().err
