"""Blockage: a ring of waiting nodes in one part of a graph, while other parts go on.

A ring that holds the whole session is seen as soon as nothing is left to do. In a part of it
nobody would ever notice, so whoever has waited for room for a second is looked at: a timer runs
only while somebody waits, and ceases when there is nobody new. Claimed is only what can be
proved from the nodes alone: each of them waits with all that it has begun, may begin no more,
and waits for nodes of which the same is true. An operator that is at work, a retry, a breakpoint
or a join that waits for its other branch is none of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from aiflow.compiler.order import cycles
from aiflow.engine.cells import Guardian, Kernel, Turn
from aiflow.errors import DeadlockError

#: Seconds on the session's clock that somebody must have waited.
BLOCKED_S = 1.0


class Blockage:
    """Looks for a ring among nodes while somebody waits for room.

    Args:
        kernel: told whom to call when somebody begins to wait.
        guardians: of the whole plan.
        tell: takes the error and the turns that can never end.
    """

    def __init__(
        self,
        kernel: Kernel,
        guardians: Mapping[str, Guardian],
        tell: Callable[[DeadlockError, tuple[Turn, ...]], None],
    ) -> None:
        self._kernel = kernel
        self._guardians = guardians
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        kernel.on_blocked = self._begin

    def close(self) -> None:
        """Look no more."""
        self._kernel.on_blocked = None
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        self._kernel.on_blocked = None
        due = self._kernel.now() + BLOCKED_S
        self._timer = self._kernel.clock.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        held = held_for_good(self._guardians)
        if held:
            turns = {call.lane.turn: None for node in held for call in self._guardians[node].parked}
            self._tell(_error(held, self._guardians), tuple(turns))
        since = self._kernel.now() - BLOCKED_S
        parked = (call for guardian in self._guardians.values() for call in guardian.parked)
        # Whoever has waited longer has just been looked at, and closed no ring since.
        if any(call.blocked_at is not None and call.blocked_at > since for call in parked):
            self._begin()
        else:
            self._kernel.on_blocked = self._begin


def held_for_good(guardians: Mapping[str, Guardian]) -> tuple[str, ...]:
    """Return the nodes that wait for one another and for nobody else, in the plan's order."""
    held = {node for node, guardian in guardians.items() if _is_held(guardian)}
    while True:
        free = {node for node in held if not _targets(guardians[node]) <= held}
        if not free:
            return tuple(node for node in guardians if node in held)
        held -= free


def _is_held(guardian: Guardian) -> bool:
    """Say whether a node waits with all that it has begun and may begin no more."""
    if guardian.is_source or guardian.gate is not None or guardian.is_paused:
        return False
    if guardian.working or guardian.is_pumping or guardian.finishing or guardian.claimed:
        return False
    is_full = guardian.dispatched >= guardian.window or guardian.opened >= guardian.workers
    return is_full and 0 < guardian.dispatched == len(guardian.parked)


def _targets(guardian: Guardian) -> set[str]:
    return {call.waits_at[1].guardian.id for call in guardian.parked if call.waits_at is not None}


def _error(held: tuple[str, ...], guardians: Mapping[str, Guardian]) -> DeadlockError:
    ring = cycles({node: sorted(_targets(guardians[node])) for node in held})[0]
    detail = ", ".join(
        f"{node}: {guardians[node].depth} of {guardians[node].queue_capacity} waiting"
        for node in ring
    )
    return DeadlockError(ring, detail)
