"""No key in the studio: runs are made with one, and all it wrote and shows is searched for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from aiflow.graph import codec
from aiflow.operators.registry import Catalog
from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.loop import StudioLoop
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.studio import Studio
from aiflow_studio.runs.embedded import EmbeddedHost
from tests.e2e.test_secrets import KEY, NAME, graph_for, leaks
from tests.echo_server import ANSWERS, echoing
from tests.keyrings import MemoryKeyring, memory_keyring
from tests.studio.app.conftest import Await

__all__ = ["memory_keyring"]


@pytest.fixture
def studio(
    qapp: QApplication,
    attached: StudioLoop,
    wait_for: Await,
    tmp_path: Path,
    memory_keyring: MemoryKeyring,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Studio]:
    """Return a studio whose runs are real, on a machine whose keyring has the key."""
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.chdir(tmp_path)
    memory_keyring.set_password("aiflow", NAME, KEY)
    catalog = Catalog.load()
    settings = SettingsFile(tmp_path / "settings")
    studio = Studio(qapp, catalog, EmbeddedHost(catalog), settings, CrashReporter())
    studio.window.show()
    yield studio
    wait_for(studio.leave())
    wait_for(studio.dismantle())
    qapp.setStyleSheet("")


def shown(studio: Studio) -> str:
    """Return all text that stands anywhere in the window, or would on a hover."""
    window = studio.window
    texts = [window.windowTitle()]
    texts += [each.text() for each in window.findChildren(QLabel)]
    texts += [each.text() for each in window.findChildren(QAbstractButton)]
    texts += [each.displayText() for each in window.findChildren(QLineEdit)]
    texts += [each.toPlainText() for each in window.findChildren(QPlainTextEdit)]
    texts += [each.text() + each.toolTip() for each in window.findChildren(QAction)]
    return "\n".join([*texts, studio.bar.said])


@pytest.mark.parametrize("kind", ANSWERS)
def test_nothing_that_the_studio_writes_or_shows_holds_the_key(
    kind: str,
    studio: Studio,
    qtbot: QtBot,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Recordings, logs of the graph, saved and exported graphs, settings, a crash, the window."""
    caplog.set_level(logging.DEBUG, logger="aiflow")
    (tmp_path / "kept").mkdir()
    with echoing() as (url, asked):
        studio.open_at_start(graph_for(tmp_path, url, kind))
        studio.recording._folder = str(tmp_path / "kept")
        studio.book.actions["record"].setChecked(True)
        studio.selection.set(frozenset({"model"}))
        assert studio.commands.run()
        qtbot.waitUntil(lambda: not studio.runs.is_active, timeout=30_000)
    snapshot = studio.runs.snapshot
    assert snapshot is not None
    details: list[str] = []
    studio.crash.crashed.connect(lambda *texts: details.extend(texts))
    studio.crash.report(RuntimeError(snapshot.error or "done"))
    codec.save(tmp_path / "saved.aiflow.json", studio.document.graph)
    (tmp_path / "exported.json").write_text(codec.dumps(studio.document.graph, export=True))
    studio._remember()

    assert asked == [KEY, KEY]
    assert (snapshot.phase == "completed") == (kind == "answered")
    assert leaks(tmp_path, shown(studio), caplog.text, str(snapshot.to_dict()), *details) == []
    assert bool(list((tmp_path / "kept").iterdir())) == (kind in {"answered", "in-stream", "torn"})
