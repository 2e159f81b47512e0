"""Time-outs: tries that are ended from outside, and those that have come back too late.

An operator that awaits is cancelled and gets a moment to end; a thread, or one that refuses, is
left alone with its worker, and the event goes on without it. Whoever comes second, of time-out,
return and cancel, finds the try settled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiflow.engine.cells import NOTHING, Call
from aiflow.engine.retrying import call_failed, end_cancelled, open_trial
from aiflow.engine.timers import set_timer
from aiflow.engine.timing import HAIR_S, deadline_of, end_of_try, is_timed, overtime

#: Seconds that an operator gets to end when it is cancelled because its time is over.
GRACE_S = 1.0


def watch(call: Call, at: float) -> None:
    """Set the timer that ends the try at hand when its time is over."""
    ends = end_of_try(call, at)
    if ends is not None and call.timer is None:
        set_timer(call, ends, time_is_up)


def work_for(call: Call, service_s: float, then: Callable[[Call, Any], None], at: float) -> None:
    """Let a declared time pass, during which the call's operator counts as at work."""
    ends = end_of_try(call, at)
    done = at + service_s

    def cut_off(call: Call, _: object) -> None:
        time_is_up(call, None)
        if call.is_running and call.timer is None and not call.is_settled:
            set_timer(call, done, then)  # its limit has been lifted meanwhile

    if ends is not None and ends <= done:
        set_timer(call, ends, cut_off)
    else:
        set_timer(call, done, then)


def watch_deadline(call: Call, at: float) -> None:
    """Set the timer that ends all tries, for one that rests between its outputs."""
    trial = call.trial
    if trial is None and call.event is not None and is_timed(call.lane.guardian.retry):
        trial = open_trial(call, call.scope.port, at)
    deadline = None if trial is None else deadline_of(call)
    if deadline is not None and call.timer is None:
        set_timer(call, deadline, time_is_up)


def fail_late(call: Call, at: float) -> bool:
    """Let a try fail that has come back too late; return whether it has."""
    trial = call.trial
    late = None if call.is_settled or trial is None else overtime(call, at, HAIR_S)
    if late is not None:
        call.lane.extra = None
        call_failed(call, late, at)
    return late is not None


def time_is_up(call: Call, _: object) -> None:
    """End a try from outside, unless it has ended, or has rested meanwhile."""
    trial = call.trial
    if call.is_settled or call.is_cancelled or trial is None or trial.is_waiting:
        return
    if not (call.is_running or call.more is not None or call.worker is not None):
        return  # its operator is done; only its output waits to leave
    at = call.lane.guardian.kernel.now()
    if call.has_left and call.output is not NOTHING and call.waits_at is None:
        set_timer(call, at, time_is_up)  # its output has left this moment, and is not counted yet
        return
    trial.over = overtime(call, at, -HAIR_S)
    if trial.over is None:
        watch(call, at) if call.is_running else watch_deadline(call, at)
        return
    call.is_cancelled = True
    worker = call.worker
    if worker is not None and not worker.is_threaded:
        worker.cancel_call()
        set_timer(call, at + GRACE_S, _leave_alone)
        return
    _leave_alone(call, None)


def _leave_alone(call: Call, _: object) -> None:
    """Go on without a worker that has not ended its operator: a thread, or one that refuses."""
    at = call.lane.guardian.kernel.now()
    if call.worker is not None:
        call.worker.leave_alone(at)
        if call.scope is not call.lane.scope:
            call.scope.is_left_alone = True
    end_cancelled(call, at)
