"""AF6xx: hints from declared figures alone; none of them keeps a graph from running."""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.resolved import Resolved
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.values import UNSET
from aiflow.operators.base import Source


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

    Why: It counts in the bound and does nothing.
    For example: a node with "policy": {"reorder_capacity": 16} and one worker.
    Remedy: leave reorder_capacity out, or use more workers.
    """
    found = Finding("AF602")
    for node in resolved.nodes.values():
        policy = node.policy
        if policy and policy.reorder_capacity and policy.workers == 1 and node.incoming:
            yield found.hint(
                "node {node} has a reorder buffer of {places} and one worker, which needs none",
                "leave reorder_capacity out, or use more workers",
                node=node.id,
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
    active = min(resolved.graph.max_conversations, _conversations(resolved))
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


CHECKS: tuple[Check, ...] = (
    reorder_buffer_keeps_workers_busy,
    reorder_buffer_has_a_use,
    conversations_have_places,
)


def _conversations(resolved: Resolved) -> int:
    """Return how many conversations a run opens, as its sources declare."""
    most = 1
    for node in resolved.nodes.values():
        if isinstance(node.operator, Source):
            count, _ = made(node.operator.conversations)
            most = max(most, count or 1)
    return most
