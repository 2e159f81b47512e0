"""Run something once, after the last call in a burst."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Debounce(QObject):
    """Calls `action` when `delay_ms` have passed since the last `call()`.

    Args:
        delay_ms: milliseconds of silence, 0 or more; 0 means once back in Qt's loop.
        parent: owner; the pending call goes with it.
    """

    def __init__(
        self, delay_ms: int, action: Callable[[], object], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._action = action
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(delay_ms)
        self._timer.timeout.connect(self._run)

    @property
    def is_pending(self) -> bool:
        """Whether a call waits for the burst to end."""
        return self._timer.isActive()

    def call(self) -> None:
        """Ask for the action; the wait begins anew."""
        self._timer.start()

    def flush(self) -> None:
        """Run the action now if it is pending."""
        if self.is_pending:
            self._timer.stop()
            self._run()

    def cancel(self) -> None:
        """Forget a pending call."""
        self._timer.stop()

    def _run(self) -> None:
        self._action()
