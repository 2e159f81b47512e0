"""Operators that do not end when they are cancelled: which, since when, and where they stand."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType

from aiflow.engine.cells import Guardian, Turn
from aiflow.engine.worker import Worker
from aiflow.engine.workers import WorkerRunner
from aiflow.errors import StallError

_DEPTH = 20


def stuck_calls(turns: Iterable[Turn], at: float) -> tuple[StallError, ...]:
    """Return an error for each cancelled call whose operator is still at work."""
    return tuple(
        StallError(lane.guardian.id, at - turn.given_up_at, _stack(call.worker or lane.source))
        for turn in turns
        for lane in turn.lanes.values()
        for call in ((lane.source.hand,) if lane.source is not None else tuple(lane.calls))
        if call.is_running and lane.is_dead
    )


def astray_workers(guardians: Iterable[Guardian], at: float) -> tuple[StallError, ...]:
    """Return an error for each operator that goes on though the time of its try was over."""
    return tuple(
        StallError(guardian.id, at - worker.astray_since, _stack(worker))
        for guardian in guardians
        if isinstance(guardian.runner, WorkerRunner)
        for worker in guardian.runner.workers
        if worker.astray_since is not None
    )


def _stack(owner: object) -> str:
    """Return where a worker or a source stands; for a thread, where our threads stand."""
    if isinstance(owner, Worker) and owner.is_threaded:
        return "".join(map(_format, _our_threads()))
    if isinstance(owner, Worker):
        return "".join(map(_line, _frames(owner.steps)))
    task = getattr(owner, "task", None)
    return "" if task is None else "".join(map(_line, _frames(task.get_coro())))


def _frames(awaited: object) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, outermost first."""
    for _ in range(_DEPTH):
        kind = next((kind for kind in ("cr", "ag", "gi") if hasattr(awaited, f"{kind}_frame")), "")
        if not kind:
            return
        frame = getattr(awaited, f"{kind}_frame")
        if frame is not None:
            yield frame
        awaited = getattr(awaited, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")


def _line(frame: FrameType) -> str:
    return "".join(traceback.format_stack(frame, limit=1))


def _our_threads() -> list[FrameType]:
    ours = {thread.ident for thread in threading.enumerate() if thread.name.startswith("aiflow")}
    return [frame for ident, frame in sys._current_frames().items() if ident in ours]  # noqa: SLF001


def _format(frame: FrameType) -> str:
    return "".join(traceback.format_stack(frame, limit=_DEPTH))
