"""Retrying: the one place that decides what a failed call becomes.

A try that raised or ran out of time is made again after its back-off, or the event is given
up: its conversation fails, it is skipped and leaves a gap, or it leaves as a dead letter.
While it waits it keeps its place in the window and in the order, and no worker. The count of
its tries is never set back. Once an output has left, there is no further try: it would say
everything twice.

What a try has changed in its state stays changed, unless the state is transactional.
"""

from __future__ import annotations

from aiflow.compiler.resolved import DEAD_PORT
from aiflow.engine.backoff import asked_s, backoff_s
from aiflow.engine.cells import NOTHING, Call, Settled
from aiflow.engine.closing import close_now
from aiflow.engine.failing import fail_call, wrap
from aiflow.engine.lines import fall_due
from aiflow.engine.scopes import EngineScope
from aiflow.engine.settling import close_worker, go_on, rest, settle
from aiflow.engine.timers import clear_timer, set_timer
from aiflow.engine.timing import deadline_of, end_of_try
from aiflow.engine.trials import Trial
from aiflow.engine.waiting import unpark
from aiflow.errors import (
    EngineError,
    Indeterminate,
    NotStarted,
    ProviderError,
    TryTimeoutError,
    asked_of,
    words_of,
)
from aiflow.events import DeadLetter
from aiflow.policies import Retry, SideEffects

#: What else a provider's error can be called when no answer came, or only half of one.
_LOST = ("connection", "first_byte_timeout", "idle_timeout", "total_timeout", "incomplete")
_NO_TIME = "no time is left for another try"


def open_trial(call: Call, port: str, at: float) -> Trial:
    """Keep count of an event's tries from now on."""
    total_s = call.lane.guardian.retry.total_timeout_s
    trial = call.trial = Trial(port, None if total_s is None else at - call.spent_s + total_s)
    return trial


def begin_try(call: Call, at: float) -> None:
    """Make a call ready for its next try, with a scope that says which it is."""
    trial = call.trial
    assert trial is not None
    trial.is_waiting = False
    trial.error = None
    trial.base_s = call.spent_s
    lane = call.lane
    guardian = lane.guardian
    if trial.attempt > 1:
        guardian.retries += 1
    ends = end_of_try(call, at)
    keys = guardian.keys
    if trial.attempt > 1 or guardian.window > 1 or ends is not None or keys is not None:
        scope: EngineScope = lane.scope.fork(call.collect)
        scope.attempt = trial.attempt
        if keys is not None:
            scope.state = keys.state_for(call, scope.state)
        if ends is not None and (scope.deadline is None or ends < scope.deadline):
            scope.deadline = ends
        call.scope = scope
    assert call.event is not None
    call.scope.event = call.event
    call.scope.port = trial.port


def may_try_again(call: Call, at: float) -> bool:
    """Say whether a try that was due may begin, now that there is a worker for it.

    Where all time for tries has passed in that wait, the event is given up instead.
    """
    trial = call.trial
    assert trial is not None
    ends = deadline_of(call)
    if trial.error is None or ends is None or at < ends:
        return True
    trial.is_waiting = False
    trial.attempt -= 1  # the last that there was
    _give_up(call, trial.error, _NO_TIME, at)
    return False


def call_failed(call: Call, error: BaseException, at: float) -> None:
    """Decide what becomes of a call whose operator raised or ran out of time."""
    if call.is_settled:
        return
    _forget_try(call, at)
    if call.is_cancelled or call.lane.is_dead:
        settle(call, Settled.CANCELLED, at)
        return
    if call.event is None or isinstance(error, KeyboardInterrupt | SystemExit):
        attempts = 1 if call.trial is None else call.trial.attempt
        fail_call(call, wrap(call.lane, error, attempts), at)
        return
    trial = call.trial or open_trial(call, call.scope.port, at)
    guardian = call.lane.guardian
    if guardian.side_effects is SideEffects.NON_IDEMPOTENT and _is_answer_lost(error):
        key = call.scope.idempotency_key
        unknown = Indeterminate(guardian.id, call.event.conversation, key, error)
        unknown.__cause__ = error
        error = unknown
    note = _why_not_again(call, trial, error)
    wait_s = 0.0 if note is not None else _wait_s(call, trial, error)
    if note is None and _is_too_late(call, trial, at + wait_s):
        note = _NO_TIME
    if note is None:
        _try_later(call, error, at, at + wait_s)
    else:
        _give_up(call, error, note, at)


def end_cancelled(call: Call, at: float) -> None:
    """Settle a call whose operator has been ended from outside: its turn is over, or its time."""
    trial = call.trial
    if trial is None or trial.over is None or call.lane.is_dead:
        settle(call, Settled.CANCELLED, at)
        return
    error, trial.over = trial.over, None
    call.is_cancelled = False
    call_failed(call, error, at)


def outcome_of(call: Call) -> Settled:
    """Return what an event counts as when all its outputs have left."""
    trial = call.trial
    return Settled.PROCESSED if trial is None or not trial.is_given_up else Settled.FAILED


def is_retried(retry: Retry, error: BaseException) -> bool:
    """Say whether a node's policy wants a try that ended so to be made again."""
    if isinstance(error, EngineError) and not isinstance(error, TryTimeoutError | NotStarted):
        return False  # the engine's own: it would be the same again
    return any(_is_meant(word, error) for word in retry.retry_on)


def _is_meant(word: str, error: BaseException) -> bool:
    if word == "any":
        return True
    if word == "retryable":
        return asked_of(error, "retryable") is True
    if word == "timeout":
        return isinstance(error, TimeoutError) or (
            isinstance(error, ProviderError) and error.kind.endswith("timeout")
        )
    return any(
        word in (each.__name__, f"{each.__module__}.{each.__qualname__}")
        for each in type(error).__mro__
    )


def _is_answer_lost(error: BaseException) -> bool:
    if isinstance(error, ProviderError):
        return error.kind in _LOST
    return isinstance(error, TimeoutError | ConnectionError | EOFError)


def _why_not_again(call: Call, trial: Trial, error: BaseException) -> str | None:
    """Return why there is no further try, None where there may be one."""
    guardian = call.lane.guardian
    if not is_retried(guardian.retry, error) or trial.attempt >= guardian.retry.attempts:
        return ""
    if call.has_left:
        return "not tried again, because a part of its output had left"
    is_once = guardian.side_effects is SideEffects.NON_IDEMPOTENT
    if is_once and not isinstance(error, NotStarted):
        return "not tried again, because its effect must not happen twice"
    return None


def _wait_s(call: Call, trial: Trial, error: BaseException) -> float:
    assert call.event is not None
    chance = call.lane.scope.chance(call.event, trial.attempt)
    return max(backoff_s(call.lane.guardian.retry, trial.attempt, chance), asked_s(error))


def _is_too_late(call: Call, trial: Trial, due: float) -> bool:
    ends = (trial.deadline, call.lane.turn.deadline)
    return any(end is not None and due >= end for end in ends)


def _try_later(call: Call, error: BaseException, at: float, due: float) -> None:
    """Let an event wait for its next try; its place is kept and its worker is free."""
    trial = call.trial
    assert trial is not None
    trial.is_waiting = True
    trial.error = error
    trial.attempt += 1
    guardian = call.lane.guardian
    close_worker(call, at)
    log = guardian.kernel.log
    if log is not None and call.event is not None:
        log.retried(guardian.id, call.event, trial.attempt, words_of(error), at, due)
    if due > at:
        set_timer(call, due, fall_due)
    else:
        fall_due(call)
    go_on(guardian)


def _give_up(call: Call, error: BaseException, note: str, at: float) -> None:
    """Do with an event whose tries are spent what its node's policy says."""
    lane = call.lane
    guardian = lane.guardian
    trial = call.trial
    assert trial is not None
    assert call.event is not None
    then = guardian.retry.then
    if then == "fail":
        fail_call(call, wrap(lane, error, trial.attempt, note), at)
        return
    route = lane.routes.get(DEAD_PORT.name) if then == "dead_letter" else None
    if route is None or not route.hops:
        settle(call, Settled.FAILED, at)
        return
    trial.is_given_up = True
    if guardian.keys is not None:
        guardian.keys.release(call, is_done=False)
    close_worker(call, at)
    payload = call.event.payload
    call.output = DeadLetter(payload, guardian.id, words_of(error), trial.attempt)
    call.route = route
    call.ready_at = at
    guardian.kernel.runlist.push(guardian.runner.resume, call, None)
    go_on(guardian)


def _forget_try(call: Call, at: float) -> None:
    """Drop what a try has left in the call: nothing of it will leave the node."""
    rest(call, at)
    unpark(call, at)
    clear_timer(call)
    more, call.more = call.more, None
    if more is not None:
        close_now(call.lane, more)
    call.output = NOTHING
    call.pending = call.route = call.listed = call.worker = None
    if call.trial is not None:
        call.trial.outputs = None
    if call.extra:
        call.lane.guardian.kernel.in_flight -= call.extra
        call.lane.turn.in_flight -= call.extra
        call.extra = 0
