"""Stepping: operators' coroutines, run step by step in the name of one task.

A task of asyncio runs one coroutine. To hand it another takes a future and a turn of the loop,
which costs more than most operators' own work. So the task here stands by: it is what the
coroutines find as the current task, with its context variables, and whoever cancels it cancels
what they await. Their steps are callbacks of the loop, and the first may be taken anywhere.
"""

from __future__ import annotations

import asyncio
import contextvars
import types
from collections.abc import Coroutine, Generator
from typing import Any, Self

from aiflow.engine.cells import NOTHING, Later
from aiflow.engine.runlist import RunList

Steps = Coroutine[Any, Any, Any]

_ATTRIBUTE = "_aiflow_round"

# For whoever steps coroutines himself; see "Extending asyncio" in Python's documentation.
enter_task: Any = asyncio._enter_task  # noqa: SLF001
leave_task: Any = asyncio._leave_task  # noqa: SLF001


class Round:
    """Who is to be stepped in the next turn of a loop, and waits for nothing else.

    One callback for all of them: to have the loop call each costs as much as the step itself.
    Who is stepped and is to be stepped again keeps its place before whom it has begun meanwhile,
    so what is upstream finds the next node at work, and leaves its output in the queue there.

    Args:
        loop: that has turns.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # A callback must have a context that is in use nowhere else, also in a nested loop.
        self._context = contextvars.copy_context()
        self._is_called = False
        self.line: list[Stepper] = []

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Self:
        """Return the one round of a loop; it lives as long as the loop."""
        found: Self | None = getattr(loop, _ATTRIBUTE, None)
        if found is None:
            found = cls(loop)
            setattr(loop, _ATTRIBUTE, found)
        return found

    def add(self, stepper: Stepper) -> None:
        """Have somebody stepped in the next turn, who is not in line yet."""
        self.line.append(stepper)
        if not self._is_called:
            self._loop.call_soon(self.run, context=self._context)
            self._is_called = True

    def run(self) -> None:
        """Step each of those who are in line now.

        Raises:
            KeyboardInterrupt, SystemExit: one asks for the end of all; the others stay in line.
        """
        steppers = iter(self.line)
        line: list[Stepper] = []
        self.line = line
        self._is_called = True  # which it is below, if anybody is in line
        try:
            for stepper in steppers:
                place = len(line)
                if stepper.step():
                    line.insert(place, stepper)
        finally:
            line += steppers
            self._is_called = bool(line)
            if line:
                self._loop.call_soon(self.run, context=self._context)


class Stepper(Later):
    """Runs one coroutine after the other, each as if it were the one of `task`.

    Args:
        loop: whose turn of steps it takes part in.
        runlist: that loop's; what a step has put there is run after it.
        name: of the task.

    Attributes:
        steps: the coroutine at hand, None while there is none.
        task: what the coroutines find as the current task. `context`: its variables.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, runlist: RunList, name: str) -> None:
        self._loop = loop
        self._runlist = runlist
        # What it has yielded: a future, None to be called again, NOTHING before its first step.
        self._waits_for: Any = NOTHING
        self._error: BaseException | None = None
        self._parked: asyncio.Future[None] | None = None
        self._is_over = False
        self.steps: Steps | None = None
        self.context = contextvars.copy_context()
        self._round = Round.of(loop)
        self._outside = contextvars.copy_context()
        self._again = self._go_on
        stand_by = self._stand_by()
        stand_by.send(None)  # up to where a cancel reaches it, also before the task's first step
        self.task = loop.create_task(stand_by, name=name, context=self.context)

    def take(self, steps: Steps, waits_for: object = NOTHING) -> None:
        """Take a coroutine, which is stepped from the next turn of the loop on.

        Args:
            steps: while none is at hand.
            waits_for: what it has yielded; `NOTHING` where it has not begun.
        """
        self.steps = steps
        self._waits_for = waits_for
        if waits_for is None or waits_for is NOTHING or self._waits_in_vain():
            self._round.add(self)

    def step(self) -> bool:  # noqa: C901 - every step pays for each call
        """Go on with the coroutine until it waits, and with what comes after it.

        Returns:
            Whether it waits for nothing but the next turn.

        Raises:
            KeyboardInterrupt, SystemExit: the coroutine asks for the end of all.
        """
        loop, task, run, runlist = self._loop, self.task, self.context.run, self._runlist
        steps = self.steps
        assert steps is not None
        ended = 0
        try:
            while True:
                error = self._error
                enter_task(loop, task)
                try:
                    if error is None:
                        self._waits_for = run(steps.send, None)
                    else:
                        self._error = None
                        self._waits_for = run(steps.throw, error)
                except StopIteration as over:
                    result = over.value
                except BaseException as failure:  # noqa: BLE001 - the border: whatever it raises
                    leave_task(loop, task)
                    if runlist.is_running:
                        runlist.end()
                    self._failed(failure)
                    return False
                else:
                    leave_task(loop, task)
                    if runlist.is_running:
                        runlist.end()
                    return self._waits_for is None or self._waits_in_vain()
                leave_task(loop, task)
                if runlist.is_running:
                    runlist.end()
                if task.cancelling():
                    self.forget_cancels()
                following = self._returned(result, ended)
                if following is None:
                    return False
                self.steps = steps = following
                ended += 1
        except BaseException as fault:  # noqa: BLE001 - the engine's own: an operator's is seen to
            self._broken(fault)
            return False

    def interrupt(self, error: BaseException) -> None:
        """Cancel what the coroutine waits for, or raise the error in its next step."""
        waits_for = self._waits_for
        if waits_for is None or waits_for is NOTHING or not waits_for.cancel(*error.args):
            self._error = error

    def dismiss(self) -> None:
        """Let the task end; nothing is at hand, nor will be."""
        self._is_over = True
        if self._parked is not None and not self._parked.done():
            self._parked.set_result(None)

    def forget_cancels(self) -> None:
        """Let the task be as if nobody had asked for its end: that was the coroutine's affair."""
        while self.task.cancelling():
            self.task.uncancel()

    def _returned(self, result: Any, ended: int) -> Steps | None:  # noqa: ANN401 - what an operator returns
        """See to what a coroutine has returned.

        Args:
            result: whatever it was.
            ended: coroutines that ended in this step before it.

        Returns:
            What is to be stepped next, at once; None where there is nothing.
        """
        raise NotImplementedError

    def _failed(self, error: BaseException) -> None:
        """See to what a coroutine has raised."""
        raise NotImplementedError

    def _broken(self, fault: BaseException) -> None:
        """See to an error of what sees to coroutines."""
        raise NotImplementedError

    def _go_on(self, _: object) -> None:
        """Take the next step, now that what the coroutine waited for is there."""
        if self.step():
            self._round.add(self)

    def _waits_in_vain(self) -> bool:
        """Wait for what the coroutine has yielded; say whether nobody can, and it is to be told."""
        waits_for = self._waits_for
        wrong = self._wrong_with(waits_for)
        if wrong is None:
            waits_for._asyncio_future_blocking = False  # noqa: SLF001 - the protocol of futures
            waits_for.add_done_callback(self._again, context=self._outside)
            return False
        self._waits_for, self._error = None, RuntimeError(wrong)
        return True

    def _wrong_with(self, waits_for: Any) -> str | None:  # noqa: ANN401 - what a coroutine may await is any object
        """Return why this cannot be waited for, in the words of asyncio's tasks."""
        is_blocking = getattr(waits_for, "_asyncio_future_blocking", None)
        if is_blocking is None:
            return f"Task got bad yield: {waits_for!r}"
        if waits_for.get_loop() is not self._loop:
            return f"Task {self.task!r} got Future {waits_for!r} attached to a different loop"
        if waits_for is self.task:
            return f"Task cannot await on itself: {self.task!r}"
        if not is_blocking:
            return f"yield was used instead of yield from in task {self.task!r} with {waits_for!r}"
        return None

    async def _stand_by(self) -> None:
        while not self._is_over:
            try:
                if self._parked is None:
                    self._parked = self._loop.create_future()
                    await _begun()
                else:
                    self._parked = self._loop.create_future()
                    await self._parked
            except asyncio.CancelledError as error:
                # A cancel that has been taken back is nobody's any more.
                if not self.task.cancelling():
                    continue
                if self.steps is None:
                    raise
                self.interrupt(error)
        if self.task.cancelling():
            raise asyncio.CancelledError


@types.coroutine
def _begun() -> Generator[None, None, None]:
    """Yield once, to whoever takes a coroutine's first step before its task does."""
    yield
