"""Tests of `aiflow bench compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aiflow.cli import main

GRAPH = "examples/ordered-workers.aiflow.json"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what went to stdout, line by line."""
    return capsys.readouterr().out.splitlines()


def test_a_graph_is_shown_under_every_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    """Four ways, the bounded one first."""
    assert main(["bench", "compare", GRAPH, "--runs", "1"]) == 0

    _, *rows = lines(capsys)
    assert [row.split()[0] for row in rows] == ["aiflow", "aggregate", "callback", "unbounded"]
    assert "/39" in rows[0]


def test_a_sweep_tries_each_value_and_two_sweeps_each_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy member by its symbol, a param by its name; the file says what stdout says."""
    sweeps = ("--sweep", "work.k=1,4", "--sweep", "work.seconds=0.1,0.2")

    code = main(
        ["bench", "compare", GRAPH, "--runs", "1", *sweeps, "--json", "--out", str(tmp_path)]
    )

    printed = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [tuple(row["settings"].values()) for row in printed["rows"]] == [
        *(("1", "0.1"), ("1", "0.2"), ("4", "0.1"), ("4", "0.2"))
    ]
    took = [row["duration_s"] for row in printed["rows"]]
    assert took[1] > 1.8 * took[0] > 3 * took[2]
    assert printed["rows"][0]["bottleneck"] == "work"
    assert json.loads((tmp_path / "compare.json").read_text("utf-8")) == printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--sweep", "work.k"), "--sweep takes node.member=V1,V2"),
        (("--sweep", "work.k=1,,2"), "--sweep takes node.member=V1,V2"),
        (("--sweep", "nobody.k=1"), "there is no node 'nobody'"),
        (("--sweep", "work.k=0"), "cannot be '0'"),
        (("--runs", "0"), "--runs is 0"),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_runs(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one clear line."""
    assert main(["bench", "compare", GRAPH, *arguments]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err


def test_a_way_that_cannot_run_is_told_with_its_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Serialized state beside several workers: the compiler's own words."""
    sweeps = ("--sweep", "work.state=serialized", "--sweep", "work.workers=4")

    assert main(["bench", "compare", GRAPH, *sweeps]) == 1

    told = capsys.readouterr().err
    assert "with work.state=serialized work.workers=4 cannot run" in told
    assert "AF3" in told
