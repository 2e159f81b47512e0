"""AF4xx: does the graph come to an end?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix, listed
from aiflow.compiler.order import circles
from aiflow.compiler.resolved import Resolved, conversations_at_once
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


def returns_have_hops(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF403: a feedback edge lets an event return more often than its hops allow.

    max_returns is how many events of one item may have come back and wait, hops how many
    feedback edges an event may cross in all; what is left out is 1. An item that comes back
    whole, time after time, needs one place and many hops.

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
    """AF404: more events may come back by feedback edges than the queue they lead to can hold.

    All items in the loop may come back as often as they may, while each input keeps one place
    for what is new: credit × max_returns ≤ q − 1, for all its feedback edges together. A
    detached feedback edge drops instead and needs no place.

    Why: The loop would wait for a place that only the loop itself can free.
    For example: an edge with "feedback": {"credit": 4, "max_returns": 3, "hops": 3} that leads
        to a node with a queue of 8.
    Remedy: raise queue_capacity of the node that the edge leads to, or lower credit or
        max_returns.
    """
    found = Finding("AF404")
    for node in resolved.nodes.values():
        edges = [edge for edge in node.incoming if edge.feedback and edge.fanout != "detached"]
        each = [edge.feedback.credit * edge.feedback.max_returns for edge in edges if edge.feedback]
        new = len({edge.target.port for edge in node.incoming if edge.feedback is None}) or 1
        if not edges or node.policy is None or sum(each) + new <= node.policy.queue_capacity:
            continue
        wanted = sum(each) + new
        last = edges[-1]
        assert last.feedback is not None
        yield found.error(
            "by edge {edge} {returns} events may come back ({credit} × {max_returns}), but"
            " the queue of {node} holds {places} beside a new one"
            if len(edges) == new == 1
            else "by feedback edges {returns} events may come back, but the queue of {node}"
            " holds {places} beside one new one for each input",
            "set its queue_capacity to {wanted} or more, or lower credit or max_returns",
            node=node.id,
            edge=last.id,
            field="queue_capacity",
            returns=sum(each),
            credit=last.feedback.credit,
            max_returns=last.feedback.max_returns,
            places=max(0, node.policy.queue_capacity - new),
            wanted=wanted,
            fix=fix(
                f"Set queue_capacity to {wanted}",
                edits.merge_policy,
                node.id,
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
    circle = _circles(resolved)
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
    Remedy: put an aggregate into the loop, so that whole messages return, or make the edge
        detached, so that it says itself what is dropped.
    """
    found = Finding("AF406")
    for edge, _ in _feedback_edges(resolved):
        if edge.fanout != "detached" and resolved.types[edge.id] in _DROPPABLE:
            yield found.warning(
                "edge {edge} leads back {type}s, which may be dropped and each return alone",
                "put an aggregate into the loop, so that whole messages return",
                edge=edge.id,
                field="feedback",
                type=resolved.types[edge.id].name,
            )


def loops_have_one_entry(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF407: feedback edges of one loop lead back to different nodes.

    Loops within loops share their nodes, and so the places for what returns; each would have
    to wait for the credit of the other. Loops one behind the other are no trouble.

    Why: The inner loop could use up what the outer one needs to come to its end.
    For example: a → b → c with feedback edges from c to a and from c to b.
    Remedy: lead all feedback edges of the circle back to one node.
    """
    found = Finding("AF407")
    first: dict[int, str] = {}
    if not any(_feedback_edges(resolved)):
        return
    circle = _circles(resolved)
    for edge, _ in _feedback_edges(resolved):
        number = circle[edge.source.node]
        entry = first.setdefault(number, edge.target.node)
        if edge.target.node != entry and circle[edge.target.node] == number:
            yield found.error(
                "edge {edge} leads back to {node}, but another feedback edge of the same loop"
                " leads back to {entry}",
                "lead it back to {entry}, or take one of the loops apart",
                node=edge.target.node,
                edge=edge.id,
                field="feedback",
                entry=entry,
                fix=fix(f"Remove {edge.id}", edits.disconnect, edge.id),
            )


def loops_have_no_side_door(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF408: an edge leads into a loop at another node than the one where the loop begins.

    Credit is counted where the feedback edge leads back to; what enters elsewhere has none.

    Why: The loop could hold any number of items, and its places for what returns would not
        do.
    For example: a → b with a feedback edge from b to a, and an edge from a source to b.
    Remedy: lead the edge to the node where the loop begins.
    """
    found = Finding("AF408")
    if not any(_feedback_edges(resolved)):
        return
    circle = _circles(resolved)
    entries: dict[int, str] = {}
    for edge, _ in _feedback_edges(resolved):
        if circle[edge.source.node] == circle[edge.target.node]:
            entries.setdefault(circle[edge.target.node], edge.target.node)
    for edge in resolved.edges.values():
        inside = circle[edge.target.node]
        entry = entries.get(inside)
        if entry is not None and circle[edge.source.node] != inside and edge.target.node != entry:
            yield found.error(
                "edge {edge} leads into a loop at {node}, but the loop begins at {entry}",
                "lead it to {entry}, where the loop's credit is counted",
                node=edge.target.node,
                edge=edge.id,
                entry=entry,
                fix=fix(f"Remove {edge.id}", edits.disconnect, edge.id),
            )


def loops_have_credit_for_all(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF415: a loop lets in fewer items at once than conversations may be active.

    The credit of a feedback edge is that of all conversations together.

    Why: Who asks while another one's question goes round waits until it has left the loop.
    For example: eight conversations at once and a feedback edge with a credit of 1.
    Remedy: set credit to the number of conversations, with a place for each return, or lower
        max_conversations.
    """
    found = Finding("AF415")
    active = conversations_at_once(resolved)
    for edge, feedback in _feedback_edges(resolved):
        if edge.fanout != "detached" and feedback.credit < active:
            yield found.hint(
                "in the loop of edge {edge} one of {active} conversations may hold up the others:"
                " it lets in {credit} at once",
                "set credit to {active} or more, or lower max_conversations",
                node=edge.target.node,
                edge=edge.id,
                field="feedback",
                active=active,
                credit=feedback.credit,
                fix=fix(
                    f"Set credit to {active}",
                    edits.set_feedback,
                    edge.id,
                    replace(feedback, credit=active),
                ),
            )


CHECKS: tuple[Check, ...] = (
    *(there_is_no_cycle, returns_have_hops, returns_have_places, feedback_closes_a_circle),
    *(what_returns_is_whole, loops_have_one_entry, loops_have_no_side_door),
    *(loops_have_credit_for_all,),
)


def _circles(resolved: Resolved) -> dict[str, int]:
    """Return node -> number of its circle, feedback edges included."""
    nodes = resolved.nodes.items()
    return circles({id: [edge.target.node for edge in node.outgoing] for id, node in nodes})


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
