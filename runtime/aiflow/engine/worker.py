"""A worker: one of a node's k, which takes the further steps of a call and carries its result on.

A cancelled turn cancels the call, never the worker. Blocking operators run in an executor and
cannot be cancelled: their worker stays busy until the thread comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

from aiflow.engine.calls import advance, complete, make_event, set_output
from aiflow.engine.cells import INLINE, NOTHING, Call, Event, Guardian, Lane, Settled
from aiflow.engine.closing import closing
from aiflow.engine.delivery import deliver
from aiflow.engine.ending import try_close
from aiflow.engine.failing import fail_call, wrap
from aiflow.engine.inline import pass_on, suspend
from aiflow.engine.pulling import pull
from aiflow.engine.retrying import call_failed, end_cancelled
from aiflow.engine.rolling import begin_alone, end_alone, roll
from aiflow.engine.settling import close_worker, count, go_on, leave, rest, work
from aiflow.engine.stepping import Stepper, Steps
from aiflow.engine.waiting import park
from aiflow.engine.waking import sleep_until_woken
from aiflow.metrics.instruments import FINE_S


class Pool(Protocol):
    """All workers of a node, as one of them sees them; `workers` has it.

    Attributes:
        idle: workers without work, the one to be used next last.
        coroutine: the operator's own function, where it is one.
        is_closing: whoever has no work ends.
    """

    idle: list[Worker]
    coroutine: Callable[..., Coroutine[Any, Any, Any]] | None
    is_closing: bool

    @property
    def is_threaded(self) -> bool:
        """Whether the operator runs in an executor."""
        ...

    def pump(self, guardian: Guardian, _: object) -> None:
        """Begin what may begin of the queue."""
        ...

    def resume(self, call: Call, _: object) -> None:
        """Go on with a call that has become the head of its lane."""
        ...


class Worker(Stepper):
    """One of a node's k: finishes the operator's calls, one after the other.

    Attributes:
        call: what it is busy with, None while idle.
        astray_since: when it was left alone with a call whose time was over, and whose operator
            goes on all the same; None where it was not.
    """

    def __init__(self, pool: Pool, guardian: Guardian, number: int) -> None:
        kernel = guardian.kernel
        super().__init__(kernel.loop, kernel.runlist, f"aiflow worker {guardian.id} {number}")
        self._pool = pool
        self._guardian = guardian
        self._now = kernel.now
        self.call: Call | None = None
        self.astray_since: float | None = None
        self._slice_end = 0.0  # when the step at hand has to give way

    @property
    def is_threaded(self) -> bool:
        """Whether its operator runs in an executor."""
        return self._pool.is_threaded

    @property
    def ends(self) -> bool:
        """Whether its task ends when the pool closes; else its operator is stuck."""
        return self.call is None and (self.astray_since is None or self.is_threaded)

    def take(self, steps: Steps, waits_for: object = NOTHING) -> None:
        """Take the rest of a call, which `take_over` tells."""
        self._guardian.kernel.open_calls += 1  # until it is without work
        super().take(steps, waits_for)

    def take_over(self, call: Call, at: float) -> None:
        """Be told whose rest it has taken."""
        self.call = call
        call.worker = self
        if not call.is_running:
            work(call, at)

    def suspended(self, lane: Lane, event: Event, spent_s: float, at: float) -> None:
        """Keep a call for an event whose first step has run inline, and whose rest it has taken."""
        # The operator's time is what all its steps take together.
        lane.service.take_back(spent_s)
        call = begin_alone(lane, event, spent_s, at)
        if call is None:
            suspend(lane, event, self, spent_s, at)
        else:
            self.call = call
            call.worker = self

    def cancel_call(self) -> None:
        """Cancel what the operator awaits; the worker itself goes on."""
        if self.call is None:
            return
        if self._waits_for is NOTHING:
            self._error = asyncio.CancelledError()  # it shall not even begin
        elif not self.is_threaded and self.task is not asyncio.current_task(self._loop):
            self.task.cancel()  # of a thread the result is discarded

    def leave_alone(self, at: float) -> None:
        """Let go of a call whose operator does not end; the worker's place stays taken."""
        call = self.call
        assert call is not None
        rest(call, at)
        guardian = self._guardian
        call.is_open = False  # and yet the guardian counts a worker, until it comes back
        if call in guardian.borrowers:
            del guardian.borrowers[call]
            guardian.opened += 1
        guardian.working += 1
        guardian.started_s += at
        guardian.remeter()
        call.worker = self.call = None
        self.astray_since = at
        if self._waits_for is NOTHING:
            self._error = asyncio.CancelledError()

    def _returned(self, result: Any, ended: int) -> Steps | None:  # noqa: ANN401 - what an operator returns
        call = self.call
        if call is None:
            self._come_back(None)
            return None
        guardian, runlist = self._guardian, self._runlist
        if type(result) is not call.lane.plain and hasattr(type(result), "__anext__"):
            return self._carry_out(call, result)
        pool = self._pool
        at = self._now()
        runlist.is_running = True
        runlist.deadline = at + runlist.quantum
        function = pool.coroutine
        has_next: bool | None = None
        if function is not None and self._may_roll(at, ended):
            if guardian.window == 1:
                has_next = end_alone(guardian, call, result, at, pool.idle)
            else:
                has_next = roll(guardian, call, result, at) or None
        if has_next is False:
            if runlist.stack:
                runlist.end()
            else:
                runlist.is_running = False
        elif has_next:
            event = call.event
            following = function(event.payload, call.scope)  # type: ignore[union-attr, misc]
            if runlist.stack or guardian.waiters:
                self._see_to_others(at)
            if not call.is_cancelled:
                return following
            following.close()
            self._rest()
            self._raised(call, asyncio.CancelledError(), is_ended=False)
        else:
            self._rest()
            self._left(call, result, at)
        self._ceased()
        return None

    def _may_roll(self, at: float, rolled: int) -> bool:
        """Say whether a further event may be taken in this step, as far as it knows."""
        if rolled:
            return at < self._slice_end and rolled < self._runlist.limit
        self._slice_end = at + self._runlist.quantum
        guardian = self._guardian
        return (
            guardian.way == INLINE
            and guardian.gate is None
            and not guardian.retries
            and not self._pool.is_closing
        )

    def _see_to_others(self, at: float) -> None:
        """Do what comes before the next event's beginning, and list what comes after it.

        First what is downstream and what may leave behind it; then who waited for the place is
        let in. That is the order of the long way, which a run takes when it is looked at.
        """
        guardian, stack = self._guardian, self._runlist.stack
        is_kept_out = self._keep_pump_out()
        if stack:
            self._runlist.drain()
        if guardian.waiters:
            pull(guardian, at)
        if is_kept_out:
            guardian.is_pumping = False
        is_due = guardian.finishing or (guardian.depth and guardian.opened < guardian.workers)
        if is_due and not guardian.is_pumping:
            guardian.is_pumping = True
            stack.insert(0, (self._pool.pump, guardian, None))

    def _keep_pump_out(self) -> bool:
        """Have nobody list the queue's service for a while; say whether that is to be ended.

        Where it is on the list already it stays there. It may be done before the while is over,
        so nothing may say afterwards that it is still to come.
        """
        guardian = self._guardian
        is_kept_out = not guardian.is_pumping
        guardian.is_pumping = True
        return is_kept_out

    def _failed(self, error: BaseException) -> None:
        call = self.call
        if call is None:
            self._come_back(error)
        else:
            # Asked from outside to end, as a loop does with all tasks when it closes. A
            # CancelledError that nobody asked for is an operator's failure like any other.
            is_ended = isinstance(error, asyncio.CancelledError) and self.task.cancelling() > 0
            self._rest(is_over=is_ended and not call.is_cancelled)
            self._raised(call, error, is_ended=is_ended)
            self._ceased()
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error

    def _broken(self, fault: BaseException) -> None:
        if isinstance(fault, KeyboardInterrupt | SystemExit):
            raise fault
        self.steps = None
        self.dismiss()
        self._runlist.recover(fault, self._guardian)

    def _rest(self, *, is_over: bool = False) -> None:
        """Be there for the next call, which may come before this one's result has left.

        Args:
            is_over: its task is to end, and it takes no further call.
        """
        self.call = self.steps = None
        if is_over or self._pool.is_closing:
            self.dismiss()
        else:
            self._pool.idle.append(self)

    def _ceased(self) -> None:
        """Be without work, or busy with the next; what was at hand is seen to."""
        kernel = self._guardian.kernel
        kernel.open_calls -= 1
        if not kernel.open_calls:
            self._runlist.look_around()

    def _come_back(self, error: BaseException | None) -> None:
        """Be there again; what the operator has come to is nobody's any more."""
        is_ended = self._pool.is_closing and isinstance(error, asyncio.CancelledError)
        if not is_ended:
            self.forget_cancels()
        self._count_astray(self._now())
        self._rest()
        self._runlist.begin()
        go_on(self._guardian)
        self._runlist.end()
        self._ceased()

    def _count_astray(self, at: float) -> None:
        """Give the worker's place back; what its operator took counts as time at work."""
        guardian, since = self._guardian, self.astray_since
        assert since is not None
        self.astray_since = None
        guardian.meter(at)
        guardian.opened -= 1
        guardian.working -= 1
        guardian.started_s = guardian.started_s - since if guardian.working else 0.0
        guardian.service.sum_s += at - since
        guardian.remeter()

    def _left(self, call: Call, result: Any, at: float) -> None:  # noqa: ANN401 - what an operator returns
        """Carry on what the operator returned."""
        lane = call.lane
        is_kept_out = self._begin_end(call, at)
        if call.is_cancelled:
            self._end_cancel(call, at)
        elif (result is None or type(result) is lane.plain) and not call.is_special(lane):
            self._left_simply(call, result, at)
        else:
            complete(call, result, at)
        self._end_end(is_kept_out)

    def _begin_end(self, call: Call, at: float) -> bool:
        """Begin to see to what became of a call; return what `_end_end` has to be told."""
        runlist = self._guardian.kernel.runlist
        call.worker = None
        runlist.begin()
        runlist.deadline = at + runlist.quantum
        # First downstream, then the next of the queue: what is in flight stays little.
        return self._keep_pump_out()

    def _end_end(self, is_kept_out: bool) -> None:
        """Begin what may begin at this node, now that there is room, and run what is due."""
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        if is_kept_out:
            guardian.is_pumping = False
        guardian.refresh()
        is_due = guardian.depth or guardian.waiters or guardian.finishing
        if is_due and not guardian.is_pumping:
            if runlist.stack:
                guardian.is_pumping = True
                runlist.stack.insert(0, (self._pool.pump, guardian, None))
            else:
                self._pool.pump(guardian, None)
        runlist.end()

    def _left_simply(self, call: Call, result: Any, at: float) -> None:  # noqa: ANN401, C901, PLR0912, PLR0915
        """Carry one output or none out of the node, as `complete`, `advance` and `settle` do.

        In line, for the head of its lane, whose output or none is all there is.
        """
        guardian = self._guardian
        kernel = guardian.kernel
        lane = call.lane
        route = lane.route
        event = call.event
        assert event is not None  # a `finish` is special
        output = target = None
        if guardian.is_metered:
            guardian.meter(at)
        if result is not None and route is not None and route.leads_on:
            output = make_event(lane, event, result)
            target = route.lane
            if target is None or target.guardian.free != INLINE:
                target = None
                hop = deliver(route, output, at)
                if hop is not None:
                    call.pending, call.output, call.route, call.ready_at = output, result, route, at
                    park(call, hop, at)
                    close_worker(call, at)
                    return
                guardian.emitted += 1
                guardian.blocked.fine += 1
                if call.is_settled:
                    return  # its output came back to its own node once too often
        spent = call.spent_s + at - call.started_at
        service = lane.service
        service.sum_s += spent
        if spent < FINE_S:
            service.fine += 1
        else:
            service.record_coarse(spent)
        call.is_open = call.is_running = False
        call.is_settled = True
        calls = lane.calls
        del calls[call]
        guardian.opened -= 1
        guardian.working -= 1
        guardian.started_s = guardian.started_s - call.started_at if guardian.working else 0.0
        guardian.dispatched -= 1
        lane.dispatched -= 1
        if guardian.is_metered:
            guardian.remeter()
        if call.scope is not lane.scope:
            lane.scope.state = call.scope.state
        kernel.in_flight -= 1
        lane.turn.in_flight -= 1
        if lane.turn.waiting_sources:
            leave(lane, 0)
        if target is not None:
            # Straight on into the next operator; counted by the edge.
            route.edge.inline += 1  # type: ignore[union-attr] # set together with route.lane
            pass_on(target, output, at)  # type: ignore[arg-type] # set together with target
        elif lane.quick:
            guardian.processed += 1
        else:
            count(lane, event, Settled.PROCESSED, at)
        if calls and guardian.keeps_order:
            self._pool.resume(next(iter(calls)), None)
        if lane.open_edges <= 0:
            try_close(lane)

    def _raised(self, call: Call, error: BaseException, *, is_ended: bool) -> None:
        at = self._now()
        is_kept_out = self._begin_end(call, at)
        call.lane.extra = None
        if call.is_cancelled:
            self._end_cancel(call, at)
        elif is_ended and not call.is_settled:
            # Not tried again: whoever ends this task would end the next try too.
            fail_call(call, wrap(call.lane, error), at)
        elif not call.is_settled:
            call_failed(call, error, at)
        self._end_end(is_kept_out)

    def _end_cancel(self, call: Call, at: float) -> None:
        """Settle a cancelled call; the cancellation was the call's, not this task's."""
        self.forget_cancels()
        end_cancelled(call, at)

    async def _carry_out(self, call: Call, outputs: AsyncIterator[Any]) -> None:
        """Ask for one output after the other, each when the last has left."""
        kernel = self._guardian.kernel
        now, runlist = kernel.now, kernel.runlist
        asked, slice_end = 0, now() + runlist.quantum
        async with closing(call.lane, outputs):
            while not call.is_settled and not call.is_cancelled:
                try:
                    output = await anext(outputs)
                except StopAsyncIteration:
                    return
                at = now()
                rest(call, at)
                if set_output(call, output, at):
                    kernel.runlist.begin()
                    advance(call, None)
                    kernel.runlist.end()
                    if call.output is not NOTHING and not call.is_settled:
                        call.wake = kernel.loop.create_future()
                        await sleep_until_woken(kernel, call.wake)
                        call.wake = None
                asked += 1
                is_due = at >= slice_end or asked > runlist.limit
                if is_due and _goes_on(call):
                    await runlist.breathe()  # it may never wait by itself
                    asked, slice_end = 0, now() + runlist.quantum
                if not call.is_settled:
                    work(call, now())


def _goes_on(call: Call) -> bool:
    return not (call.is_settled or call.is_cancelled)
