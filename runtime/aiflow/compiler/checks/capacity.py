"""AF6xx: hints from declared figures alone; none of them keeps a graph from running."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.resolved import Resolved, ResolvedNode, conversations_at_once
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.values import UNSET
from aiflow.operators.base import Source
from aiflow.policies import Overflow, State

_DROPPING = (Overflow.DROP_NEWEST, Overflow.DROP_OLDEST)
_HAIR = 1e-9
_MOST_WORKERS = 1024


def reorder_buffer_keeps_workers_busy(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF601: the reorder buffer is so small that workers wait for the head of the order.

    With k workers, k − 1 may finish before the one whose turn it is; each needs a place.

    Why: Workers that you pay for stand still, though nothing is wrong with the results.
    For example: a node with "policy": {"workers": 8, "reorder_capacity": 2}.
    Remedy: set reorder_capacity to workers − 1 or more, or use fewer workers.
    """
    found = Finding("AF601")
    for node in resolved.nodes.values():
        policy = node.policy
        if policy and 0 < policy.reorder_capacity < policy.workers - 1:
            wanted = policy.workers - 1
            yield found.hint(
                "node {node} has {workers} workers, but a reorder buffer of {places}:"
                " workers will wait for the one whose turn it is",
                "set reorder_capacity to {wanted} or more",
                node=node.id,
                field="reorder_capacity",
                workers=policy.workers,
                places=policy.reorder_capacity,
                wanted=wanted,
                fix=fix(
                    f"Set reorder_capacity to {wanted}",
                    edits.merge_policy,
                    node.id,
                    {"reorder_capacity": wanted},
                ),
            )


def reorder_buffer_has_a_use(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF602: a reorder buffer is never used, because one worker keeps the order anyway.

    Where the node makes one try only, it holds what waits to leave in one conversation while
    others go on, so it may have a place for each of those that are open beside it.

    Why: It counts in the bound and does nothing.
    For example: a node with "policy": {"reorder_capacity": 16}, one worker and one
        conversation.
    Remedy: leave reorder_capacity out, or use more workers.
    """
    found = Finding("AF602")
    others = conversations_at_once(resolved) - 1
    for node in resolved.nodes.values():
        policy = node.policy
        if policy is None or policy.retry.attempts > 1 or policy.workers > 1:
            continue
        if node.incoming and policy.reorder_capacity > max(0, others):
            yield found.hint(
                "node {node} has a reorder buffer of {places} and one worker, which needs none"
                if others <= 0
                else "node {node} has a reorder buffer of {places} and one worker, which needs"
                " {others}: one for each further conversation",
                "leave reorder_capacity out, or use more workers",
                node=node.id,
                others=others,
                field="reorder_capacity",
                places=policy.reorder_capacity,
                fix=fix(
                    "Leave out reorder_capacity",
                    edits.merge_policy,
                    node.id,
                    {"reorder_capacity": UNSET},
                ),
            )


def conversations_have_places(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF603: a conversation that cannot leave a node may hold up the others there.

    Each active conversation wants a place of its own, in the queue and behind it.

    Why: A slow reader in one conversation then delays the others, which did nothing wrong.
    For example: eight conversations at once and a node with "policy": {"queue_capacity":
        4}.
    Remedy: raise queue_capacity, and workers with reorder_capacity, or lower
        max_conversations.
    """
    found = Finding("AF603")
    active = conversations_at_once(resolved)
    if active <= 1:
        return
    for node in resolved.nodes.values():
        policy = node.policy
        if policy is None or not node.incoming:
            continue
        window = policy.workers + policy.reorder_capacity
        if min(policy.queue_capacity, window) < active:
            yield found.hint(
                "at node {node} one of {active} conversations may hold up the others: it has"
                " {places} places in its queue and {window} behind it",
                "set queue_capacity, and workers and reorder_capacity together, to {active}"
                " or more, or lower max_conversations",
                node=node.id,
                field="queue_capacity" if policy.queue_capacity < active else "workers",
                active=active,
                places=policy.queue_capacity,
                window=window,
            )


def workers_carry_the_rate(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF604: a node is declared too slow for what its source declares to send.

    Only declared figures count: the source's rate and the node's service time. A node that
    drops when full, or is reached by detached edges alone, has said what shall happen.

    Why: Its queue fills, then the queues before it, and at last the source waits.
    For example: a source with 20 tokens a second and a delay of 0.2 s with one worker.
    Remedy: give it the workers that the hint names, make each event cheaper, or send less.
    """
    found = Finding("AF604")
    rates = _rates(resolved)
    for id, rate in rates.items():
        node = resolved.nodes[id]
        service_s = _service_s(node)
        policy = node.policy
        if policy is None or not service_s or policy.overflow in _DROPPING:
            continue
        # Declared figures are round numbers; 40 x 0.1 is a hair above 4.
        needed = math.ceil(rate * service_s - _HAIR)
        if needed <= policy.workers:
            continue
        is_single = policy.state in (State.SERIALIZED, State.TRANSACTIONAL)
        more = {"workers": needed, "reorder_capacity": max(policy.reorder_capacity, needed)}
        can_grow = not is_single and needed <= _MOST_WORKERS
        yield found.hint(
            "node {node} gets {rate:g} events a second and takes {service_s:g} s for each:"
            " with {workers} at once it carries {carried:g} a second",
            "set workers to {needed} or more, or make each event cheaper"
            if can_grow
            else "it would need {needed} workers, which it cannot have: make each event cheaper,"
            " send less, or let it drop",
            node=id,
            field="workers",
            rate=rate,
            service_s=service_s,
            workers=policy.workers,
            carried=policy.workers / service_s,
            needed=needed,
            fix=fix(f"Use {needed} workers, in order", edits.merge_policy, id, more)
            if can_grow
            else None,
        )


CHECKS: tuple[Check, ...] = (
    reorder_buffer_keeps_workers_busy,
    reorder_buffer_has_a_use,
    conversations_have_places,
    workers_carry_the_rate,
)


def _rates(resolved: Resolved) -> dict[str, float]:
    """Return node -> events per second that reach it over strict edges, as far as declared.

    Never more than the truth: what nobody declares counts as nothing, what comes back by a
    feedback edge neither, and no node passes on more than it can carry itself.
    """
    active = conversations_at_once(resolved)
    reaching: dict[str, float] = {}
    for id in resolved.order:
        node = resolved.nodes[id]
        leaving = _leaving(node, reaching.get(id, 0.0), active)
        first = node.type.outputs[0].name if node.type and node.type.outputs else ""
        for edge in node.outgoing if leaving else ():
            is_ahead = edge.feedback is None and edge.fanout != "detached"
            if edge.source.port == first and is_ahead:
                behind = edge.target.node
                reaching[behind] = reaching.get(behind, 0.0) + leaving
    return reaching


def _leaving(node: ResolvedNode, reaching: float, active: int) -> float:
    """Return the events per second that leave a node by its first output, 0 if unknown."""
    if isinstance(node.operator, Source):
        rate, _ = made(node.operator.rate_per_s)
        own, _ = made(node.operator.conversations)
        return (rate or 0.0) * min(active, own or 1)
    if node.operator is None or node.policy is None:
        return 0.0
    share, _ = made(node.operator.outputs_per_event)
    service_s = _service_s(node)
    carried = min(reaching, node.policy.workers / service_s) if service_s else reaching
    return carried * (share or 0.0)


def _service_s(node: ResolvedNode) -> float | None:
    """Return the declared time per event: the policy's word, else the operator's."""
    if node.policy is not None and node.policy.service_time_s is not None:
        return node.policy.service_time_s
    if node.operator is None or not node.incoming or node.is_paced_by_resource:
        return None
    service_s, _ = made(node.operator.service_time_s)
    return service_s
