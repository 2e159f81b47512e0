"""Errands: the tasks that handlers of the window start, each with an owner.

A handler may be a coroutine, because every dialog is one. Errands keeps the task, reads its
error, and ends what is left when the window goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Errands:
    """Owner of the window's tasks.

    Args:
        report: called with the error of a task that failed.
    """

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a task on the running loop."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel what is under way, but for the caller, and wait until it has ended."""
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error)
