"""Closing what an operator yields from: whatever it does then, the engine goes on.

An operator may raise while it is closed, or refuse: then it is reported as stuck.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from aiflow.engine.cells import Lane
from aiflow.errors import StallError, words_of

_log = logging.getLogger(__name__)

#: What Python says of a generator that yields when it is told to end.
_REFUSAL = "ignored GeneratorExit"


@asynccontextmanager
async def closing(lane: Lane, outputs: object) -> AsyncIterator[None]:
    """Close an async iterator afterwards, if it can be closed."""
    try:
        yield
    finally:
        close = getattr(outputs, "aclose", None)
        if close is not None:
            try:
                await close()
            except RuntimeError as error:
                if not _has_refused(lane, outputs, error):
                    raise


def close_now(lane: Lane, outputs: object) -> None:
    """Close an iterator that nobody will ask any more, if it can be closed."""
    try:
        close: Any = getattr(outputs, "close", None)
        if close is not None:
            close()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        if not _has_refused(lane, outputs, error):
            # Its turn is over, and stays as it ended.
            _log.exception("node %s raised while it was closed", lane.guardian.id)


def _has_refused(lane: Lane, outputs: object, error: BaseException) -> bool:
    """Report a generator that has yielded instead of ending; return whether it did."""
    frame = getattr(outputs, "ag_frame", None) or getattr(outputs, "gi_frame", None)
    # It may have ended itself and hold another that did not: then only the words tell.
    if frame is None and _REFUSAL not in words_of(error):
        return False
    at = traceback.extract_tb(error.__traceback__) if frame is None else _place(frame)
    node, kernel, turn = lane.guardian.id, lane.guardian.kernel, lane.turn
    waited_s = kernel.now() - turn.given_up_at if turn.epoch else 0.0
    stack = "".join(traceback.format_list(at))
    kernel.refused.setdefault(node, StallError(node, waited_s, stack))
    return True


def _place(frame: FrameType) -> traceback.StackSummary:
    return traceback.extract_stack(frame, limit=1)
