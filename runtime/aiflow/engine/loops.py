"""Event loops by name: the entry-point group `aiflow.loops`.

asyncio and uvloop come from here, the studio brings qasync. Each entry point is a callable
without arguments that returns a new loop which nobody runs yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from aiflow.errors import PluginError

GROUP = "aiflow.loops"
#: What an operator gets that has not ended in the time that its session gave it.
LAST_CHANCE_S = 0.5

#: Kept for good: collecting such a task would end its operator once more, on a loop that is gone.
_left_behind: set[asyncio.Task[object]] = set()


def asyncio_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop of the standard library."""
    return asyncio.new_event_loop()


def uvloop_loop() -> asyncio.AbstractEventLoop:
    """Return a new uvloop loop.

    Raises:
        PluginError: uvloop is not installed (it does not exist for Windows).
    """
    try:
        uvloop = import_module("uvloop")
    except ImportError as error:
        raise PluginError(
            "uvloop", "aiflow-runtime", 'it is not installed; pip install "aiflow-runtime[uvloop]"'
        ) from error
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def close_loop(runner: asyncio.Runner, within_s: float = LAST_CHANCE_S) -> bool:
    """Close a runner whose run has ended, without waiting for an operator that never does.

    `Runner.close` waits for every task, however long. Whoever swallows its cancellation was
    reported by its session, and is left behind here.

    Args:
        runner: whose loop does not run now.
        within_s: seconds that the tasks get.

    Returns:
        Whether all tasks have ended.
    """
    loop = runner.get_loop()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    left: set[asyncio.Task[object]] = set()
    if tasks:
        _, left = loop.run_until_complete(asyncio.wait(tasks, timeout=within_s))
    if not left:
        runner.close()
        return True
    _left_behind.update(left)
    loop.set_exception_handler(lambda _loop, _context: None)  # they have been reported
    loop.close()
    asyncio.set_event_loop(None)
    return False


def loop_names() -> tuple[str, ...]:
    """Return the names that are registered, whether or not they can be loaded."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes loops of that name.

    Raises:
        PluginError: nobody registered the name, or what they registered cannot be loaded.
    """
    for point in entry_points(group=GROUP, name=name):
        try:
            factory: Callable[[], asyncio.AbstractEventLoop] = point.load()
        except Exception as error:
            distribution = point.dist.name if point.dist else "an unknown package"
            raise PluginError(name, distribution, f"{type(error).__name__}: {error}") from error
        return factory
    raise PluginError(
        name, "no package", f"no event loop has that name; there are {', '.join(loop_names())}"
    )
