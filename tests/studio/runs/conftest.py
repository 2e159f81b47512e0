"""Runs in processes of their own need Qt's loop, as the studio's window does."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from aiflow_studio.app.loop import StudioLoop
from tests.studio.app.conftest import Await, attached

__all__ = ["attached"]

#: A process that imports all of it takes seconds on a machine that is busy.
PATIENCE_MS = 120_000


@pytest.fixture
def wait_for(attached: StudioLoop, qtbot: QtBot) -> Await:
    """Return `wait_for(coroutine)`: its result, once Qt has let it finish."""

    def wait(work: Coroutine[Any, Any, Any]) -> Any:
        task = attached.create_task(work)
        qtbot.waitUntil(task.done, timeout=PATIENCE_MS)
        return task.result()

    return wait
