"""Tests of `packaging/run.py`, which `make run` runs."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Load the program, with a small checkout of its own and a temporary folder of its own."""
    spec = importlib.util.spec_from_file_location("aiflow_run", ROOT / "packaging" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    example = tmp_path / "checkout" / module.EXAMPLE
    example.parent.mkdir(parents=True)
    example.write_text(json.dumps({"format": "aiflow"}), encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", tmp_path / "checkout")
    monkeypatch.setattr(module.tempfile, "mkdtemp", lambda prefix: str(tmp_path / prefix))
    (tmp_path / "aiflow-").mkdir()
    return module


def test_with_a_display_the_studio_opens_a_copy(
    run: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a person then changes and saves is not the checkout's example, and is told."""
    program, graph, flag = run.command(None)

    assert Path(program).name == "aiflow-studio"
    assert Path(graph).parent == tmp_path / "aiflow-"
    assert json.loads(Path(graph).read_text(encoding="utf-8")) == {"format": "aiflow"}
    assert flag == "--run"
    assert graph in capsys.readouterr().out


def test_without_a_display_the_terminal_runs_it_and_says_how_to_get_the_window(
    run: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same graph runs headless, after the reason and two ways to see the window."""
    program, *arguments = run.command("There is no display.")

    assert Path(program).name == "aiflow"
    assert arguments == ["run", str(run.ROOT / run.EXAMPLE)]
    said = capsys.readouterr().out
    assert said.startswith("There is no display.\nRunning it in this terminal instead")
    assert "xvfb-run" in said
    assert "--screenshot" in said


def test_a_log_without_a_file_does_not_drown_the_terminal(
    run: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It gets a file of its own, and the place is told; one that has a file keeps it."""
    nodes = [
        {"id": "log", "operator": "jsonl"},
        {"id": "kept", "operator": "jsonl", "params": {"path": "mine.jsonl"}},
        {"id": "screen", "operator": "screen"},
    ]
    (run.ROOT / run.EXAMPLE).write_text(json.dumps({"nodes": nodes}), encoding="utf-8")

    options = run.command("none")[3:]

    assert options == ["--set", f"log.path={tmp_path / 'aiflow-' / 'log.jsonl'}"]
    assert "What log gets goes into " in capsys.readouterr().out


def test_another_graph_can_be_shown(
    run: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make live` names its own, with a display and without."""
    graph = Path("graphs", "live", "one.aiflow.json")
    (run.ROOT / graph).parent.mkdir(parents=True)
    (run.ROOT / graph).write_text("{}", encoding="utf-8")

    assert run.command(None, graph)[1] == str(tmp_path / "aiflow-" / "one.aiflow.json")
    assert run.command("none", graph)[2] == str(run.ROOT / graph)
    assert f"{graph} --run --screenshot" in capsys.readouterr().out


def test_the_programs_are_those_of_the_environment_that_runs_it(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The interpreter of an environment is a link; its programs lie beside the link."""
    bin_folder = tmp_path / "venv" / "bin"
    bin_folder.mkdir(parents=True)
    python = bin_folder / "python"
    python.symlink_to(shutil.which("sh") or "/bin/sh")
    monkeypatch.setattr(run.sys, "executable", str(python))

    assert run.command("none")[0] == str(bin_folder / "aiflow")
