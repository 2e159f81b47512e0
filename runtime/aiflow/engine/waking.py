"""Waking a task: a future says that it may go on, and carries nothing.

A task that waits counts as doing nothing, from its waker's call on as being at work; so it
can be told exactly when everything waits and nothing ever will wake it.
"""

from __future__ import annotations

import asyncio

from aiflow.engine.cells import Kernel


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
