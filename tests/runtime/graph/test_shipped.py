"""Tests of `aiflow.graph.shipped`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.graph.shipped import find_graphs, graphs_dir


def test_a_checkout_uses_its_own_graphs() -> None:
    """In a checkout the folder beside `runtime/` is the one that counts."""
    assert graphs_dir() == Path(__file__).parents[3] / "graphs"


def test_an_installed_package_uses_the_graphs_inside_it(tmp_path: Path) -> None:
    """A wheel carries its graphs, whatever lies two folders up."""
    package = tmp_path / "lib" / "aiflow"
    (package / "_graphs").mkdir(parents=True)
    (tmp_path / "graphs").mkdir()

    assert find_graphs(package) == package / "_graphs"


def test_missing_graphs_are_named(tmp_path: Path) -> None:
    """Without graphs the error says where they were looked for and what to do."""
    with pytest.raises(FileNotFoundError, match="_graphs nor beside the checkout; install"):
        find_graphs(tmp_path / "lib" / "aiflow")
