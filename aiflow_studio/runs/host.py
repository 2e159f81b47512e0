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
    """

    graph: str
    base: str = ""
    strategy: str = "aiflow"
    repeats: bool = False
    seed: int = 0
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
