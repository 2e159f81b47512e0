"""Pausing: a breakpoint on an edge holds the node behind it, and nobody else.

The first event that comes over the edge pauses the node: what it has begun it ends, and it
begins nothing. Its queue fills, and backpressure does the rest. A step begins one event, resume
lets the node go on and takes the breakpoint away: each event of a stream would meet it again.

A held node has no workers, and its queue is served from here; so nothing is asked of an event
anywhere else.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.cells import Event, Guardian
from aiflow.engine.delivery import admit, take
from aiflow.engine.inline import InlineRunner
from aiflow.engine.settling import go_on


class Pause:
    """A node that is held, from now on until `release`.

    Args:
        guardian: not held by another pause.
    """

    def __init__(self, guardian: Guardian) -> None:
        runner = guardian.runner
        assert isinstance(runner, InlineRunner), "a source has no edge that leads to it"
        self._guardian = guardian
        self._runner = runner
        self._way = guardian.way
        self._steps = 0
        guardian.meter(guardian.kernel.now())
        guardian.is_paused = True
        guardian.workers = guardian.way = guardian.free = 0
        # In the place of the runner's own, wherever that would be called.
        runner.pump = self.pump  # type: ignore[method-assign]
        runner.wake = self.wake  # type: ignore[method-assign]
        # Somebody may let it go on at any time: what waits for it is in no deadlock.
        guardian.kernel.open_calls += 1

    def release(self) -> None:
        """Let the node go on."""
        guardian = self._guardian
        guardian.meter(guardian.kernel.now())
        # What the class has is seen again.
        del self._runner.pump, self._runner.wake
        guardian.is_paused = False
        guardian.way = self._way
        guardian.workers = guardian.node.policy.workers
        guardian.kernel.open_calls -= 1
        go_on(guardian)
        guardian.kernel.runlist.wake()

    def step(self) -> bool:
        """Begin the next event, as soon as a worker is free; False where none waits."""
        guardian = self._guardian
        if self._steps >= guardian.depth + len(guardian.finishing):
            return False
        self._steps += 1
        guardian.kernel.runlist.push(self.pump, guardian, None)
        return True

    def wake(self, guardian: Guardian) -> None:
        """Have the queue served soon, once however often it is asked."""
        if not guardian.is_pumping:
            guardian.is_pumping = True
            guardian.kernel.runlist.push(self.pump, guardian, None)

    def pump(self, guardian: Guardian, _: object) -> None:
        """Serve those who wait for room, and the steps that are due."""
        if not guardian.is_paused:
            self._runner.pump(guardian, None)
            return
        guardian.is_pumping = False
        if guardian.claimed is not None:
            return  # what was claimed came first, and serves the queue when it has begun
        at = guardian.kernel.now()
        if guardian.waiters:
            admit(guardian, at)
        while self._steps and (taken := self._take(at)) is not None:
            self._steps -= 1
            lane, event, edge = taken
            # What a runner does with each event that it takes, but for taking another.
            self._runner._begin(lane, event, edge, at)  # noqa: SLF001
        guardian.refresh()

    def _take(self, at: float) -> tuple[Any, Any, Any] | None:
        guardian = self._guardian
        guardian.workers = guardian.node.policy.workers
        try:
            return take(guardian, at)
        finally:
            guardian.workers = 0


class Breakpoints:
    """The breakpoints of one session, and which nodes are held because of them.

    Attributes:
        edges: id of each edge with a breakpoint -> who watches it.
    """

    def __init__(self) -> None:
        self.edges: dict[str, Breakpoint] = {}
        self._pauses: dict[str, Pause] = {}

    def hold(self, guardian: Guardian) -> None:
        """Let a node begin nothing more; safe to repeat."""
        if guardian.id not in self._pauses:
            self._pauses[guardian.id] = Pause(guardian)

    def release(self, guardian: Guardian) -> bool:
        """Let a node go on; False where it was not held."""
        pause = self._pauses.pop(guardian.id, None)
        if pause is not None:
            pause.release()
        return pause is not None

    def step(self, guardian: Guardian) -> bool:
        """Let a held node begin one event; False where none waits, or where it is not held."""
        pause = self._pauses.get(guardian.id)
        return pause is not None and pause.step()


class Breakpoint:
    """A watcher that holds the node behind its edge when an event comes over it."""

    def __init__(self, guardian: Guardian, breakpoints: Breakpoints) -> None:
        self._guardian = guardian
        self._breakpoints = breakpoints

    def see(self, event: Event, at: float) -> None:
        """Hold the node, if it is not held already."""
        self._breakpoints.hold(self._guardian)
