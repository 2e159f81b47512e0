"""What becomes of an error that nobody caught: a log line with its traceback, and a dialog.

The run goes on: it is a task of its own, and a broken handler of the window is no reason to
lose it. One dialog at a time; further errors are counted in the log.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from PySide6.QtCore import QObject, Signal

_log = logging.getLogger(__name__)

Report = Callable[[str, str], None]


class CrashReporter(QObject):
    """Takes uncaught errors of every thread, of Qt's slots and of the event loop.

    Signals:
        crashed(sentence, details): on the window's thread; details are the traceback.
    """

    crashed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._former = (sys.excepthook, threading.excepthook)

    def install(self) -> None:
        """Take the place of Python's own hooks."""
        sys.excepthook = self._hook
        threading.excepthook = self._thread_hook

    def uninstall(self) -> None:
        """Put Python's own hooks back."""
        sys.excepthook, threading.excepthook = self._former

    def report(self, error: BaseException) -> None:
        """Log one error and tell the window."""
        sentence = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _log.error("uncaught: %s", sentence, exc_info=error)
        self.crashed.emit(sentence, "".join(traceback.format_exception(error)))

    def loop_handler(self, _loop: object, context: dict[str, Any]) -> None:
        """Take what the event loop could not hand to anybody; an asyncio exception handler."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.report(error)
        else:
            _log.error("event loop: %s", context.get("message", "an error without a message"))

    def _hook(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._former[0](kind, error, trace)
            return
        self.report(error)

    def _thread_hook(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            self.report(args.exc_value)
