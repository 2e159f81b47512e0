"""Tests of `aiflow.resources`."""

from __future__ import annotations

from pathlib import Path

from aiflow.resources import NoResourceParams, Resource, find_file


def test_the_first_folder_with_the_file_wins(tmp_path: Path) -> None:
    """A graph's own file hides a shipped one of the same name."""
    own, shipped = tmp_path / "own", tmp_path / "shipped"
    for folder in (own, shipped):
        folder.mkdir()
        (folder / "both").touch()
    (shipped / "only").touch()

    assert find_file("both", [own, shipped]) == own / "both"
    assert find_file("only", [own, shipped]) == shipped / "only"
    assert find_file("neither", [own, shipped]) is None
    assert find_file(str(own / "both"), [shipped]) == own / "both"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """What cannot be opened is not found."""
    (tmp_path / "folder").mkdir()

    assert Resource("r", NoResourceParams(), [tmp_path]).find("folder") is None


def test_a_plain_resource_asks_for_nothing() -> None:
    """No secret, no objection, any clock, any machine; it serves as what it is."""
    resource = Resource("r", NoResourceParams())

    assert resource.credentials() == ()
    assert list(resource.check()) == []
    assert list(resource.lacks()) == []
    assert resource.needs_real_clock() == ""
