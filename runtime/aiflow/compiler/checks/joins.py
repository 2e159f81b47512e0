"""AF4xx: can what a join waits for ever come, and is there a place for it until then?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.branches import (
    connected,
    is_aligned,
    joins_of,
    shared_upstream,
    sources_of_inputs,
)
from aiflow.compiler.diagnostics import Diagnostic, Fix
from aiflow.compiler.findings import Check, Finding, fix, listed
from aiflow.compiler.order import circles, reachable
from aiflow.compiler.resolved import Resolved, ResolvedNode, conversations_at_once
from aiflow.graph import edits
from aiflow.graph.values import UNSET

_MOST_PLACES = 1_000_000


def joins_are_in_no_loop(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF409: a join is part of a loop, where nobody can say that nothing more will come.

    A join goes on when no more of an event can come by any branch. In a loop everything may
    come back, until the turn is over.

    Why: The join would wait for the end of the loop, and the loop for the join.
    For example: a → join → b with a feedback edge from b to a.
    Remedy: put the join behind the loop, or bring the branches together with a merge.
    """
    found = Finding("AF409")
    joins = list(joins_of(resolved))
    back = [edge for edge in resolved.edges.values() if edge.feedback is not None]
    if not joins or not back:
        return
    nodes = resolved.nodes.items()
    circle = circles({id: [edge.target.node for edge in n.outgoing] for id, n in nodes})
    for node, _ in joins:
        edge = next((e for e in back if circle[e.source.node] == circle[node.id]), None)
        if edge is not None:
            yield found.error(
                "node {node} joins branches within the loop that edge {edge} closes",
                "put it behind the loop, or use a merge",
                node=node.id,
                edge=edge.id,
            )


def branches_have_a_source_in_common(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF410: a join waits for all parts of an event, but no source reaches all its inputs.

    It puts together what came of one and the same source event. What a zip sends counts as an
    event of its first input.

    Why: No two of its inputs could ever match; each event would pass alone.
    For example: two text-inputs, each led to one input of a join.
    Remedy: use mode zip, which takes one event of each input, or part one source's stream.
    """
    found = Finding("AF410")
    inputs = sources_of_inputs(resolved)
    for node, joining in joins_of(resolved):
        sources = list(inputs[node.id].values())
        if joining.mode == "all" and len(sources) > 1 and not set.intersection(*sources):
            yield found.error(
                "node {node} waits for all parts of a source's event, but its inputs have no"
                " source in common ({sources})",
                "set its mode to zip, or lead one source to all its inputs",
                node=node.id,
                field="mode",
                sources=listed(sorted(set.union(*sources))),
                fix=fix("Set mode to zip", edits.merge_params, node.id, {"mode": "zip"})
                if node.type is not None and "mode" in node.type.Params.model_fields
                else None,
            )


def joins_have_places_for_all(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF411: a join has fewer places than conversations may wait in it, each at every input.

    Each conversation keeps a place at each input, so that two which wait for their other half
    never keep it out for each other: q ≥ inputs × conversations at once.

    Why: One conversation's first half could stand where another one's second half has to go.
    For example: eight conversations at once and a join of two branches with a queue of 8.
    Remedy: raise queue_capacity, or lower max_conversations.
    """
    found = Finding("AF411")
    active = conversations_at_once(resolved)
    for node, _ in joins_of(resolved):
        ports = connected(node)
        wanted = ports * active
        if node.policy is None or not 1 < ports <= node.policy.queue_capacity < wanted:
            continue
        yield found.error(
            "node {node} joins {ports} inputs for {active} conversations at once, but its queue"
            " has {places} places, where each needs one at every input",
            "set queue_capacity to {wanted} or more, or lower max_conversations",
            node=node.id,
            field="queue_capacity",
            ports=ports,
            active=active,
            places=node.policy.queue_capacity,
            wanted=wanted,
            fix=_more_places(node, wanted),
        )


def joins_hold_what_branches_do_at_once(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF412: a branch works on more events at once than a join has places for them.

    Why: Its workers finish, and wait until the join has got the slower branch's part.
    For example: a node with eight workers before a join of two branches with a queue of 8.
    Remedy: raise the join's queue_capacity to inputs × conversations × workers, or use fewer
        workers.
    """
    found = Finding("AF412")
    active = conversations_at_once(resolved)
    before = {id: [e.source.node for e in node.incoming] for id, node in resolved.nodes.items()}
    for node, _ in joins_of(resolved):
        ports = connected(node)
        if not ports or node.policy is None or node.policy.queue_capacity < ports * active:
            continue
        share = node.policy.queue_capacity // ports // active
        ahead = [resolved.nodes[id] for id in reachable(before, before[node.id])]
        policies = [each.policy for each in ahead if each.policy and each.incoming]
        most = max((policy.workers for policy in policies), default=1)
        wanted = most * ports * active
        if most > share:
            yield found.hint(
                "up to {workers} events are worked on at once before node {node}, which has"
                " {places} places for each conversation at an input",
                "set queue_capacity to {wanted} or more, or use fewer workers",
                node=node.id,
                field="queue_capacity",
                workers=most,
                places=share,
                wanted=wanted,
                fix=_more_places(node, wanted),
            )


def pairs_are_of_the_same_sources(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF413: a zip pairs by arrival, though some of its inputs come from one source.

    Where all inputs carry the same sources, zip knows what belongs together. Where only some
    do, it takes the first with the first, and a filter in one branch shifts all that follows.
    What a zip sends carries the sources of its first input. Branches of which it is known that
    they let everything through, such as a delay, shift nothing.

    Why: A branch that lets less through would hold up the other, and with it their source.
    For example: a zip of a source's filtered lines with the same lines merged with others.
    Remedy: lead the same sources to all its inputs, or different ones to each.
    """
    found = Finding("AF413")
    inputs = sources_of_inputs(resolved)
    for node, joining in joins_of(resolved):
        if joining.mode != "zip" or is_aligned(inputs[node.id]):
            continue
        shared = set(shared_upstream(resolved, node))
        if shared:
            yield found.warning(
                "node {node} pairs what comes by arrival, though {sources} reaches more than one"
                " of its inputs: what is filtered in one branch shifts the pairs",
                "lead the same sources to all its inputs, or different ones to each",
                node=node.id,
                sources=listed(sorted(shared)),
            )


def bytes_are_limited_where_all_may_wait(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF414: the bytes of a queue are limited which must let some events in however full it is.

    A join always takes what is next of a branch, and a loop's entry what comes back.

    Why: One large event would keep out the one that all others wait for.
    For example: a join with "policy": {"max_bytes": 65536}.
    Remedy: leave max_bytes out there, and limit the nodes before it.
    """
    found = Finding("AF414")
    joins = {node.id for node, _ in joins_of(resolved)}
    for node in resolved.nodes.values():
        is_entry = any(edge.feedback is not None for edge in node.incoming)
        if node.policy is None or node.policy.max_bytes is None:
            continue
        if node.id in joins or is_entry:
            yield found.error(
                "node {node} must let in {what}, so the bytes of its queue cannot be limited",
                "leave max_bytes out here, and limit the nodes before it",
                node=node.id,
                field="max_bytes",
                what="what comes back to it" if is_entry else "what is next of each branch",
                fix=fix("Leave out max_bytes", edits.merge_policy, node.id, {"max_bytes": UNSET}),
            )


CHECKS: tuple[Check, ...] = (
    *(joins_are_in_no_loop, branches_have_a_source_in_common, joins_have_places_for_all),
    *(joins_hold_what_branches_do_at_once, pairs_are_of_the_same_sources),
    *(bytes_are_limited_where_all_may_wait,),
)


def _more_places(node: ResolvedNode, wanted: int) -> Fix | None:
    if wanted > _MOST_PLACES:
        return None
    return fix(
        f"Set queue_capacity to {wanted}",
        edits.merge_policy,
        node.id,
        {"queue_capacity": wanted},
    )
