"""A stream that is an async iterator: read on a task, which alone opens and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from aiflow.engine.cells import Event, Lane, Route, Terminal
from aiflow.engine.closing import closing
from aiflow.engine.streams import Stream
from aiflow.engine.waking import sleep_until_woken, wake
from aiflow.operators.base import NextTurn


class TaskStream(Stream):
    """A stream that is an async iterator: read, and closed, by one task.

    Attributes:
        task: the task that reads it.
    """

    def __init__(self, lane: Lane, outputs: AsyncIterator[Any]) -> None:
        super().__init__(lane)
        self._outputs = outputs
        self._wake: asyncio.Future[None] | None = None
        self._is_asking = False
        self._is_handed = False
        self._slice_end = 0.0
        self.kernel.open_calls += 1  # but while it waits for room
        name = f"aiflow source {self.guardian.id} {lane.turn.conversation}"
        self.task = self.kernel.loop.create_task(self._run(), name=name)
        self.task.add_done_callback(_look_at)

    def leave_turn(self, mark: NextTurn) -> None:
        """Be done with the turn, and wait for the next: it may open before this returns."""
        self.kernel.runlist.begin()
        super().leave_turn(mark)
        self.kernel.runlist.end()

    def go_on(self) -> None:
        """Wake the task."""
        if self._wake is not None:
            wake(self.kernel, self._wake)

    def left(self, at: float) -> None:
        """Count the event that had to wait and has left, and wake the task."""
        self._is_handed = False
        super().left(at)

    def drop_hand(self, at: float) -> None:
        """Settle the event in hand as cancelled."""
        if self.hand.pending is not None:
            self._is_handed = False
        super().drop_hand(at)

    def stop(self, terminal: Terminal, at: float) -> None:
        """End the stream as soon as nothing is in its hand."""
        if self.task.done():
            return
        self.stop_with = max(self.stop_with, terminal)
        if self.hand.pending is None:
            self.go_on()
        if self._is_asking and self.task is not asyncio.current_task(self.kernel.loop):
            self.task.cancel()

    async def _run(self) -> None:
        try:
            await self._live()
        except Exception as error:  # noqa: BLE001 - a fault of the engine: a source's is settled
            self.kernel.runlist.recover(error, self)
        finally:
            self.kernel.open_calls -= 1
            self.kernel.runlist.look_around()  # it may have been the last that was at work

    async def _live(self) -> None:
        try:
            await self._read()
        except BaseException as error:
            if self.stop_with:
                # The cancellation was ours; what closing raised beside it changes nothing.
                self._finish(self.stop_with)
            elif isinstance(error, asyncio.CancelledError) and self.task.cancelling():
                self._finish(Terminal.CANCEL)
                raise
            else:
                self._begin_end(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        else:
            self._finish(max(Terminal.END, self.stop_with))

    def _finish(self, terminal: Terminal) -> None:
        runlist = self.kernel.runlist
        runlist.begin()
        self.drop_hand(self.kernel.now())
        self.end(terminal)
        runlist.end()

    def _begin_end(self, error: BaseException) -> None:
        runlist = self.kernel.runlist
        runlist.begin()
        self.drop_hand(self.kernel.now())
        self.fail(error)
        runlist.end()

    async def _read(self) -> None:
        runlist, now = self.kernel.runlist, self.kernel.now
        events = 0
        outputs = self._outputs
        async with closing(self.lane, outputs):
            while not self.stop_with:
                if self.is_full:
                    self.wait_for_leave()
                    await self._wait()
                    continue
                output = await self._ask(outputs)
                if output is self:
                    return
                at = now()
                made = self.make(output, at)
                if made is not None:
                    runlist.begin()
                    has_left = self._send(*made, at)
                    runlist.end()
                    if not has_left:
                        await self._wait()
                elif self.is_held and not self.stop_with:
                    await self._wait()
                events += 1
                if now() >= self._slice_end or events > runlist.limit:
                    events = 0
                    await runlist.breathe()
                    self._slice_end = now() + runlist.quantum

    def _send(self, route: Route, event: Event, at: float) -> bool:
        if self.lane.is_dead:
            self.guardian.cancelled += 1
            return True
        has_left = self.offer(route, event, at)
        self._is_handed = not has_left
        return has_left

    async def _ask(self, outputs: AsyncIterator[Any]) -> Any:  # noqa: ANN401 - what an operator returns
        """Return the next output, or this stream itself where there is none."""
        guardian, kernel = self.guardian, self.kernel
        asked_at = kernel.now()
        guardian.working += 1
        guardian.started_s += asked_at
        self.hand.started_at, self.hand.is_running = asked_at, True
        self._is_asking = True
        try:
            return await anext(outputs)
        except StopAsyncIteration:
            return self
        finally:
            at = kernel.now()
            self._is_asking = self.hand.is_running = False
            guardian.working -= 1
            guardian.started_s = guardian.started_s - asked_at if guardian.working else 0.0
            guardian.service.record(at - asked_at)

    async def _wait(self) -> None:
        # What was let in is still in hand until that is counted, which may be a turn later: it
        # is not the hand's being empty that is waited for.
        is_due = self._is_handed or self.is_full or self.is_held
        while is_due:
            self._wake = self.kernel.loop.create_future()
            await sleep_until_woken(self.kernel, self._wake)
            self._wake = None
            is_due = self._is_handed


def _look_at(task: asyncio.Task[None]) -> None:
    """Look at what ended a task: it was told where it happened, and whoever runs the loop knows."""
    if not task.cancelled():
        task.exception()
