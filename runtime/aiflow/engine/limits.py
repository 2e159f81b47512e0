"""Time limits of tries: which nodes keep a call for each event, and which are only looked at.

An operator that waits is ended from outside when its time is over, so its events are calls
from their beginning. A plain function cannot be ended: it blocks the loop until it returns. It
goes through the queue, never inline, and what it returns too late is discarded.
"""

from __future__ import annotations

from math import inf

from aiflow.engine.cells import INLINE, QUEUED, Guardian
from aiflow.engine.inline import InlineRunner
from aiflow.engine.partitions import set_keys


def set_way(guardian: Guardian) -> None:
    """Let events go the way that a guardian's `retry` and `service_s` of now ask for."""
    set_keys(guardian)
    retry = guardian.retry
    limits = [each for each in (retry.timeout_s, retry.total_timeout_s) if each is not None]
    is_plain = type(guardian.runner) is InlineRunner and guardian.service_s is None
    guardian.keeps_calls = (
        guardian.service_s is not None
        or guardian.keys is not None
        or (bool(limits) and not is_plain)
    )
    guardian.service.limit_s = min(limits, default=inf) if is_plain else inf
    guardian.way = _way_of(guardian, has_limit=bool(limits))


def _way_of(guardian: Guardian, *, has_limit: bool) -> int:
    if guardian.keeps_calls or not isinstance(guardian.runner, InlineRunner):
        return 0
    if guardian.gate is not None and guardian.gate.picks:
        return 0
    return QUEUED if has_limit else INLINE
