"""Resources of a run: started in order before any node runs, stopped in reverse whatever comes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from aiflow.clock import Clock
from aiflow.compiler.plan import Plan
from aiflow.errors import AiFlowError, ResourceError

_log = logging.getLogger(__name__)


async def start_resources(plan: Plan, clock: Clock, started: dict[str, Any]) -> None:
    """Start what the plan's nodes are handed.

    `started` gets each resource before its start, so that it is stopped even where its own
    start breaks off.

    Raises:
        AiFlowError: one of them cannot start; a clear sentence says which and why.
    """
    for resource in plan.resources.values():
        try:
            made = started[resource.id] = resource.make()
            await made.start(clock)
        except AiFlowError:
            raise
        except Exception as error:
            reason = f"it cannot start: {type(error).__name__}: {error}"
            raise ResourceError(resource.id, reason) from error


async def stop_resources(started: Mapping[str, Any]) -> None:
    """Stop resources, the last started first; one that fails keeps none of the others."""
    for name, resource in reversed(list(started.items())):
        try:
            await resource.stop()
        except Exception:  # noqa: BLE001 - the others must be stopped whatever it raises
            _log.exception("resource %s did not stop cleanly", name)
