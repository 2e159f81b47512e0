"""Timers of calls: each call has at most one, which is gone when the call is settled.

A timer may fire early, as those of Qt do by up to 5 %: the clock is asked, never the timer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiflow.engine.cells import Call
from aiflow.engine.settling import stop_timer


def set_timer(call: Call, due: float, then: Callable[[Call, Any], None]) -> None:
    """Have a function called with this call when its time has come; it has no timer now.

    While the timer runs, there is something to wait for, so nothing counts as a deadlock.

    Args:
        call: not settled.
        due: on the session's clock.
        then: asks itself whether the call is settled meanwhile.
    """
    kernel = call.lane.guardian.kernel
    clock = kernel.clock

    def fire() -> None:
        if clock.now() < due:
            call.timer = clock.call_at(due, fire)
            return
        stop_timer(call)
        if call.worker is None:
            kernel.runlist.push(then, call, None)
        else:
            # Not on the run list, which the call's own task may be working off.
            then(call, None)

    kernel.open_calls += 1
    call.timer = clock.call_at(due, fire)


def clear_timer(call: Call) -> None:
    """Take a call's timer away, if it has one."""
    if call.timer is not None:
        call.timer.cancel()
        stop_timer(call)
