"""`RunHost`: all that the studio knows of a run.

Arguments and answers are plain values that could cross a process border, so that an
embedded run, a child process and a run elsewhere are the same to every panel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from aiflow.engine.outputs import OutputLine
from aiflow.metrics.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run.

    Attributes:
        graph: the canonical file text of the graph.
        base: folder that relative paths in the graph start from; "" for an unsaved one.
        strategy: `aiflow`, `aggregate`, `callback` or `unbounded`.
        repeats: start the next conversation when the last has ended, until stopped; a graph that
            asks a server runs once all the same.
        record_to: folder in which answers of models are kept as traces; "" for none.
    """

    graph: str
    base: str = ""
    strategy: str = "aiflow"
    repeats: bool = False
    seed: int = 0
    record_to: str = ""
    inputs: dict[str, str] = field(default_factory=dict)


class RunHost(Protocol):
    """Starts, ends and watches one run at a time."""

    def start(self, request: RunRequest) -> None:
        """Start a run; what goes wrong later is in the snapshot's `error`.

        Raises:
            AiFlowError: the graph cannot be read or has errors.
        """
        ...

    def drain(self) -> None:
        """Let what is inside come out, then end; safe to repeat."""
        ...

    def stop(self) -> None:
        """Cancel everything now; safe to repeat."""
        ...

    async def kill(self) -> None:
        """End the run whatever it does and return when nothing of it is left."""
        ...

    def snapshot(self) -> Snapshot | None:
        """Return all numbers now, also after the end; None before the first start."""
        ...

    def outputs(self, after: int) -> list[OutputLine]:
        """Return what sinks showed since line `after`, oldest first, bounded."""
        ...

    def tap(self, edge: str, keep: int) -> list[dict[str, Any]]:
        """Return the last `keep` events of an edge as plain values, oldest first."""
        ...

    # What is asked of the run itself. Each raises AiFlowError with the run's sentence where it
    # cannot be done, or where nothing runs.

    async def tune(self, node: str, changes: dict[str, Any]) -> dict[str, list[Any]]:
        """Give a running node other policy members; return each with its old and new value."""
        ...

    async def queue(self, place: str, most: int) -> list[dict[str, Any]]:
        """Return copies of what waits at a node, or of it what came over an edge."""
        ...

    async def set_breakpoint(self, edge: str, is_set: bool) -> None:
        """Hold the node behind an edge when an event comes over it, or let it go on."""
        ...

    async def step(self, edge: str) -> bool:
        """Let the node behind a breakpoint begin one event; False where none waits."""
        ...

    async def resume(self, edge: str) -> bool:
        """Take a breakpoint away and let its node go on; False where there is none."""
        ...

    async def inject(self, edge: str, payload: str | dict[str, Any]) -> None:
        """Put an event into an edge: a text, or a mapping with its `type`."""
        ...

    async def trace(self, source: str, sequence: int | None) -> int:
        """Follow an event of a source, or its next one, and return the trace's number."""
        ...

    async def traced(self, trace: int) -> list[dict[str, Any]]:
        """Return each stay of a traced event at a node."""
        ...

    async def end_trace(self, trace: int) -> None:
        """Follow an event no longer."""
        ...
