"""Run coroutines on the virtual clock: a test of an hour takes as long as its code takes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from aiflow.clock import VirtualLoop

T = TypeVar("T")


def run_virtual(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new virtual loop, whose time begins at 0.

    Raises:
        VirtualTimeStuckError: it waits for something that is not on this loop.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
