"""The README's graphs, commands, links and figures are those of this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiflow.graph.shipped import graphs_dir

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUNTIME = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
DEMO = graphs_dir() / "examples" / "slow-speech.aiflow.json"


def section(title: str) -> str:
    """Return what stands below one heading."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("text", re.findall(r"```json\n(.*?)```", README, re.DOTALL))
def test_every_graph_in_it_can_be_run(
    aiflow: Callable[..., Any], tmp_path: Path, text: str
) -> None:
    """Whoever copies one gets no error of the compiler; hints may name what is missing here."""
    file = tmp_path / "copied.aiflow.json"
    file.write_text(text, encoding="utf-8")

    checked = aiflow("check", file)

    assert checked.code == 0, checked.out
    assert "warning" not in checked.out


def test_the_first_graph_does_what_is_said_of_it(
    aiflow: Callable[..., Any], tmp_path: Path
) -> None:
    """Its bound, who was slow, and what five workers are worth."""
    file = tmp_path / "first.aiflow.json"
    found = re.search(r"```json\n(.*?)```", section("A first graph"), re.DOTALL)
    assert found is not None
    file.write_text(found[1], encoding="utf-8")

    assert "valid, at most 22 events in flight" in aiflow("check", file).out
    slow = aiflow("run", file, "--clock", "virtual").err
    quick = aiflow("run", file, "--clock", "virtual", "--policy", "slow.k=5").err
    assert "completed in 5.0 s" in slow
    assert "slow was the slow consumer" in slow
    assert "ticker waited for it" in slow
    assert "completed in 1.1 s" in quick


def test_what_it_names_is_there(aiflow: Callable[..., Any]) -> None:
    """Links lead to files, examples are shipped, commands exist."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", section("Examples"), re.MULTILINE)
    examples = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row)]
    commands = set(re.findall(r"^(?:aiflow|\.venv/bin/aiflow) ([a-z]+)", README, re.MULTILINE))

    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(examples) >= 4
    assert [each for each in examples if not (DEMO.parent / f"{each}.aiflow.json").exists()] == []
    assert commands
    assert [each for each in commands if f"\n    {each} " not in aiflow("--help").out] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "options"),
    [
        *((f"`{name}`", ("--strategy", name)) for name in ("aiflow", "unbounded", "aggregate")),
        ("`callback`", ("--strategy", "callback")),
        ("`aiflow`, dropping", ("--policy", "speech.overflow=drop_oldest")),
    ],
)
def test_the_figures_of_the_strategies_are_those_of_a_run(
    aiflow: Callable[..., Any], row: str, options: tuple[str, ...]
) -> None:
    """The table was measured by the command above it, and still would be."""
    line = next(each for each in README.splitlines() if each.startswith(f"| {row} | "))
    held, first, said = (cell.strip() for cell in line.strip("|").split("|")[2:])

    report = aiflow("run", DEMO, "--clock", "virtual", "--json", *options).json

    assert held.split(",")[0] == str(report["max_in_flight"])
    assert first == f"{report['ttfpt_ms'] / 1000:.1f} s"
    assert said.split(" s")[0] == f"{report['duration_s']:.1f}"
    if drops := sum(report["nodes"]["speech"]["dropped"].values()):
        assert f"{drops} of {report['nodes']['speech']['received']} chunks" in said


RUNTIME = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")


def test_the_operator_of_the_runtimes_readme_passes_its_own_tests(tmp_path: Path) -> None:
    """Class and test as they are printed, in a project of their own."""
    files = {
        name: text
        for name, text in re.findall(r"```python\n# ([\w/]+\.py)\n(.*?)```", RUNTIME, re.DOTALL)
        if name in ("my_package/echo.py", "test_echo.py")
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert len(files) == 2
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
