"""A whole studio on a fake host, and a loop that a test's `qtbot` spins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from aiflow.operators.registry import Catalog
from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.loop import StudioLoop, new_loop
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.studio import Studio
from tests.studio.fake_host import FakeHost

Await = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def attached(qapp: QApplication) -> Iterator[StudioLoop]:
    """Return a loop that runs whenever the test lets Qt run."""
    loop = new_loop()
    with loop.attached():
        yield loop
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


@pytest.fixture
def wait_for(attached: StudioLoop, qtbot: QtBot) -> Await:
    """Return `wait_for(coroutine)`: its result, once Qt has let it finish."""

    def wait(work: Coroutine[Any, Any, Any]) -> Any:
        task = attached.create_task(work)
        qtbot.waitUntil(task.done)
        return task.result()

    return wait


@pytest.fixture
def host() -> FakeHost:
    """Return the host that the studio runs on."""
    return FakeHost()


@pytest.fixture
def studio(
    qapp: QApplication,
    attached: StudioLoop,
    wait_for: Await,
    host: FakeHost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Studio]:
    """Return a studio with an empty document and a window that is shown."""
    monkeypatch.chdir(tmp_path)
    crash = CrashReporter()
    studio = Studio(
        qapp,
        Catalog.load(),
        host,
        SettingsFile(tmp_path / "settings", tmp_path / "journals"),
        crash,
    )
    studio.open_at_start(None)
    studio.window.show()
    yield studio
    if not studio.closed.done():
        wait_for(studio.leave())
    wait_for(studio.dismantle())
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    qapp.setStyleSheet("")
