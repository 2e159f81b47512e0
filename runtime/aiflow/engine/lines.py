"""The line before a queue: calls that have their place and wait only for a worker to begin."""

from __future__ import annotations

from aiflow.engine.cells import Call


def fall_due(call: Call, _: object = None) -> None:
    """Let a call begin as soon as a worker is free, before anything of the queue."""
    trial = call.trial
    if call.is_settled or trial is None:
        return
    trial.is_due = True
    guardian = call.lane.guardian
    line = guardian.finishing
    # Before each `finish`, which may have to wait for a place that this one has already.
    line.insert(sum(isinstance(each, Call) for each in line), call)
    guardian.free = 0
    guardian.runner.wake(guardian)
