"""The bound: how many events the runtime may hold at most, from declared figures alone.

Source: the AiFlow paper, bounded-memory proposition: Σ (q + k + ρ). The events that sources
and stores hold per conversation are added here, so that the number is true, and the effects
that wait at the barriers of speculative nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiflow.compiler.plan import NodePlan
from aiflow.policies import SideEffects


def node_bound(node: NodePlan, max_conversations: int) -> int | None:
    """Return the most events that one node may hold, None where its queue is unlimited.

    Args:
        node: with its effective queue capacity.
        max_conversations: C, conversations active at once.
    """
    operator, policy = node.operator, node.policy
    kept = max_conversations * max(0, operator.kept_events())
    if node.is_source:
        return max_conversations + kept
    if node.queue_capacity is None:
        return None
    further_outputs = policy.workers * (node.outputs_at_once - 1)
    if node.side_effects is SideEffects.SPECULATIVE:
        kept += max_conversations * policy.speculative_capacity
    own = node.queue_capacity + policy.workers + policy.reorder_capacity
    return own + further_outputs + kept


def plan_bound(nodes: Iterable[NodePlan], max_conversations: int) -> int | None:
    """Return the most events that a whole plan may hold, None where a queue is unlimited."""
    total = 0
    for node in nodes:
        own = node_bound(node, max_conversations)
        if own is None:
            return None
        total += own
    return total
