"""Tests of `aiflow_studio.app.errands` and `aiflow_studio.app.crash`."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

import pytest
from PySide6.QtWidgets import QApplication

from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.errands import Errands


def test_the_error_of_an_errand_is_reported() -> None:
    """Nobody has to ask a task for its error."""
    errors: list[BaseException] = []

    async def fail() -> None:
        raise ValueError("no")

    async def scene() -> None:
        errands = Errands(errors.append)
        await asyncio.wait({errands.run(fail(), "fail")})

    asyncio.run(scene())

    assert [str(error) for error in errors] == ["no"]


def test_closing_cancels_what_is_under_way() -> None:
    """After `close` no task is left, and a cancelled one is no error."""
    errors: list[BaseException] = []

    async def scene() -> int:
        errands = Errands(errors.append)
        errands.run(asyncio.sleep(3600), "sleep")
        await errands.close()
        return len(errands)

    assert asyncio.run(scene()) == 0
    assert errors == []


def test_an_errand_that_closes_everything_does_not_wait_for_itself() -> None:
    """The close handler is an errand too."""

    async def scene() -> None:
        errands = Errands(lambda error: pytest.fail(str(error)))
        await errands.run(errands.close(), "close")

    asyncio.run(scene())


def test_uncaught_errors_become_a_line_and_a_signal(
    qapp: QApplication, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the main thread, of another, and of the event loop."""
    crash = CrashReporter()
    told: list[str] = []
    crash.crashed.connect(lambda sentence, _details: told.append(sentence))
    crash.install()
    try:
        sys.excepthook(ValueError, ValueError("main"), None)
        thread = threading.Thread(target=[].pop)
        thread.start()
        thread.join()
        crash.loop_handler(None, {"message": "m", "exception": KeyError("loop")})
    finally:
        crash.uninstall()
    qapp.processEvents()

    assert sorted(told) == [
        "IndexError: pop from empty list",
        "KeyError: 'loop'",
        "ValueError: main",
    ]
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == 3


def test_the_hooks_are_put_back(qapp: QApplication) -> None:
    """A test or an embedding program finds Python as it was."""
    before = (sys.excepthook, threading.excepthook)
    crash = CrashReporter()

    crash.install()
    crash.uninstall()

    assert (sys.excepthook, threading.excepthook) == before
