"""AF4xx: does the graph come to an end?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix, listed
from aiflow.compiler.order import circles
from aiflow.compiler.resolved import Resolved
from aiflow.graph import edits
from aiflow.graph.model import Edge, Feedback
from aiflow.types import AUDIO, CHUNK, TOKEN

_MOST_PLACES = 1_000_000
# Types of which every payload may be dropped.
_DROPPABLE = (TOKEN, CHUNK, AUDIO)


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
            edge.id
            for edge in resolved.nodes[loop[-1]].outgoing
            if edge.target.node == loop[0] and edge.feedback is None
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


def returns_have_hops(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF403: a feedback edge lets an event return more often than its hops allow.

    max_returns is how often one event comes back by the edge, hops how many feedback edges it
    may cross in all; what is left out is 1.

    Why: When its hops are spent, the event's conversation fails, before its returns are.
    For example: an edge with "feedback": {"max_returns": 3}, whose hops are 1.
    Remedy: set hops to max_returns or more.
    """
    found = Finding("AF403")
    for edge, feedback in _feedback_edges(resolved):
        wanted = feedback.max_returns
        if feedback.hops < wanted:
            yield found.warning(
                "edge {edge} lets an event return {wanted} times, but after {hops} its hops are"
                " spent and its conversation fails",
                "set hops to {wanted} or more, or lower max_returns",
                edge=edge.id,
                field="feedback",
                wanted=wanted,
                hops=feedback.hops,
                fix=fix(
                    f"Set hops to {wanted}",
                    edits.set_feedback,
                    edge.id,
                    replace(feedback, hops=wanted),
                ),
            )


def returns_have_places(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF404: more events may come back by a feedback edge than the queue it leads to can hold.

    All items in the loop may come back as often as they may, while one place is left for what
    is new: credit × max_returns ≤ q − 1.

    Why: The loop would wait for a place that only the loop itself can free.
    For example: an edge with "feedback": {"credit": 4, "max_returns": 3, "hops": 3} that leads
        to a node with a queue of 8.
    Remedy: raise queue_capacity of the node that the edge leads to, or lower credit or
        max_returns.
    """
    found = Finding("AF404")
    for edge, feedback in _feedback_edges(resolved):
        policy = resolved.nodes[edge.target.node].policy
        returns = feedback.credit * feedback.max_returns
        if policy is not None and returns > policy.queue_capacity - 1:
            wanted = returns + 1
            yield found.error(
                "by edge {edge} {returns} events may come back ({credit} × {max_returns}), but"
                " the queue of {node} holds {places} beside a new one",
                "set its queue_capacity to {wanted} or more, or lower credit or max_returns",
                node=edge.target.node,
                edge=edge.id,
                field="queue_capacity",
                returns=returns,
                credit=feedback.credit,
                max_returns=feedback.max_returns,
                places=policy.queue_capacity - 1,
                wanted=wanted,
                fix=fix(
                    f"Set queue_capacity to {wanted}",
                    edits.merge_policy,
                    edge.target.node,
                    {"queue_capacity": wanted},
                )
                if wanted <= _MOST_PLACES
                else None,
            )


def feedback_closes_a_circle(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF405: an edge is marked as feedback, but nothing that it carries can come back to it.

    Why: The end of a stream does not cross a feedback edge, so the node behind it would never
        learn that nothing more comes.
    For example: an edge from a source to a sink with "feedback": {"credit": 2}.
    Remedy: make it an ordinary edge, or lead it back to a node before its beginning.
    """
    found = Finding("AF405")
    marked = list(_feedback_edges(resolved))
    if not marked:
        return
    circle = circles(
        {id: [edge.target.node for edge in n.outgoing] for id, n in resolved.nodes.items()}
    )
    for edge, _ in marked:
        if circle[edge.source.node] != circle[edge.target.node]:
            yield found.error(
                "edge {edge} is marked as feedback, but {target} does not lead back to {source}",
                "make it an ordinary edge",
                edge=edge.id,
                field="feedback",
                source=edge.source.node,
                target=edge.target.node,
                fix=fix("Make it an ordinary edge", edits.set_feedback, edge.id, None),
            )


def what_returns_is_whole(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF406: a feedback edge carries pieces of a stream, which may be dropped on their way.

    Why: Each token would return alone and use up a credit of its own, and one that is dropped
        leaves a hole that the next round cannot see.
    For example: a feedback edge from a delay that passes on tokens.
    Remedy: put an aggregate into the loop, so that whole messages return.
    """
    found = Finding("AF406")
    for edge, _ in _feedback_edges(resolved):
        if resolved.types[edge.id] in _DROPPABLE:
            yield found.warning(
                "edge {edge} leads back {type}s, which may be dropped and each return alone",
                "put an aggregate into the loop, so that whole messages return",
                edge=edge.id,
                field="feedback",
                type=resolved.types[edge.id].name,
            )


CHECKS: tuple[Check, ...] = (
    *(there_is_no_cycle, feedback_can_be_honoured, returns_have_hops),
    *(returns_have_places, feedback_closes_a_circle, what_returns_is_whole),
)


def _feedback_edges(resolved: Resolved) -> Iterator[tuple[Edge, Feedback]]:
    for edge in resolved.edges.values():
        if edge.feedback is not None:
            yield edge, edge.feedback


def _way(loop: list[str]) -> str:
    """Return `a → b → a`; of a long way only the first nodes."""
    if len(loop) > 8:  # noqa: PLR2004 - as many as a line holds
        return f"{listed(loop)} and {len(loop) - 8} more"
    steps = [*loop, loop[0]]
    return steps[0] + "".join(f" → {after}" for _, after in pairwise(steps))
