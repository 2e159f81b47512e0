"""Time of tries: when the try at hand is over, and whether it is; pure questions to a call."""

from __future__ import annotations

from aiflow.engine.cells import Call, Guardian
from aiflow.errors import TryTimeoutError
from aiflow.policies import Retry

#: What two sums of the same times may differ by, seconds.
HAIR_S = 1e-9


def is_timed(retry: Retry) -> bool:
    """Say whether a policy limits the time of an event's tries."""
    return retry.timeout_s is not None or retry.total_timeout_s is not None


def end_of_try(call: Call, at: float) -> float | None:
    """Return when the try at hand is over at the latest, if it does not rest before."""
    trial, limit_s = call.trial, call.lane.guardian.retry.timeout_s
    assert trial is not None
    deadline = deadline_of(call)
    if limit_s is None:
        return deadline
    ends = at + limit_s - (call.spent_s - trial.base_s)
    if call.is_running:
        ends += call.started_at - at
    return ends if deadline is None else min(ends, deadline)


def deadline_of(call: Call) -> float | None:
    """Return when all tries are over; None where nothing limits them, or not any more."""
    if call.trial is None or call.lane.guardian.retry.total_timeout_s is None:
        return None
    return call.trial.deadline


def overtime(call: Call, at: float, slack_s: float) -> TryTimeoutError | None:
    """Return the error of a try that has taken too long, None where it has not.

    Args:
        call: with a trial.
        at: the time now.
        slack_s: seconds that its limits are taken to be longer.
    """
    trial = call.trial
    assert trial is not None
    retry, node = call.lane.guardian.retry, call.lane.guardian.id
    tried_s = call.spent_s - trial.base_s + (at - call.started_at if call.is_running else 0.0)
    if retry.timeout_s is not None and tried_s > retry.timeout_s + slack_s:
        return TryTimeoutError(node, retry.timeout_s)
    deadline = deadline_of(call)
    if deadline is not None and retry.total_timeout_s is not None and at > deadline + slack_s:
        return TryTimeoutError(node, retry.total_timeout_s, is_total=True)
    return None


def timeout_of(guardian: Guardian, tried_s: float) -> TryTimeoutError:
    """Return the error of a first try that took so many seconds, too many."""
    retry = guardian.retry
    if retry.timeout_s is not None and tried_s > retry.timeout_s:
        return TryTimeoutError(guardian.id, retry.timeout_s)
    return TryTimeoutError(guardian.id, retry.total_timeout_s or 0.0, is_total=True)
