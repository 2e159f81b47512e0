"""Tests of `aiflow.operators.local` and of what `runtime/README.md` says about own operators."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aiflow.cli import main
from aiflow.dsl.flow import Flow
from aiflow.errors import PluginError
from aiflow.operators.local import with_file
from aiflow.operators.registry import Catalog

CATALOG = Catalog.of()
README = (Path(__file__).parents[3] / "runtime" / "README.md").read_text(encoding="utf-8")
PASS = """
from typing import Any
from aiflow import operator
@operator
def {name}(payload: Any) -> Any:
    return payload
"""
TWICE = PASS.format(name="b").replace("@operator", "@operator(name='a')")


def printed(name: str) -> str:
    """Return the block of the README that begins with a comment of that name."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (block,) = (each for each in blocks if each.startswith(f"# {name}\n"))
    return str(block)


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    """Write a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_files_operators_are_known_beside_the_others(tmp_path: Path) -> None:
    """The catalog that was there is unchanged."""
    catalog = with_file(CATALOG, write(tmp_path, PASS.format(name="pass_on")))

    assert list(catalog.operators) == ["pass-on"]
    assert CATALOG.get("pass-on") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "no public operator"),
        ("def f(:", r"SyntaxError: .* \(line 1\)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("raise RuntimeError('no')", "RuntimeError: no"),
        (PASS.format(name="a") + TWICE, "the name a is taken"),
        (PASS.format(name="Bad_"), "its name is 'Bad-'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_a_sentence(
    tmp_path: Path, text: str, says: str
) -> None:
    """With its name."""
    with pytest.raises(PluginError, match=says) as caught:
        with_file(CATALOG, write(tmp_path, text))

    assert "mine.py" in str(caught.value)


def test_a_file_that_is_not_there_or_no_python_is_told_too(tmp_path: Path) -> None:
    """Before anything is run."""
    with pytest.raises(PluginError, match="no such file"):
        with_file(CATALOG, tmp_path / "gone.py")
    with pytest.raises(PluginError, match="it is no file"):
        with_file(CATALOG, tmp_path)
    with pytest.raises(PluginError, match="no Python file"):
        with_file(CATALOG, write(tmp_path, "", "mine.txt"))


def test_the_first_operator_of_the_readme_runs_with_one_option(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In under ten lines."""
    text = printed("shout.py")
    file = write(tmp_path, text, "shout.py")
    flow = Flow("Loud", max_conversations=1)
    source = flow.synthetic("s", count=2, text="a{n} ")
    source >> flow.add("shout", "loud") >> flow.screen("screen")
    flow.save(graph := tmp_path / "loud.aiflow.json")

    codes = [
        main([command, str(graph), "--operators", str(file), *more])
        for command, *more in (
            ("check",),
            ("run", "--clock", "virtual"),
            ("convert", "--to", "svg"),
        )
    ]
    listed = main(["operators", "--operators", str(file)])

    out = capfd.readouterr().out
    assert (codes, listed) == ([0, 0, 0], 0)
    assert "A1 !A2 !" in out
    assert "Says everything louder." in out
    assert len([line for line in text.splitlines() if line.strip()]) <= 8
    assert main(["check", str(graph)]) == 1


def test_a_file_that_cannot_be_used_ends_the_command_with_2(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line, no traceback."""
    file = write(tmp_path, "def f(:")

    assert main(["operators", "--operators", str(file)]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_an_operator_that_ends_the_program_is_told_and_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The engine passes SystemExit on; whoever wrote `sys.exit` learns what became of the run."""
    code = "from aiflow import operator\nfrom aiflow.events import Token\n\n\n@operator\n"
    code += "def leaves(payload: Token) -> Token:\n    raise SystemExit(0)\n"
    flow = Flow("Leaving", max_conversations=1)
    flow.synthetic("s", count=2) >> flow.add("leaves", "leaves") >> flow.screen("screen")
    flow.save(graph := tmp_path / "leaving.aiflow.json")

    ended = main(["run", str(graph), "--operators", str(write(tmp_path, code))])

    assert ended == 1
    assert "aiflow: code of the graph ended the program (SystemExit: 0)" in capfd.readouterr().err


def test_the_template_of_the_readme_passes_its_own_test(tmp_path: Path) -> None:
    """As a package beside its test, run by pytest."""
    (tmp_path / "my_package").mkdir()
    write(tmp_path / "my_package", printed("my_package/echo.py"), "echo.py")
    test = write(tmp_path, printed("test_echo.py"), "test_echo.py")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
