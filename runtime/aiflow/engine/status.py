"""Phases of a session."""

from __future__ import annotations

from dataclasses import dataclass

from aiflow.metrics.snapshot import Phase

#: Phases that a session does not leave any more.
ENDED: frozenset[Phase] = frozenset(("completed", "failed", "cancelled"))


@dataclass(frozen=True, slots=True)
class Status:
    """Where a session stands.

    Attributes:
        reason: one sentence where it failed or was cancelled, "" elsewhere.
        started_at: seconds on the session's clock; None before the start.
    """

    phase: Phase
    reason: str = ""
    started_at: float | None = None
