"""Operators that do not end when they are cancelled: which, since when, and where they stand."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType

from aiflow.engine.cells import Call, Turn
from aiflow.engine.workers import Worker
from aiflow.errors import StallError

_DEPTH = 20


def stuck_calls(turns: Iterable[Turn], at: float) -> tuple[StallError, ...]:
    """Return an error for each cancelled call whose operator is still at work."""
    return tuple(
        StallError(lane.guardian.id, at - turn.given_up_at, _stack(call))
        for turn in turns
        for lane in turn.lanes.values()
        for call in ((lane.source.hand,) if lane.source is not None else tuple(lane.calls))
        if call.is_running and lane.is_dead
    )


def _stack(call: Call) -> str:
    """Return where the call's task stands; for an executor's call, where our threads stand."""
    owner = call.worker if call.worker is not None else call.lane.source
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
