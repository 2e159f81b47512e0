"""Waking a task: a future says that it may go on, and carries nothing.

A task that waits counts as doing nothing, from its waker's call on as being at work; so it
can be told exactly when everything waits and nothing ever will wake it.
"""

from __future__ import annotations

import asyncio

from aiflow.engine.cells import Kernel, Lane


async def sleep_until_woken(kernel: Kernel, future: asyncio.Future[None]) -> None:
    """Wait for `wake` to be called with this future."""
    kernel.open_calls -= 1
    kernel.runlist.look_around()
    try:
        await future
    except BaseException:
        # Cancelled: nobody's wake-up has been lost, because it carries nothing.
        if future.cancelled():
            kernel.open_calls += 1
        raise


def wake(kernel: Kernel, future: asyncio.Future[None]) -> None:
    """Let the task that waits for this future go on; safe to repeat."""
    if not future.done():
        future.set_result(None)
        kernel.open_calls += 1


def tell_joins(lane: Lane) -> None:
    """Let the joins behind a lane look again: a watermark may have moved without an event."""
    for join in lane.joins:
        gate = join.guardian.gate
        if gate is not None and (join.depth or join.waiting):
            gate.stir(join)
            join.guardian.runner.wake(join.guardian)
