"""AF4xx: does the graph come to an end?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix, listed
from aiflow.compiler.resolved import Resolved
from aiflow.graph import edits


def there_is_no_cycle(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF401: events would come back to where they have been, and full queues block for good.

    Each node of a cycle waits for a place in the next one's queue, and so for itself.

    Why: Once their queues are full, none of them can ever go on.
    For example: a → b → a, where the answer of b is led back into a by an ordinary edge.
    Remedy: remove an edge of the circle.
    """
    found = Finding("AF401")
    for loop in resolved.loops:
        closing = next(
            edge.id for edge in resolved.nodes[loop[-1]].outgoing if edge.target.node == loop[0]
        )
        yield found.error(
            "events would go in a circle: {way}",
            "remove an edge of the circle, such as {edge}",
            node=loop[0],
            edge=closing,
            nodes=tuple(loop),
            way=_way(loop),
            fix=fix(f"Remove {closing}", edits.disconnect, closing),
        )


def feedback_can_be_honoured(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF402: an edge is marked as feedback, which this build cannot honour yet.

    Why: Without its credit a loop fills its queues and stands still.
    For example: an edge with "feedback": {"credit": 2, "max_returns": 3}.
    Remedy: remove the edge, or use a newer AiFlow.
    """
    found = Finding("AF402")
    for edge in resolved.graph.edges.values():
        if edge.feedback is not None:
            yield found.error(
                "edge {edge} is a feedback edge, which this build cannot honour yet",
                "remove the edge, or use a newer AiFlow",
                edge=edge.id,
                field="feedback",
                fix=fix("Remove the edge", edits.disconnect, edge.id),
            )


CHECKS: tuple[Check, ...] = (there_is_no_cycle, feedback_can_be_honoured)


def _way(loop: list[str]) -> str:
    """Return `a → b → a`; of a long way only the first nodes."""
    if len(loop) > 8:  # noqa: PLR2004 - as many as a line holds
        return f"{listed(loop)} and {len(loop) - 8} more"
    steps = [*loop, loop[0]]
    return steps[0] + "".join(f" → {after}" for _, after in pairwise(steps))
