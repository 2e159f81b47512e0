"""The bound: how many events the runtime may hold at most, from declared figures alone.

Source: the AiFlow paper, bounded-memory proposition: Σ (q + k + ρ). The events that sources
and stores hold per conversation are added here, so that the number is true.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiflow.compiler.plan import NodePlan
from aiflow.operators.base import Operator
from aiflow.policies import Policy


def node_bound(operator: Operator[Any], policy: Policy, max_conversations: int) -> int:
    """Return the most events that one node may hold.

    Args:
        operator: made from the node's params.
        policy: the node's policy.
        max_conversations: C, conversations active at once.
    """
    kept = max_conversations * max(0, operator.kept_events())
    if not operator.inputs:
        return max_conversations + kept
    queue, workers = policy.queue_capacity, policy.workers
    further_outputs = workers * (operator.max_outputs - 1)
    return queue + workers + policy.reorder_capacity + further_outputs + kept


def plan_bound(nodes: Iterable[NodePlan], max_conversations: int) -> int | None:
    """Return the most events that a whole plan may hold, None where a queue is unlimited."""
    total = 0
    for node in nodes:
        if node.operator.inputs and node.queue_capacity is None:
            return None
        total += node_bound(node.operator, node.policy, max_conversations)
    return total
