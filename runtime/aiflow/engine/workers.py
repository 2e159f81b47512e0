"""Operators that await or block: begun where the event is, finished on a worker.

A coroutine's first step runs inline, as a plain function does, but in the name of one of the
node's k workers: it finds that worker's task as the current one, and its context. A call that
awaits nothing ends there and costs little more than a plain function. One that suspends is the
worker's, which takes its further steps and carries the result on. Async iterators and blocking
operators are the worker's from their beginning. What a worker does is told in `worker`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from typing import Any

from aiflow.engine.cells import NOTHING, Call, Guardian, Kernel
from aiflow.engine.inline import InlineRunner
from aiflow.engine.stepping import Steps, enter_task, leave_task
from aiflow.engine.worker import Worker


class WorkerRunner(InlineRunner):
    """Runs one node's operator inline as far as it comes, and on worker tasks from there.

    Args:
        executor: where a blocking operator runs; None for one that awaits.

    Attributes:
        idle: workers without work, the one to be used next last.
        coroutine: the operator's own function, where it is one.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._workers: list[Worker] = []
        self._guardian: Guardian | None = None
        self.idle: list[Worker] = []
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
            self.idle.pop().dismiss()
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

    async def in_thread(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call a function in the executor and return what it returns."""
        assert self._guardian is not None
        loop = self._guardian.kernel.loop
        return await loop.run_in_executor(self._executor, _called, function, *args)

    def _add(self, guardian: Guardian) -> Worker:
        worker = Worker(self, guardian, len(self._workers) + 1)
        self._workers.append(worker)
        return worker

    def _later(self, steps: Steps) -> Worker:
        worker = self._free_worker()
        worker.take(steps)
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
        current = asyncio.current_task
        last: type | None = None  # of what was returned last and is no stream

        def begin(payload: Any, scope: Any = NOTHING) -> Any:  # noqa: ANN401 - an operator's own
            nonlocal last
            worker = idle.pop() if idle else self._free_worker()
            # `finish` is called with a scope alone.
            steps = function(payload) if scope is NOTHING else function(payload, scope)
            caller = current(loop)
            if caller is not None:
                leave_task(loop, caller)
            enter_task(loop, worker.task)
            try:
                waits_for = worker.context.run(steps.send, None)
            except StopIteration as over:
                result = over.value
                if worker.task.cancelling():
                    worker.forget_cancels()
                if type(result) is not last:
                    if hasattr(type(result), "__anext__"):
                        worker.take(_returned(result))
                        return worker
                    last = type(result)
                idle.append(worker)
                return result
            except BaseException:
                idle.append(worker)
                raise
            finally:
                leave_task(loop, worker.task)
                if caller is not None:
                    enter_task(loop, caller)
            worker.take(steps, waits_for)
            return worker

        return begin

    async def _threaded(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        result = await self.in_thread(function, *args)
        # A blocking generator blocks while it makes its outputs.
        return _Threaded(result, self.in_thread) if hasattr(type(result), "__next__") else result


def _called(function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
    """Call a function; a StopIteration of it, which no future takes, is named as what it is."""
    try:
        return function(*args)
    except StopIteration as stop:
        raise RuntimeError("the operator raised StopIteration") from stop


async def _returned(result: Any) -> Any:  # noqa: ANN401 - whatever an operator returned
    return result


class _Threaded:
    """An iterator of a blocking operator, asked for its outputs in the executor."""

    def __init__(self, outputs: Iterator[Any], run: Callable[..., Any]) -> None:
        self._outputs = outputs
        self._run = run

    def __aiter__(self) -> _Threaded:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - what an operator returns
        output = await self._run(next, self._outputs, self)
        if output is self:
            raise StopAsyncIteration
        return output

    async def aclose(self) -> None:
        """Close the iterator where it ran."""
        close = getattr(self._outputs, "close", None)
        if close is not None:
            await self._run(close)
