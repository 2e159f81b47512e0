"""Tests of `aiflow_studio.ui.resources`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow_studio.ui.resources import find_resources, resource, resources_dir


def test_a_checkout_uses_its_own_resources() -> None:
    """In a checkout the folder beside the package is the one that counts."""
    assert resources_dir() == Path(__file__).parents[3] / "resources"


def test_an_installed_package_uses_the_resources_inside_it(tmp_path: Path) -> None:
    """A wheel carries its resources, whatever lies beside it."""
    package = tmp_path / "aiflow_studio"
    (package / "_resources").mkdir(parents=True)
    (tmp_path / "resources").mkdir()

    assert find_resources(package) == package / "_resources"


def test_missing_resources_are_named(tmp_path: Path) -> None:
    """Without resources the error says where they were looked for and what to do."""
    with pytest.raises(FileNotFoundError, match="_resources nor beside the checkout; install"):
        find_resources(tmp_path / "aiflow_studio")


def test_a_missing_resource_is_named() -> None:
    """One missing file is named with its folder."""
    with pytest.raises(FileNotFoundError, match=r"icons/nothing\.svg is not in"):
        resource("icons", "nothing.svg")
