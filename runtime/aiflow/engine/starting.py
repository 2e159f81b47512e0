"""Resources of a run: started in order before any node runs, stopped in reverse whatever comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from aiflow.clock import Clock
from aiflow.compiler.plan import Plan
from aiflow.errors import AiFlowError, ResourceError, words_of
from aiflow.providers.recordings import AnswerRecordings, Records

_log = logging.getLogger(__name__)


async def start_resources(
    plan: Plan,
    clock: Clock,
    started: dict[str, Any],
    recordings: AnswerRecordings | None = None,
) -> None:
    """Start what the plan's nodes are handed.

    Args:
        plan: what is to run.
        clock: of the run.
        started: gets each resource before its start, so that it is stopped even where its own
            start breaks off.
        recordings: where answers are kept, None for nowhere.

    Raises:
        AiFlowError: one of them cannot start; a clear sentence says which and why.
    """
    for resource in plan.resources.values():
        try:
            made = started[resource.id] = resource.make()
            if recordings is not None and isinstance(made, Records):
                made.record_into(recordings)
            await made.start(clock)
        except AiFlowError:
            raise
        except BaseException as error:
            if _is_asked_for(error):
                raise
            raise ResourceError(resource.id, f"it cannot start: {words_of(error)}") from error


async def stop_resources(started: Mapping[str, Any]) -> None:
    """Stop resources, the last started first; one that fails keeps none of the others.

    Raises:
        BaseException: the process or whoever awaits this is to end; the others are stopped.
    """
    end: BaseException | None = None
    for name, resource in reversed(list(started.items())):
        try:
            await resource.stop()
        except BaseException as error:  # noqa: BLE001 - the others must be stopped whatever it is
            if _is_asked_for(error):
                end = end or error
            else:
                _log.exception("resource %s did not stop cleanly", name)
    if end is not None:
        raise end


def undecoded_bytes(plan: Plan, started: Mapping[str, Any]) -> int:
    """Return how many bytes resources and sources have read and not decoded; most read none."""
    readers = [*started.values(), *(node.operator for node in plan.nodes.values())]
    return sum(getattr(reader, "undecoded_bytes", 0) for reader in readers)


def waiting_requests(started: Mapping[str, Any]) -> int:
    """Return how many requests of nodes wait for the limits of a resource."""
    return sum(getattr(resource, "waiting_requests", 0) for resource in started.values())


def _is_asked_for(error: BaseException) -> bool:
    """Say whether somebody wants the run to end, rather than that a resource failed."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
