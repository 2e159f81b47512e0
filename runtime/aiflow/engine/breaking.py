"""Breaking: what becomes of a session in which the engine itself has failed.

An operator's error is settled where it was raised. Whatever else escapes on the run list, in a
worker or in a stream's task is a fault of the engine: nothing is known of that session's books
any more. It ends at once and says so, and never looks alive. Other sessions of the loop go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from aiflow.engine.cells import Call, Guardian, Kernel, Lane, Turn
from aiflow.engine.streams import Stream
from aiflow.engine.taskstream import TaskStream
from aiflow.engine.timers import clear_timer
from aiflow.engine.workers import WorkerRunner
from aiflow.errors import words_of

_log = logging.getLogger(__name__)


def concerns(kernel: Kernel, who: object) -> bool:
    """Say whether it may be this session's engine that has failed, at a call, lane or the like."""
    return _kernel_of(who) in (kernel, None)


def tell_fault(error: BaseException) -> str:
    """Write down where the engine failed, for those who mend it; return it as a sentence."""
    _log.error("the engine failed, and its run with it", exc_info=error)
    return (
        f"the engine itself failed ({words_of(error)}), which is a fault of AiFlow and not of the"
        " graph; please report it with the log of this run"
    )


async def let_go(
    kernel: Kernel, guardians: Iterable[Guardian], turns: Iterable[Turn], within_s: float
) -> None:
    """Take a broken session's work off the loop: what is listed, timers, streams and tasks."""
    stack = kernel.runlist.stack
    stack[:] = [entry for entry in stack if _kernel_of(entry[1]) is not kernel]
    lanes = [lane for turn in turns for lane in turn.lanes.values()]
    for call in [call for lane in lanes for call in lane.calls]:
        clear_timer(call)
    streams = [lane.source for lane in lanes if lane.source is not None]
    for stream in streams:
        stream.abandon()
    tasks = {
        worker.task
        for guardian in guardians
        if isinstance(guardian.runner, WorkerRunner)
        for worker in guardian.runner.workers
    }
    tasks |= {stream.task for stream in streams if isinstance(stream, TaskStream)}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=within_s)


def _kernel_of(who: object) -> Kernel | None:
    """Return whose a thing is; None where it does not say."""
    if isinstance(who, Stream):
        return who.kernel
    if isinstance(who, Call):
        return who.lane.guardian.kernel
    if isinstance(who, Lane):
        return who.guardian.kernel
    if isinstance(who, Guardian):
        return who.kernel
    lane = next(iter(who.lanes.values()), None) if isinstance(who, Turn) else None
    return None if lane is None else lane.guardian.kernel
