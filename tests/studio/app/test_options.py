"""Tests of `aiflow_studio.app.options` and of `main`'s refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aiflow_studio.app import guard
from aiflow_studio.app.main import main
from aiflow_studio.app.options import STRATEGY_NAMES, THEME_NAMES, Options, parse
from aiflow_studio.runbar.panel import STRATEGIES
from aiflow_studio.runs.program import AS_AIFLOW, probe_command
from aiflow_studio.ui.theme import THEMES


def test_the_designed_line_is_understood() -> None:
    """Every flag of the design, at once."""
    line = "graph.json --run --strategy unbounded --theme light --screenshot shot.png --after 6"

    assert parse(line.split()) == Options(
        graph=Path("graph.json"),
        run=True,
        strategy="unbounded",
        theme="light",
        screenshot=Path("shot.png"),
        after=6.0,
    )


def test_files_of_operators_are_kept_in_their_order() -> None:
    """As often as the option is given."""
    options = parse(["graph.json", "--operators", "a.py", "--operators", "b.py"])

    assert options.operators == ("a.py", "b.py")


def test_safe_starts_no_run() -> None:
    """`--safe` wins over `--run`."""
    options = parse(["graph.json", "--run", "--safe"])

    assert (options.safe, options.run) == (True, False)


@pytest.mark.parametrize("line", ["--after -1", "--after nan", "--theme pink", "--strategy best"])
def test_a_bad_value_is_a_usage_error(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a sentence."""
    with pytest.raises(SystemExit) as left:
        parse(line.split())

    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("aiflow-studio: argument --")
    assert said.endswith("; see aiflow-studio --help\n")
    assert said.count("\n") == 1


def test_the_names_are_those_of_their_homes() -> None:
    """The command line offers what there is, though it may not import Qt to ask."""
    assert tuple(THEMES) == THEME_NAMES
    assert tuple(STRATEGIES) == STRATEGY_NAMES


def test_without_a_display_it_says_so_and_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, exit code 1."""
    monkeypatch.setattr(guard, "probe_display", lambda: "There is no display.")

    assert main([]) == 1

    error = capsys.readouterr().err
    assert error.startswith("aiflow-studio: There is no display.")
    assert error.count("\n") == 1


def test_versions_that_abort_are_refused_before_qt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The display is not even asked for."""
    monkeypatch.setattr(guard, "installed_pyside", lambda: "6.12.0")
    monkeypatch.setattr(guard, "check_versions", lambda _python, pyside: f"{pyside} is bad.")
    monkeypatch.setattr(guard, "probe_display", lambda: pytest.fail("asked for the display"))

    assert main([]) == 1
    assert "6.12.0 is bad." in capsys.readouterr().err


def test_ctrl_c_before_the_window_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever thinks better of it while Qt is loading gets an exit code and quiet."""

    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("aiflow_studio.app.start.start", interrupted)

    assert main([]) == 130


def test_ctrl_c_at_any_moment_of_the_start_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most of the start is the reading of modules."""

    def interrupted() -> str | None:
        raise KeyboardInterrupt

    monkeypatch.setattr(guard, "probe_display", interrupted)

    assert main([]) == 130


def test_a_packed_studio_is_aiflow_when_it_starts_itself_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no Python beside it; an installed one takes no such word."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert main([AS_AIFLOW, "explain", "AF304"]) == 0
    assert capsys.readouterr().out.startswith("AF304 (policy")

    monkeypatch.delattr(sys, "frozen")
    with pytest.raises(SystemExit):
        main([AS_AIFLOW, "explain", "AF304"])


def test_a_packed_studio_tries_the_display_in_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it starts itself as is what an installed one hands to Python."""
    tries: list[bool] = []
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(guard, "try_display", lambda: tries.append(True))

    _program, *words = probe_command("nothing")

    assert main(words) == 0
    assert tries == [True]
