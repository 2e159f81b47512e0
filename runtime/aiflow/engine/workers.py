"""Operators that await or block: begun where the event is, finished on a worker task.

A coroutine's first step runs inline, as a plain function does, but in the name of one of the
node's k worker tasks: it finds that task as the current one and runs in that task's context.
A call that awaits nothing ends there and costs little more than a plain function. One that
suspends is handed to its worker, which awaits the rest and carries the result on. Async
iterators and blocking operators are the worker's from their beginning.

A cancelled turn cancels the call, never the worker. Blocking operators run in an executor and
cannot be cancelled: their worker stays busy until the thread comes back.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Executor
from typing import Any

from aiflow.engine.calls import advance, complete, make_event, set_output
from aiflow.engine.cells import INLINE, NOTHING, Call, Guardian, Kernel, Later, Settled
from aiflow.engine.closing import closing
from aiflow.engine.delivery import admit, deliver
from aiflow.engine.ending import try_close
from aiflow.engine.inline import InlineRunner, pass_on
from aiflow.engine.retrying import call_failed, end_cancelled
from aiflow.engine.rolling import can_roll, roll
from aiflow.engine.settling import close_worker, count, go_on, leave, rest, settle, work
from aiflow.engine.waiting import park
from aiflow.engine.waking import sleep_until_woken, wake
from aiflow.metrics.instruments import FINE_S

# For whoever steps coroutines himself; see "Extending asyncio" in Python's documentation.
_enter_task: Any = asyncio._enter_task  # noqa: SLF001
_leave_task: Any = asyncio._leave_task  # noqa: SLF001


class WorkerRunner(InlineRunner):
    """Runs one node's operator inline as far as it comes, and on worker tasks from there.

    Args:
        executor: where a blocking operator runs; None for one that awaits.

    Attributes:
        idle: workers without work, the one to be used next last.
        unbegun: calls that a worker has been handed and none of whose steps has run.
        coroutine: the operator's own function, where it is one.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._workers: list[Worker] = []
        self._guardian: Guardian | None = None
        self.idle: list[Worker] = []
        self.unbegun = 0
        self.coroutine: Callable[..., Coroutine[Any, Any, Any]] | None = None
        self.is_closing = False

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The worker tasks, busy or not."""
        return tuple(self._workers)

    @property
    def is_threaded(self) -> bool:
        """Whether the operator runs in an executor."""
        return self._executor is not None

    def open(self, guardian: Guardian) -> None:
        """Start the workers, and let the operator be called through them from now on."""
        self._guardian = guardian
        for _ in range(guardian.workers):
            self.idle.insert(0, self._add(guardian))
        if self._executor is None and inspect.iscoroutinefunction(guardian.process):
            self.coroutine = guardian.process
        guardian.process = self.begun(guardian.process)
        guardian.finish = self.begun(guardian.finish)

    def close(self, kernel: Kernel) -> None:
        """Let idle workers end now, and busy ones after their call."""
        self.is_closing = True
        while self.idle:
            self.idle.pop().nudge()
        for worker in self._workers:
            if worker.astray_since is not None and self.is_threaded:
                worker.task.cancel()  # a thread cannot be ended, but nobody awaits it any more

    def wake(self, guardian: Guardian) -> None:
        """Have the queue served soon, if a worker is free or somebody waits for room."""
        if guardian.opened < guardian.workers or guardian.waiters or guardian.finishing:
            super().wake(guardian)

    def cancel(self, call: Call, at: float) -> None:
        """Cancel the operator, or settle at once what only waits to leave."""
        if call.worker is None:
            super().cancel(call, at)
        else:
            call.is_cancelled = True
            call.worker.cancel_call()

    async def in_thread(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
        """Call a function in the executor and return what it returns."""
        assert self._guardian is not None
        loop = self._guardian.kernel.loop
        return await loop.run_in_executor(self._executor, function, *args)

    def _add(self, guardian: Guardian) -> Worker:
        worker = Worker(self, guardian, len(self._workers) + 1)
        self._workers.append(worker)
        return worker

    def _later(self, work: Awaitable[Any]) -> Worker:
        worker = self._free_worker()
        worker.take(work, NOTHING)
        self.unbegun += 1
        return worker

    def _free_worker(self) -> Worker:
        if self.idle:
            return self.idle.pop()
        # More workers than there were at the start: k was raised.
        assert self._guardian is not None
        return self._add(self._guardian)

    def begun(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that begins a call of the operator's function.

        It returns what the operator returned, or a worker where the rest comes later.
        """
        if self._executor is not None:
            return lambda *args: self._later(self._threaded(function, *args))
        if inspect.iscoroutinefunction(function):
            return self._first_step(function)
        if inspect.isasyncgenfunction(function):
            return lambda *args: self._later(_returned(function(*args)))
        return function

    def _first_step(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        assert self._guardian is not None
        loop, idle = self._guardian.kernel.loop, self.idle
        current, enter, quit_ = asyncio.current_task, _enter_task, _leave_task

        def begin(*args: object) -> Any:  # noqa: ANN401 - whatever the operator returns
            worker = idle.pop() if idle else self._free_worker()
            steps = function(*args)
            caller = current(loop)
            try:
                if caller is worker.task:
                    waits_for = steps.send(None)
                else:
                    if caller is not None:
                        quit_(loop, caller)
                    enter(loop, worker.task)
                    try:
                        waits_for = worker.context.run(steps.send, None)
                    finally:
                        quit_(loop, worker.task)
                        if caller is not None:
                            enter(loop, caller)
            except StopIteration as over:
                result = over.value
                if hasattr(result, "__anext__"):
                    worker.take(_returned(result))
                    return worker
                idle.append(worker)
                return result
            except BaseException:
                idle.append(worker)
                raise
            worker.take(steps, waits_for)
            return worker

        return begin

    async def _threaded(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
        result = await self.in_thread(function, *args)
        # A blocking generator blocks while it makes its outputs.
        return _Threaded(result, self.in_thread) if isinstance(result, Iterator) else result


class Worker(Later):
    """One task that finishes the operator's calls, one after the other.

    Attributes:
        call: what it is busy with, None while idle; `steps` what it awaits for it.
        astray_since: when it was left alone with a call whose time was over, and whose operator
            goes on all the same; None where it was not.
        task: its task. `context`: that task's context variables.
    """

    def __init__(self, runner: WorkerRunner, guardian: Guardian, number: int) -> None:
        self._runner = runner
        self._guardian = guardian
        self._now = guardian.kernel.now
        self._work: Awaitable[Any] | None = None
        self._waits_for: Any = None
        self._wake: asyncio.Future[None] | None = None
        self._has_slept = False
        self.call: Call | None = None
        self.steps: Awaitable[Any] | None = None
        self.astray_since: float | None = None
        self.context = contextvars.copy_context()
        guardian.kernel.open_calls += 1  # until it waits for work
        name = f"aiflow worker {guardian.id} {number}"
        self.task = guardian.kernel.loop.create_task(self._run(), name=name, context=self.context)

    @property
    def is_threaded(self) -> bool:
        """Whether its operator runs in an executor."""
        return self._runner.is_threaded

    @property
    def ends(self) -> bool:
        """Whether its task ends when the runner closes; else its operator is stuck."""
        return self.call is None and (self.astray_since is None or self.is_threaded)

    def take(self, work: Awaitable[Any], waits_for: object = None) -> None:
        """Take the rest of a call, which `take_over` tells.

        Args:
            work: what is to be awaited.
            waits_for: what it has yielded; `NOTHING` where it has not begun.
        """
        self._work, self._waits_for = work, waits_for

    def take_over(self, call: Call, at: float) -> None:
        """Await the rest of this call, whose operator has just suspended."""
        self.call = call
        call.worker = self
        if not call.is_running:
            work(call, at)
        self.nudge()

    def nudge(self) -> None:
        """Let the task look for work, if it waits for some."""
        if self._wake is not None:
            wake(self._guardian.kernel, self._wake)

    def cancel_call(self) -> None:
        """Cancel what the operator awaits; the worker itself goes on."""
        if self.call is None or self.is_threaded or self._work is not None:
            return  # a thread goes on, and its result is discarded; what is not begun is seen
        if self.task is not asyncio.current_task(self._guardian.kernel.loop):
            self.task.cancel()

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

    async def _run(self) -> None:
        try:
            while await self._wait_for_work():
                await self._finish_call()
        except Exception as error:  # noqa: BLE001 - a fault of the engine: an operator's is settled
            self._guardian.kernel.runlist.recover(error, self._guardian)
        finally:
            self._guardian.kernel.open_calls -= 1

    async def _wait_for_work(self) -> bool:
        """Wait to be handed a call; return False when there will be none any more."""
        kernel = self._guardian.kernel
        self._has_slept = False
        while self._work is None:
            if self._runner.is_closing:
                return False
            self._wake = kernel.loop.create_future()
            try:
                await sleep_until_woken(kernel, self._wake)
            except asyncio.CancelledError:
                # An operator may have asked for its own task's end in its first step.
                if self._work is None:
                    raise
            finally:
                self._wake = None
            self._has_slept = True
        return True

    async def _finish_call(self) -> None:
        """Await the rest of a call and carry on what comes of it; and so the queue behind it."""
        call = self.call
        assert call is not None
        guardian, runlist, now = self._guardian, self._guardian.kernel.runlist, self._now
        function = self._runner.coroutine if can_roll(guardian) else None
        slice_end = now() + runlist.quantum
        try:
            result = await self._rest_of(call)
            while function is not None and self.astray_since is None:
                at = now()
                if at >= slice_end:
                    break
                runlist.is_running = True
                runlist.deadline = at + runlist.quantum
                if not roll(guardian, call, result, at):
                    runlist.is_running = False
                    break
                event = call.event
                self.steps = steps = function(event.payload, call.scope)  # type: ignore[union-attr]
                if runlist.stack or guardian.waiters:
                    result = await self._among_others(call, steps, at)
                else:
                    runlist.end()
                    result = await steps
            if type(result) is not call.lane.plain and hasattr(result, "__anext__"):
                await self._carry_out(call, result)
                result = None
        except BaseException as error:  # noqa: BLE001 - the border: whatever an operator raises
            if self.astray_since is None:
                self._rest()
                self._raised(call, error)
            else:
                self._come_back(error)
        else:
            if self.astray_since is None:
                self._rest()
                self._returned(call, result)
            else:
                self._come_back(None)

    async def _among_others(self, call: Call, steps: Coroutine[Any, Any, Any], at: float) -> Any:  # noqa: ANN401 - whatever an operator returns
        """Begin a call behind what is downstream of it, and before those who waited for its place.

        That is the order of the long way, which a run takes when it is looked at.
        """
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        try:
            if runlist.stack:
                runlist.drain()
            if guardian.waiters:
                admit(guardian, at)
            if call.is_cancelled:
                steps.close()
                raise asyncio.CancelledError
            waits_for = steps.send(None)
        except StopIteration as over:
            return over.value
        finally:
            runlist.end()
        return await _resumed(steps, waits_for, gives_way=True)

    async def _rest_of(self, call: Call) -> Any:  # noqa: ANN401 - whatever an operator returns
        """Return what an operator returns of which the beginning has run inline."""
        await self._begin()
        waits_for, self._work, self._waits_for = self._waits_for, None, None
        if call.is_cancelled:
            return await _resumed(self.steps, None, asyncio.CancelledError())
        return await _resumed(self.steps, waits_for, gives_way=not self._has_slept)

    async def _begin(self) -> None:
        """Wait, so that calls of which nothing has run begin in the order in which they came."""
        self.steps = self._work
        if self._waits_for is NOTHING:
            if self._runner.unbegun > 1:
                await asyncio.sleep(0)
            self._runner.unbegun -= 1
            self._waits_for = None
            self._has_slept = True

    def _rest(self) -> None:
        """Be there for the next call, which may come before this one's result has left."""
        self.call = self.steps = self._work = None
        self._runner.idle.append(self)

    def _come_back(self, error: BaseException | None) -> None:
        """Be there again; what the operator has come to is nobody's any more."""
        is_ended = self._runner.is_closing and isinstance(error, asyncio.CancelledError)
        if not is_ended:
            while self.task.cancelling():
                self.task.uncancel()
        self._count_astray(self._now())
        self._rest()
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        runlist.begin()
        go_on(guardian)
        runlist.end()
        if error is not None and (is_ended or isinstance(error, KeyboardInterrupt | SystemExit)):
            raise error

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

    def _returned(self, call: Call, result: Any) -> None:  # noqa: ANN401
        """Carry on what the operator returned."""
        lane = call.lane
        at = self._now()
        has_pump = self._begin_end(call, at)
        if call.is_cancelled:
            self._end_cancel(call, at)
        elif (result is None or type(result) is lane.plain) and not call.is_special(lane):
            self._left_simply(call, result, at)
        else:
            complete(call, result, at)
        self._end_end(has_pump)

    def _begin_end(self, call: Call, at: float) -> bool:
        """Begin to see to what became of a call; return what `_end_end` has to be told."""
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        call.worker = None
        runlist.begin()
        runlist.deadline = at + runlist.quantum
        # First downstream, then the next of the queue: what is in flight stays little.
        has_pump, guardian.is_pumping = guardian.is_pumping, True
        return has_pump

    def _end_end(self, has_pump: bool) -> None:
        """Begin what may begin at this node, now that there is room, and run what is due."""
        guardian, runlist = self._guardian, self._guardian.kernel.runlist
        guardian.is_pumping = has_pump
        guardian.refresh()
        if not has_pump and (guardian.depth or guardian.waiters or guardian.finishing):
            if runlist.stack:
                guardian.is_pumping = True
                runlist.stack.insert(0, (self._runner.pump, guardian, None))
            else:
                self._runner.pump(guardian, None)
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
            self._runner.resume(next(iter(calls)), None)
        if lane.open_edges <= 0:
            try_close(lane)

    def _raised(self, call: Call, error: BaseException) -> None:
        at = self._now()
        has_pump = self._begin_end(call, at)
        call.lane.extra = None
        # Asked from outside to end, as a loop does with all tasks when it closes. A
        # CancelledError that nobody asked for is an operator's failure like any other.
        was_cancelled = call.is_cancelled
        is_ended = isinstance(error, asyncio.CancelledError) and bool(self.task.cancelling())
        if was_cancelled:
            self._end_cancel(call, at)
        elif is_ended:
            settle(call, Settled.CANCELLED, at)
        elif not call.is_settled:
            call_failed(call, error, at)
        self._end_end(has_pump)
        if isinstance(error, KeyboardInterrupt | SystemExit) or (is_ended and not was_cancelled):
            raise error

    def _end_cancel(self, call: Call, at: float) -> None:
        """Settle a cancelled call; the cancellation was the call's, not this task's."""
        while self.task.cancelling():
            self.task.uncancel()
        end_cancelled(call, at)

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


async def _returned(result: Any) -> Any:  # noqa: ANN401 - whatever an operator returned
    return result


@types.coroutine
def _resumed(
    steps: Any,  # noqa: ANN401 - a coroutine, begun or not
    waits_for: Any,  # noqa: ANN401 - what it has yielded: a future, or None to be called again
    error: BaseException | None = None,
    *,
    gives_way: bool = False,
) -> Generator[Any, Any, Any]:
    """Go on with a coroutine that has yielded; first of all raise an error in it, if given."""
    while True:
        if error is not None:
            try:
                waits_for, error = steps.throw(error), None
            except StopIteration as over:
                return over.value
        if waits_for is None and not gives_way:
            # It gave way for a moment, which has passed; or has not begun.
            return (yield from steps)
        try:
            yield waits_for
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as raised:  # noqa: BLE001 - handed on to whom it is for
            error = raised
        else:
            return (yield from steps)


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
