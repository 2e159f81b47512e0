"""The suite listens: what a test leaves behind or complains of fails that very test.

Heard are log lines from WARNING up, asyncio tasks that outlive their main coroutine, a blocking
sleep inside a coroutine, and, where Qt is loaded, top-level widgets and running QTimers. Python
warnings and Qt's own messages are handled by pytest and pytest-qt (pyproject.toml).

A test that expects a log line asks for `allow_log` or `caplog`. Not heard: `QTimer.singleShot`,
which Qt gives no handle for.
"""

from __future__ import annotations

import asyncio
import asyncio.runners
import gc
import logging
import re
import sys
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

_FAILED = pytest.StashKey[bool]()

# Widgets that Qt makes by itself, keeps, and shows as it likes.
_QT_OWN_WIDGETS = frozenset({"QTipLabel"})

_started_timers: weakref.WeakSet[Any] = weakref.WeakSet()

# Asyncio's own, kept here so that a listened-to run inside a listened-to run does not tell twice.
_cancel_all_tasks = asyncio.runners._cancel_all_tasks  # type: ignore[attr-defined]


class LogEar(logging.Handler):
    """Keeps every log line from WARNING up that nobody allowed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._allowed: list[tuple[str, re.Pattern[str]]] = []
        self._records: list[logging.LogRecord] = []

    def allow(self, logger: str, pattern: str) -> None:
        """Expect lines of one logger (or its children) in which `pattern` is found."""
        self._allowed.append((logger, re.compile(pattern)))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        self._records.append(record)

    def findings(self) -> list[str]:
        """Return a sentence for each line that was not expected, oldest first."""
        return [
            f"unexpected log line: {record.levelname} {record.name}: {record.getMessage()}"
            for record in self._records
            if not any(self._allows(record, *rule) for rule in self._allowed)
        ]

    @staticmethod
    def _allows(record: logging.LogRecord, logger: str, pattern: re.Pattern[str]) -> bool:
        own = record.name == logger or record.name.startswith(logger + ".")
        return own and pattern.search(record.getMessage()) is not None


@pytest.fixture
def log_ear() -> LogEar:
    """Return the handler that listens to this test's log lines."""
    return LogEar()


@pytest.fixture
def allow_log(log_ear: LogEar) -> Callable[[str, str], None]:
    """Return `allow(logger, pattern)`: log lines that this test expects."""
    return log_ear.allow


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether a test has failed: what a failed test leaves behind is no news."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


# Autouse fixtures come first, so this one is taken down last, after the test's own clean-up.
@pytest.fixture(autouse=True)
def listen(
    request: pytest.FixtureRequest, log_ear: LogEar, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Fail a test that leaves something behind or logs what it did not announce."""
    survivors: list[str] = []
    _watch_runners(monkeypatch, survivors)
    _forbid_sleep_in_coroutines(monkeypatch)
    _watch_timers()
    tasks, widgets, timers = _pending_tasks(), set(_widgets()), set(_running_timers())
    logging.getLogger().addHandler(log_ear)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(log_ear)
    findings = [] if "caplog" in request.fixturenames else log_ear.findings()
    findings += survivors
    findings += [f"leaked task: {_describe(task)}" for task in _pending_tasks() - tasks]
    findings += _leaked_widgets(widgets)
    findings += _leaked_timers(timers)
    if findings and not request.node.stash.get(_FAILED, False):
        pytest.fail("\n".join(findings), pytrace=False)


def _watch_runners(monkeypatch: pytest.MonkeyPatch, survivors: list[str]) -> None:
    """Note the tasks that `asyncio.run` and `asyncio.Runner` have to cancel at their end."""

    def note_and_cancel(loop: asyncio.AbstractEventLoop) -> None:
        survivors.extend(
            f"leaked task: {_describe(task)} outlived its main coroutine"
            for task in asyncio.all_tasks(loop)
        )
        _cancel_all_tasks(loop)

    monkeypatch.setattr(asyncio.runners, "_cancel_all_tasks", note_and_cancel)


def _forbid_sleep_in_coroutines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `time.sleep` fail on a thread whose event loop is running."""
    sleep = time.sleep

    def guarded(seconds: float) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            sleep(seconds)
            return
        raise AssertionError(f"time.sleep({seconds}) blocks the running event loop")

    monkeypatch.setattr(time, "sleep", guarded)


def _pending_tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks of all loops that are not done; the set is called anew since 3.12."""
    name = "_scheduled_tasks" if hasattr(asyncio.tasks, "_scheduled_tasks") else "_all_tasks"
    return {task for task in list(getattr(asyncio.tasks, name)) if not task.done()}


def _describe(task: asyncio.Task[Any]) -> str:
    return f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', task.get_coro())})"


def _widgets() -> dict[int, Any]:
    """Return the top-level widgets there are, by address; empty where no application runs."""
    qt = sys.modules.get("PySide6.QtWidgets")
    if qt is None or not isinstance(qt.QApplication.instance(), qt.QApplication):
        return {}
    from PySide6.QtCore import QCoreApplication, QEvent  # noqa: PLC0415 - Qt is loaded already
    from shiboken6 import getCppPointer, isValid  # noqa: PLC0415

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    return {
        getCppPointer(widget)[0]: widget
        for widget in qt.QApplication.topLevelWidgets()
        if isValid(widget)
        and widget.parent() is None
        and widget.metaObject().className() not in _QT_OWN_WIDGETS
    }


def _leaked_widgets(before: set[int]) -> list[str]:
    """Return a sentence for each new top-level widget, and take it down for the next test."""
    if _widgets().keys() <= before:
        return []
    # A widget in a reference cycle is not leaked, only not collected yet.
    gc.collect()
    leaked = [widget for address, widget in _widgets().items() if address not in before]
    findings = [
        f"leaked widget: {type(widget).__name__} {widget.objectName()!r} {widget.windowTitle()!r};"
        " close it, or give it to qtbot.addWidget"
        for widget in leaked
    ]
    for widget in leaked:
        widget.hide()
        widget.deleteLater()
    _widgets()
    return findings


def _watch_timers() -> None:
    """From now on, note every QTimer that is started; once a process, when Qt is loaded."""
    qt = sys.modules.get("PySide6.QtCore")
    if qt is None or hasattr(qt.QTimer.start, "noted"):
        return
    start = qt.QTimer.start

    def noting(timer: Any, *args: Any) -> None:
        _started_timers.add(timer)
        start(timer, *args)

    noting.noted = True  # type: ignore[attr-defined]
    qt.QTimer.start = noting


def _running_timers() -> list[Any]:
    if not _started_timers:
        return []
    from shiboken6 import isValid  # noqa: PLC0415 - a noted timer means Qt is loaded

    return [timer for timer in list(_started_timers) if isValid(timer) and timer.isActive()]


def _leaked_timers(before: set[Any]) -> list[str]:
    """Return a sentence for each timer that still runs, and stop it for the next test."""
    if not set(_running_timers()) - before:
        return []
    gc.collect()
    leaked = [timer for timer in _running_timers() if timer not in before]
    for timer in leaked:
        timer.stop()
    return [
        f"leaked timer: every {timer.interval()} ms, child of {timer.parent()!r}; stop it"
        for timer in leaked
    ]
