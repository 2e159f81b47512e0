"""Each import contract of pyproject.toml is seen to hold on a clean tree and to break once.

A contract that cannot fail guards nothing: a mistyped name in it would never be noticed.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
CONTRACTS: list[dict[str, Any]] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]

# (contract, module that breaks it, what it imports)
BREACHES = [
    ("runtime-layers", "aiflow.events.new", "aiflow.engine.a"),
    ("runtime-layers", "aiflow.graph.new", "aiflow.operators.a"),
    ("runtime-layers", "aiflow.utils.new", "os"),
    ("studio-layers", "aiflow_studio.document.new", "aiflow_studio.runs.a"),
    ("studio-layers", "aiflow_studio.palette.new", "aiflow_studio.canvas.a"),
    ("studio-layers", "aiflow_studio.helpers.new", "os"),
    ("headless", "aiflow.engine.new", "PySide6.QtCore"),
    ("headless", "aiflow.metrics.new", "numpy"),
    ("one-http-client", "aiflow.providers.new", "httpx"),
    ("one-mcp-file", "aiflow.tools.new", "mcp"),
    ("one-mcp-file", "aiflow.transport.new", "httpx2"),
    ("one-canvas-folder", "aiflow_studio.canvas.new", "NodeGraphQt"),
    ("canvas-is-chosen-once", "aiflow_studio.canvas.new", "aiflow_studio.canvas.nodegraphqt.a"),
    ("one-plot-room", "aiflow_studio.output.new", "pyqtgraph"),
    ("one-qt-loop", "aiflow_studio.runs.new", "qasync"),
    ("pure-halves", "aiflow_studio.inspector.fields.new", "PySide6.QtWidgets"),
    ("operators-apart", "aiflow.operators.builtin.new", "aiflow.operators.builtin.a"),
    ("dialects-apart", "aiflow.providers.dialects.new", "aiflow.providers.dialects.a"),
    ("checks-apart", "aiflow.compiler.checks.new", "aiflow.compiler.checks.a"),
]


def add_import(root: Path, module: str, imported: str) -> None:
    """Write a module of packages all the way down that imports one name."""
    folder = root
    for part in module.split("."):
        folder /= part
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    with (folder / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(f"import {imported}\n")


def settings() -> str:
    """Return the import-linter part of pyproject.toml, as it stands there."""
    text = PYPROJECT.read_text(encoding="utf-8")
    return text[text.index("[tool.importlinter]") :]


def lint(root: Path, *contracts: str) -> str:
    """Run import-linter in a tree; return what it said."""
    (root / "pyproject.toml").write_text(settings(), encoding="utf-8")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    options = ["--no-cache", *(option for name in contracts for option in ("--contract", name))]
    child = subprocess.run(
        [sys.executable, "-c", code, *options],
        cwd=root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": "", "PYTHONPATH": str(root), "PYTHONUTF8": "1", "COLUMNS": "200"},
        check=False,
    )
    return child.stdout + child.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with every module that the contracts name, and every import they allow."""
    for contract in CONTRACTS:
        for container in contract.get("containers", ()):
            for layer in contract["layers"]:
                for name in layer.replace("(", "").replace(")", "").split(" | "):
                    add_import(tmp_path, f"{container}.{name}.a", "os")
        for key in ("source_modules", "protected_modules", "allowed_importers", "modules"):
            for module in contract.get(key, ()):
                add_import(tmp_path, module.replace("*", "a"), "os")
        for allowed in contract.get("ignore_imports", ()):
            importer, imported = allowed.split(" -> ")
            add_import(tmp_path, importer.replace("**", "a"), imported)
    add_import(tmp_path, "aiflow_studio.canvas.nodegraphqt.a", "os")
    return tmp_path


def test_a_clean_tree_keeps_every_contract(tree: Path) -> None:
    """The allowed imports alone break nothing, so a breach below is a breach."""
    said = lint(tree)

    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in said


@pytest.mark.parametrize(("contract", "importer", "imported"), BREACHES)
def test_one_import_breaks_its_contract(
    tree: Path, contract: str, importer: str, imported: str
) -> None:
    """One import, or one new folder, that the contract is there to stop is reported."""
    add_import(tree, importer, imported)

    said = lint(tree, contract)

    assert "Contracts: 0 kept, 1 broken." in said


def test_two_siblings_that_import_each_other_are_a_cycle(tree: Path) -> None:
    """A cycle inside a room is reported, which no layer sees."""
    add_import(tree, "aiflow.engine.a", "aiflow.engine.new")
    add_import(tree, "aiflow.engine.new", "aiflow.engine.a")

    assert "Contracts: 0 kept, 1 broken." in lint(tree, "no-cycles")


def test_no_contract_goes_without_its_breach() -> None:
    """A contract added to pyproject.toml needs a line in this file."""
    assert {contract["id"] for contract in CONTRACTS} == {
        "no-cycles",
        *(contract for contract, _, _ in BREACHES),
    }
