"""Settling: the one place where a call ends and its event is counted, exactly once.

An event that runs inline from end to end has no call; `inline` counts it with `count` and
nothing else. Everything that waits for a call to end is woken here.
"""

from __future__ import annotations

from aiflow.engine.cells import Call, Event, Guardian, Lane, Settled
from aiflow.engine.ending import try_close
from aiflow.engine.trials import Trial
from aiflow.engine.waiting import unpark
from aiflow.engine.waking import tell_joins, wake
from aiflow.events import Control

_WORDS = {Settled.PROCESSED: "processed", Settled.FAILED: "failed", Settled.CANCELLED: "cancelled"}


def settle(call: Call, outcome: Settled, at: float) -> None:
    """End a call, give its places back, and let those go on who waited for that.

    Who comes second, in a race of cancel, time-out and return, finds it settled.
    """
    if call.is_settled:
        return
    call.is_settled = True
    lane = call.lane
    guardian = lane.guardian
    guardian.meter(at)
    unpark(call, at)
    if call.timer is not None:
        call.timer.cancel()
        stop_timer(call)
    if call.trial is not None:
        _forget_trial(call, call.trial, outcome)
    close_worker(call, at)
    was_head = lane.head() is call
    del lane.calls[call]
    guardian.dispatched -= 1
    lane.dispatched -= 1
    guardian.remeter()
    if call.event is not None:
        if not call.is_measured:
            guardian.service.record(call.spent_s)
        leave(lane, 1 + call.extra)
        call.extra = 0  # an output that has just left may still be told of
        count(lane, call.event, outcome, at)
    if was_head and lane.calls and guardian.keeps_order:
        guardian.kernel.runlist.push(guardian.runner.resume, lane.head(), None)
    if call.wake is not None:
        wake(guardian.kernel, call.wake)
    go_on(guardian)
    if lane.open_edges <= 0 or lane.is_dead:
        try_close(lane)


def _forget_trial(call: Call, trial: Trial, outcome: Settled) -> None:
    """Take a call out of the lines it stands in, and give its key back."""
    guardian = call.lane.guardian
    if trial.is_due:
        trial.is_due = False
        guardian.finishing.remove(call)
    if guardian.keys is not None:
        guardian.keys.release(call, is_done=outcome is Settled.PROCESSED)


def close_worker(call: Call, at: float) -> None:
    """Give the call's worker back: nothing more is asked of its operator."""
    guardian = call.lane.guardian
    rest(call, at)
    if call.is_open:
        call.is_open = False
        if not (guardian.borrowers and _hand_on(call)):
            guardian.opened -= 1


def _hand_on(call: Call) -> bool:
    """End a loan of a worker's place; say whether the place stays taken."""
    borrowers = call.lane.guardian.borrowers
    # One that had lent its place leaves it to who has it.
    borrower = call if call in borrowers else next(iter(call.lane.calls.keys() & borrowers), None)
    if borrower is None:
        return False
    del borrowers[borrower]
    return True


def rest(call: Call, at: float) -> None:
    """Note that a call's operator is not at work any more, or not now."""
    if call.is_running:
        guardian = call.lane.guardian
        guardian.meter(at)
        call.is_running = False
        call.spent_s += at - call.started_at
        guardian.working -= 1
        guardian.started_s = guardian.started_s - call.started_at if guardian.working else 0.0
        guardian.remeter()


def work(call: Call, at: float) -> None:
    """Note that a call's operator is at work from now on."""
    guardian = call.lane.guardian
    guardian.meter(at)
    if not call.is_open:
        call.is_open = True
        guardian.opened += 1
    call.is_running = True
    call.started_at = at
    guardian.working += 1
    guardian.started_s += at
    guardian.remeter()


def stop_timer(call: Call) -> None:
    """Note that a call's timer has fired or was cancelled."""
    if call.timer is not None:
        call.timer = None
        call.lane.guardian.kernel.open_calls -= 1


def go_on(guardian: Guardian) -> None:
    """Let the queue be served after a place has become free."""
    guardian.refresh()
    if guardian.depth or guardian.waiters or guardian.finishing:
        guardian.runner.wake(guardian)


def leave(lane: Lane, events: int = 1) -> None:
    """Count events that the runtime holds no longer."""
    lane.guardian.kernel.in_flight -= events
    turn = lane.turn
    turn.in_flight -= events
    if turn.waiting_sources:
        waiting, turn.waiting_sources = turn.waiting_sources, []
        for go_on_reading in waiting:
            go_on_reading()


def count(lane: Lane, event: Event, outcome: Settled, at: float) -> None:
    """Count one event as settled at this node."""
    guardian = lane.guardian
    if outcome is Settled.PROCESSED:
        guardian.processed += 1
        if lane.awaits_first:
            _note_first(lane, event, at)
    elif outcome is Settled.FAILED:
        guardian.failed += 1
    else:
        guardian.cancelled += 1
    if guardian.kernel.log is not None:
        guardian.kernel.log.settled(guardian.id, event, _WORDS[outcome], at)
    if lane.joins:
        tell_joins(lane)


def _note_first(lane: Lane, event: Event, at: float) -> None:
    """Take the time to the first payload that a sink has processed; Control never counts."""
    if type(event.payload) is Control:
        return
    guardian, turn = lane.guardian, lane.turn
    lane.awaits_first = False
    lane.quick = guardian.kernel.log is None and not lane.joins
    asked_at = turn.marks.get(event.source, {}).get("request_sent", turn.opened_at)
    took_s = at - asked_at
    if guardian.first_at_s is None or took_s < guardian.first_at_s:
        guardian.first_at_s = took_s
