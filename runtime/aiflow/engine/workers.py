"""Operators that await or block: long-lived worker tasks, k of them, owned by the runner.

A worker takes an event, waits for its operator, hands the result to `calls` and takes the
next; only for an async iterator does it stay until each output has left. A cancelled turn
cancels the call, never the worker. Blocking operators run in an executor and cannot be
cancelled: their worker stays busy until the thread comes back.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from typing import Any

from aiflow.engine.calls import (
    advance,
    complete,
    keep_call,
    make_event,
    output_left,
    set_output,
    wrap,
)
from aiflow.engine.cells import (
    INLINE,
    NOTHING,
    Call,
    EdgeState,
    Event,
    Guardian,
    Kernel,
    Lane,
    Settled,
)
from aiflow.engine.closing import closing
from aiflow.engine.delivery import admit, deliver, take
from aiflow.engine.ending import try_close
from aiflow.engine.failing import fail_call
from aiflow.engine.inline import pass_on
from aiflow.engine.settling import close_worker, count, go_on, leave, rest, settle, work
from aiflow.engine.waiting import park
from aiflow.engine.waking import sleep_until_woken, wake
from aiflow.metrics.instruments import FINE_S


class WorkerRunner:
    """Runs one node's operator on worker tasks.

    Args:
        executor: where a blocking operator runs; None for one that awaits.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._idle: list[asyncio.Future[None]] = []
        self._workers: list[Worker] = []
        self.is_closing = False

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The worker tasks, busy or not."""
        return tuple(self._workers)

    def open(self, guardian: Guardian) -> None:
        """Start the workers."""
        for number in range(guardian.workers):
            self._workers.append(Worker(self, guardian, self._executor, number))

    def close(self, kernel: Kernel) -> None:
        """Let idle workers end now, and busy ones after their call."""
        self.is_closing = True
        while self._idle:
            wake(kernel, self._idle.pop())

    async def wait_idle(self, guardian: Guardian) -> None:
        """Wait until there may be something to take."""
        idle = guardian.kernel.loop.create_future()
        self._idle.append(idle)
        await sleep_until_woken(guardian.kernel, idle)

    def wake(self, guardian: Guardian) -> None:
        """Wake a worker if there is one without work; serve those who wait for room."""
        if guardian.waiters and not guardian.is_pumping:
            guardian.is_pumping = True
            guardian.kernel.runlist.push(self._admit, guardian, None)
        has_work = guardian.depth or guardian.finishing
        if self._idle and has_work and guardian.dispatched < guardian.window:
            wake(guardian.kernel, self._idle.pop())

    def start(self, lane: Lane, arrival: tuple[Event, EdgeState]) -> None:
        """Never called: an operator that awaits does not run inline."""
        raise AssertionError(f"{lane.guardian.id} was claimed to run {arrival} inline")

    def resume(self, call: Call, _: object) -> None:
        """Go on with a call that has become the head of its lane."""
        if call.output is not NOTHING:
            advance(call, None)

    def left(self, call: Call, at: float) -> None:
        """Count the output that has left; its worker, if it has one, is woken."""
        output_left(call, at)
        if call.worker is None:
            advance(call, None)

    def cancel(self, call: Call, at: float) -> None:
        """Cancel the operator, or settle at once what only waits to leave."""
        call.is_cancelled = True
        if call.worker is None:
            settle(call, Settled.CANCELLED, at)
        else:
            call.worker.cancel_call()

    def _admit(self, guardian: Guardian, _: object) -> None:
        guardian.is_pumping = False
        admit(guardian, guardian.kernel.now())


class Worker:
    """One task that calls the operator for one event after the other.

    Attributes:
        call: what it is busy with, None while idle.
        task: its task.
    """

    def __init__(
        self, runner: WorkerRunner, guardian: Guardian, executor: Executor | None, number: int
    ) -> None:
        self._runner = runner
        self._guardian = guardian
        self._executor = executor
        self._slice_end = 0.0
        self._now = guardian.kernel.now
        self._spare: Call | None = None
        # A coroutine function on the loop: no executor, no iterator, no awaitable by chance.
        self._is_plain = executor is None and inspect.iscoroutinefunction(guardian.process)
        self.call: Call | None = None
        guardian.kernel.open_calls += 1  # until it waits for work
        name = f"aiflow worker {guardian.id} {number + 1}"
        self.task = guardian.kernel.loop.create_task(self._run(), name=name)

    @property
    def is_threaded(self) -> bool:
        """Whether its operator runs in an executor."""
        return self._executor is not None

    def cancel_call(self) -> None:
        """Cancel what the operator awaits; the worker itself goes on."""
        call = self.call
        if call is None or self._executor is not None:
            return  # a thread cannot be cancelled: what it returns is discarded
        if self.task is not asyncio.current_task(self._guardian.kernel.loop):
            self.task.cancel()

    async def _run(self) -> None:
        try:
            await self._serve()
        finally:
            self._guardian.kernel.open_calls -= 1

    async def _serve(self) -> None:
        """Take one event after the other until the runner closes."""
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        ready, is_short = guardian.ready, self._is_plain and len(guardian.ports) == 1
        events = 0
        at = self._now()
        while True:
            if (
                is_short
                and ready
                and guardian.dispatched < guardian.window
                and guardian.opened < guardian.workers
                and not guardian.finishing
            ):
                at = await self._handle_short(at)
            else:
                runlist.is_running = True
                taken = take(guardian, at)
                runlist.is_running = False
                if taken is None:
                    # Nothing may run between this look at the queue and getting in line.
                    if self._runner.is_closing:
                        return
                    await self._runner.wait_idle(guardian)
                    at = self._now()
                    continue
                if runlist.stack:
                    runlist.end()
                at = await self._handle(*taken, at)
            events += 1
            if at >= self._slice_end or events > runlist.limit:
                events = 0
                await runlist.breathe()
                at = self._now()
                self._slice_end = at + runlist.quantum

    async def _handle_short(self, at: float) -> float:  # noqa: C901, PLR0912, PLR0915
        """Take the next event and do for it what `take`, `_handle` and `settle` do, in line.

        For a coroutine function in a node with one in-port; the caller has seen that there
        is an event and that it may be begun. Whatever is out of the ordinary goes the long
        way. Returns the time afterwards.
        """
        guardian = self._guardian
        kernel = guardian.kernel
        runlist = kernel.runlist
        ready = guardian.ready
        if guardian.is_metered:
            guardian.meter(at)
        lane = ready[0]
        event, since, edge, _stamp = lane.queues[0].popleft()
        lane.depth -= 1
        guardian.depth -= 1
        if not lane.depth:
            ready.popleft()
        elif len(ready) > 1:
            ready.rotate(-1)
        edge.taken += 1
        waited = at - since
        wait = guardian.wait
        wait.sum_s += waited
        if waited < FINE_S:
            wait.fine += 1
        else:
            wait.record_coarse(waited)
        guardian.dispatched += 1
        lane.dispatched += 1
        if guardian.waiters:
            runlist.is_running = True
            admit(guardian, at)
            runlist.end()
        call = self._take_call(lane, event)
        if lane.is_dead:
            settle(call, Settled.CANCELLED, at)
            return at
        scope = lane.scope
        if guardian.window > 1:
            scope = call.scope = scope.fork(call.collect)
            lane.scope.event = event
        scope.event = event
        call.worker = self
        self.call = call
        call.is_open = call.is_running = True
        call.started_at = at
        guardian.opened += 1
        guardian.working += 1
        guardian.started_s += at
        try:
            result = await lane.process(event.payload, scope)
        except BaseException as error:  # noqa: BLE001 - the border: whatever an operator raises
            self.call = None
            self._raised(call, error)
            return self._now()
        self.call = None
        began, at = at, self._now()
        route = lane.route
        is_simple = result is None or type(result) is lane.plain
        if not is_simple or call.is_special(lane):
            self._returned(call, result)
            return self._now()
        runlist.is_running = True
        target = None
        if result is not None and route is not None and route.hops:
            event = make_event(lane, event, result)
            target = route.lane
            if target is None or target.guardian.free != INLINE:
                target = None
                hop = deliver(route, event, at)
                if hop is not None:
                    self._park(call, event, result, hop, at)
                    return at
                guardian.emitted += 1
                guardian.blocked.fine += 1
        spent = at - began
        service = lane.service
        service.sum_s += spent
        if spent < FINE_S:
            service.fine += 1
        else:
            service.record_coarse(spent)
        call.worker = None
        call.is_open = call.is_running = False
        call.is_settled = True
        self._spare = call
        del lane.calls[call]
        guardian.opened -= 1
        guardian.working -= 1
        guardian.started_s = guardian.started_s - began if guardian.working else 0.0
        guardian.dispatched -= 1
        lane.dispatched -= 1
        if guardian.is_metered:
            guardian.meter(at)
            guardian.remeter()
        kernel.in_flight -= 1
        lane.turn.in_flight -= 1
        if lane.turn.waiting_sources:
            leave(lane, 0)
        if target is not None:
            # Straight on into an operator that is a plain function; counted by the edge.
            route.edge.inline += 1  # type: ignore[union-attr] # set together with route.lane
            runlist.deadline = at + runlist.quantum
            pass_on(target, event, at)
        elif lane.quick:
            guardian.processed += 1
        else:
            count(lane, event, Settled.PROCESSED, at)
        if guardian.depth and guardian.workers > 1:
            self._runner.wake(guardian)
        if lane.open_edges <= 0:
            try_close(lane)
        if runlist.stack:
            runlist.end()
        else:
            runlist.is_running = False
        return at if target is None else self._now()

    async def _handle(
        self, lane: Lane, event: Event | None, edge: EdgeState | None, at: float
    ) -> float:
        """Call the operator for one event, or its `finish`, and settle whatever happens."""
        guardian = self._guardian
        call = self._take_call(lane, event)
        if lane.is_dead:
            settle(call, Settled.CANCELLED, at)
            return at
        if guardian.window > 1:
            call.scope = lane.scope.fork(call.collect)
        scope = call.scope
        scope.port = "" if edge is None else edge.plan.target_port
        if event is not None:
            scope.event = lane.scope.event = event
        call.worker = self
        self.call = call
        work(call, at)
        try:
            if event is None:
                result = await self._call(guardian.finish, scope)
            else:
                result = await self._call(guardian.process, event.payload, scope)
            if isinstance(result, AsyncIterator):
                await self._carry_out(call, result)
                result = None
        except BaseException as error:  # noqa: BLE001 - the border: whatever an operator raises
            self._raised(call, error)
        else:
            self._returned(call, result)
        finally:
            self.call = None
        return self._now()

    def _take_call(self, lane: Lane, event: Event | None) -> Call:
        """Return a call, kept in its lane; the last one anew if it came to nothing else."""
        call, self._spare = self._spare, None
        if call is None:
            return keep_call(lane, event)
        call.lane, call.event, call.scope = lane, event, lane.scope
        call.is_settled = False
        call.spent_s = 0.0
        lane.calls[call] = None
        return call

    def _park(
        self,
        call: Call,
        output: Event,
        payload: Any,  # noqa: ANN401 - payloads are any type
        hop: tuple[EdgeState, Lane],
        at: float,
    ) -> None:
        """Let the one output of a call wait for room; the worker is free if the window is."""
        call.worker = None
        call.pending, call.output, call.route, call.ready_at = output, payload, call.lane.route, at
        park(call, hop, at)
        close_worker(call, at)
        go_on(self._guardian)
        self._guardian.kernel.runlist.end()

    async def _call(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
        if self._executor is None:
            result = function(*args)
            return await result if hasattr(result, "__await__") else result
        result = await self._in_thread(function, *args)
        if isinstance(result, Iterator):
            # A blocking generator blocks while it makes its outputs.
            return _Threaded(result, self._in_thread)
        return result

    async def _in_thread(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
        loop = self._guardian.kernel.loop
        return await loop.run_in_executor(self._executor, function, *args)

    async def _carry_out(self, call: Call, outputs: AsyncIterator[Any]) -> None:
        """Ask for one output after the other, each when the last has left."""
        kernel = self._guardian.kernel
        now = kernel.now
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
                if not call.is_settled:
                    work(call, now())

    def _returned(self, call: Call, result: Any) -> None:  # noqa: ANN401
        kernel = self._guardian.kernel
        call.worker = None
        kernel.runlist.begin()
        if call.is_cancelled:
            self._end_cancel(call, kernel.now())
        else:
            complete(call, result, kernel.now())
        kernel.runlist.end()

    def _raised(self, call: Call, error: BaseException) -> None:
        kernel = self._guardian.kernel
        at = kernel.now()
        call.worker = None
        call.lane.extra = None
        # Asked from outside to end, as a loop does with all tasks when it closes. A
        # CancelledError that nobody asked for is an operator's failure like any other.
        is_ended = isinstance(error, asyncio.CancelledError) and bool(self.task.cancelling())
        kernel.runlist.begin()
        if call.is_cancelled:
            self._end_cancel(call, at)
        elif is_ended:
            settle(call, Settled.CANCELLED, at)
        elif not call.is_settled:
            rest(call, at)
            fail_call(call, wrap(call.lane, error), at)
        kernel.runlist.end()
        if isinstance(error, KeyboardInterrupt | SystemExit) or (
            is_ended and not call.is_cancelled
        ):
            raise error

    def _end_cancel(self, call: Call, at: float) -> None:
        """Settle a cancelled call; the cancellation was the call's, not this task's."""
        while self.task.cancelling():
            self.task.uncancel()
        settle(call, Settled.CANCELLED, at)


class _Threaded:
    """An iterator of a blocking operator, asked for its outputs in the executor."""

    def __init__(self, outputs: Iterator[Any], run: Callable[..., Any]) -> None:
        self._outputs = outputs
        self._run = run

    def __aiter__(self) -> _Threaded:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401
        output = await self._run(next, self._outputs, self)
        if output is self:
            raise StopAsyncIteration
        return output

    async def aclose(self) -> None:
        """Close the iterator where it ran."""
        close = getattr(self._outputs, "close", None)
        if close is not None:
            await self._run(close)
