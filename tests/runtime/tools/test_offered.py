"""Tests of `aiflow.tools.offered`, and of tools out of a file."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from aiflow import tool
from aiflow.errors import PluginError
from aiflow.operators.local import with_file, with_tools
from aiflow.operators.registry import Catalog
from aiflow.tools import offered
from aiflow.tools.builtin import calculator, clock, harbour, lookup
from aiflow.tools.offered import installed_names, load_installed
from aiflow.tools.resource import Tools

CATALOG = Catalog.of(resources={"tools": Tools})
FILE = '''
from aiflow import tool
from aiflow.tools.servers import McpServer

@tool(effect="none")
def shout(text: str) -> str:
    """Say it loud."""
    return text.upper()

files = McpServer("files", ["file-server", "--read-only"])
'''


def test_what_comes_with_aiflow_is_found_by_name() -> None:
    """The same way as what any package offers."""
    built_in = {"calculator": calculator, "clock": clock, "harbour": harbour, "lookup": lookup}

    assert set(installed_names()) >= set(built_in)
    assert {name: load_installed(name) for name in built_in} == built_in


def test_names_are_known_without_importing_anything() -> None:
    """Looking at a graph runs no code of a tool."""
    code = (
        "import sys; from aiflow.tools.offered import installed_names; installed_names();"
        "print('aiflow.tools.builtin' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"


def test_a_name_that_nobody_offers_is_told() -> None:
    """It is never taken for a module and a function."""
    with pytest.raises(PluginError, match="no package offers a tool of that name"):
        load_installed("os:system")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("system", "os:system", "neither a function under @tool nor an McpServer"),
        ("gone", "no_module_of_that_name:x", "ModuleNotFoundError"),
        ("other", "aiflow.tools.builtin:clock", "it calls itself clock"),
    ],
)
def test_an_entry_point_that_is_no_tool_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    """A package may offer anything under the group; only tools are taken."""
    entry = EntryPoint(name, value, offered.GROUP)
    monkeypatch.setattr(offered, "entry_points", lambda **_: [entry])

    with pytest.raises(PluginError, match=says):
        load_installed(name)


def written(folder: Path, text: str) -> Path:
    """Write a file of tools."""
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_files_tools_are_offered_to_tool_sets(tmp_path: Path) -> None:
    """To those of this catalog, not to those of another."""
    catalog = with_file(CATALOG, written(tmp_path, FILE))

    kind = catalog.resources["tools"]
    assert issubclass(kind, Tools)
    assert set(kind.offered) == {"shout", "files"}
    assert Tools.offered == {}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("\nagain = tool(name='shout')(len)", "give the argument|two tools are called shout"),
        ("\ncalculator = tool(name='calculator')(lambda: 1)", "there is a tool calculator already"),
    ],
)
def test_a_tool_whose_name_is_taken_is_refused(tmp_path: Path, more: str, says: str) -> None:
    """By another of the file, or by an installed one."""
    text = FILE + more.replace("(len)", "(lambda: 1)")

    with pytest.raises(PluginError, match=says):
        with_file(CATALOG, written(tmp_path, text))


def test_a_program_offers_its_own_functions() -> None:
    """Without a file, to the graphs that it runs."""

    @tool
    def mine() -> str:
        """Do."""
        return "done"

    catalog = with_tools(CATALOG, mine)

    assert catalog.resources["tools"].offered == {"mine": mine}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="there is a tool mine already"):
        with_tools(catalog, mine)
    assert with_tools(CATALOG) is CATALOG


def test_the_readmes_tools_are_offered_as_it_says(tmp_path: Path) -> None:
    """Its file, as it is printed."""
    readme = (Path(__file__).parents[3] / "runtime" / "README.md").read_text(encoding="utf-8")
    _, _, rest = readme.partition("```python\n# own_tools.py\n")

    catalog = with_file(CATALOG, written(tmp_path, rest.partition("```")[0]))

    offers = catalog.resources["tools"].offered  # type: ignore[attr-defined]
    assert set(offers) == {"word_count", "files"}
    assert offers["word_count"]("one two") == 2
    assert offers["word_count"].spec.parameters["required"] == ["text"]
