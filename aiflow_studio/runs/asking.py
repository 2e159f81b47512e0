"""What can be asked of a run, said once for all hosts: by the words of `aiflow.remote`.

An embedded run answers at its own desk, a run elsewhere at the one in its process.
"""

from __future__ import annotations

from typing import Any


class Asking:
    """The half of a `RunHost` that asks; who inherits it says how."""

    async def _ask(self, call: str, **arguments: Any) -> Any:  # noqa: ANN401 - plain values
        """Ask the run and return its answer.

        Raises:
            AiFlowError: it refuses, or nothing runs.
        """
        raise NotImplementedError

    async def tune(self, node: str, changes: dict[str, Any]) -> dict[str, list[Any]]:
        """Give a running node other policy members; return each with its old and new value."""
        answer = await self._ask("tune", node=node, changes=changes)
        return {member: list(values) for member, values in answer["changes"].items()}

    async def queue(self, place: str, most: int) -> list[dict[str, Any]]:
        """Return copies of what waits at a node, or of it what came over an edge."""
        return list(await self._ask("queue", place=place, most=most))

    async def set_breakpoint(self, edge: str, is_set: bool) -> None:
        """Hold the node behind an edge when an event comes over it, or let it go on."""
        await self._ask("set_breakpoint", edge=edge, is_set=is_set)

    async def step(self, edge: str) -> bool:
        """Let the node behind a breakpoint begin one event; False where none waits."""
        return bool(await self._ask("step", edge=edge))

    async def resume(self, edge: str) -> bool:
        """Take a breakpoint away and let its node go on; False where there is none."""
        return bool(await self._ask("resume", edge=edge))

    async def inject(self, edge: str, payload: str | dict[str, Any]) -> None:
        """Put an event into an edge: a text, or a mapping with its `type`."""
        await self._ask("inject", edge=edge, payload=payload)

    async def trace(self, source: str, sequence: int | None) -> int:
        """Follow an event of a source, or its next one, and return the trace's number."""
        return int(await self._ask("trace", source=source, sequence=sequence))

    async def traced(self, trace: int) -> list[dict[str, Any]]:
        """Return each stay of a traced event at a node."""
        return list(await self._ask("traced", trace=trace))

    async def end_trace(self, trace: int) -> None:
        """Follow an event no longer."""
        await self._ask("end_trace", trace=trace)
