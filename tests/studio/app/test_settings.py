"""Tests of `aiflow_studio.app.settings`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow_studio.app.settings import MOST_RECENT, Settings, SettingsFile


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A round trip through the file."""
    settings = Settings(theme="light", text_scale=1.3).with_recent(Path("/a/b.json"))

    SettingsFile(tmp_path / "new").write(settings)

    assert SettingsFile(tmp_path / "new").read() == settings
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["settings.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"text_scale": "huge"}'])
def test_a_bad_file_never_blocks_the_start(tmp_path: Path, content: bytes) -> None:
    """Whatever the file holds, a start gets settings."""
    (tmp_path / "settings.json").write_bytes(content)

    assert SettingsFile(tmp_path).read() == Settings()


def test_unknown_settings_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    """The ones that are known still count."""
    (tmp_path / "settings.json").write_text('{"theme": "light", "minimap": true}')

    assert SettingsFile(tmp_path).read().theme == "light"


def test_a_folder_that_cannot_be_made_costs_only_memory(tmp_path: Path) -> None:
    """Nothing is raised where nothing can be written."""
    (tmp_path / "file").write_text("in the way")

    SettingsFile(tmp_path / "file").write(Settings())

    assert (tmp_path / "file").read_text() == "in the way"


def test_recent_files_are_newest_first_and_each_once() -> None:
    """Opening a file again moves it up; the list stays short."""
    settings = Settings()
    for number in [*range(20), 15]:
        settings = settings.with_recent(Path(f"/graphs/{number}.json"))

    assert settings.recent[0] == "/graphs/15.json"
    assert len(settings.recent) == len(set(settings.recent)) == MOST_RECENT


def test_nothing_is_remembered_without_a_folder() -> None:
    """A picture shows what a first start shows."""
    nowhere = SettingsFile(None)

    nowhere.write(Settings(theme="light"))

    assert nowhere.read() == Settings()


def test_a_name_that_is_no_text_is_not_remembered(tmp_path: Path) -> None:
    """A file's name may be any bytes; the settings stay writable and leave no draft behind."""
    settings = Settings().with_recent(Path("/a/b.json"))

    SettingsFile(tmp_path).write(settings.with_recent(Path("/a/\udcff.json")))

    assert SettingsFile(tmp_path).read().recent == (str(Path("/a/b.json")),)
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]
