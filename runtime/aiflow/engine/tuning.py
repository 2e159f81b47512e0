"""Tuning: another q, k, ρ, o or r for a node while it runs.

Raising takes effect at once: who waits is let in, and workers begin. Lowering never purges.
The declared value is what new events are held to, so that the effective one is
max(declared, occupancy): nothing enters while there is more than declared, hence it only
shrinks, and nobody has to keep it.

The order that a node has once promised it keeps to the end of the run: k raised from 1 at ρ 0
lets it work on several events at once and still has them leave as they came. "Leave as
finished" begins with the next run; else what was begun under the promise would be overtaken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from aiflow.compiler.bound import plan_bound
from aiflow.compiler.findings import did_you_mean
from aiflow.compiler.plan import NodePlan, Plan
from aiflow.compiler.values import validated
from aiflow.engine import sharing
from aiflow.engine.cells import Call, Guardian, Lane
from aiflow.engine.delivery import let_in
from aiflow.engine.limits import set_way
from aiflow.engine.settling import go_on
from aiflow.errors import EngineError
from aiflow.events import is_droppable
from aiflow.policies import Overflow, Policy

#: Members of the policy that a running node can be given anew.
TUNABLE = ("queue_capacity", "workers", "reorder_capacity", "overflow", "retry")


@dataclass(frozen=True, slots=True)
class Tuning:
    """A change that was made.

    Attributes:
        at: seconds on the session's clock.
        changes: member -> its old and its new value, plain; only what is another now.
    """

    node: str
    at: float
    changes: Mapping[str, tuple[Any, Any]]


def tuned_plan(plan: Plan, node: str, changes: Mapping[str, Any]) -> Plan:
    """Return the plan with another policy of a node, if all checks allow it.

    Args:
        plan: of a running session.
        node: id of the node.
        changes: policy member -> value; of `retry` the members that are to be others.

    Raises:
        EngineError: it cannot be; the sentence says why.
    """
    before = plan.nodes.get(node)
    if before is None:
        advice = did_you_mean(node, plan.nodes, f"there is {', '.join(plan.nodes)}")
        raise EngineError(f"there is no node {node} in this run; {advice}")
    if before.is_source:
        raise EngineError(f"node {node} is a source and has no queue; tune the node behind it")
    if plan.strategy != "aiflow":
        raise EngineError(
            f"the strategy {plan.strategy} decides about all queues and workers;"
            " only a run of the strategy aiflow can be tuned"
        )
    policy = _policy(before, changes)
    nodes = {**plan.nodes, node: _with_policy(before, policy)}
    errors = () if plan.errors_with is None else plan.errors_with(_policies(nodes.values()))
    if errors:
        raise EngineError("; ".join(errors))
    bound = plan_bound(nodes.values(), plan.max_conversations)
    return replace(plan, nodes=nodes, bound=bound)


def differences(before: NodePlan, after: NodePlan) -> dict[str, tuple[Any, Any]]:
    """Return what is another now, member -> old and new value; retry's members one by one."""
    old, new = _plain(before.policy), _plain(after.policy)
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}


def apply(guardian: Guardian, node: NodePlan, lanes: Iterable[Lane]) -> None:
    """Let a guardian work by another policy from now on.

    Args:
        guardian: whose node is tuned.
        node: the same node with its new policy.
        lanes: of all open turns at this node.
    """
    at = guardian.kernel.now()
    guardian.meter(at)
    _note_worker_time(guardian, at)
    policy, had_one_place = node.policy, guardian.window <= 1
    guardian.node = node
    guardian.queue_capacity = node.queue_capacity
    if guardian.gate is not None:
        guardian.gate.share_out(node.queue_capacity)
    guardian.window = policy.workers + policy.reorder_capacity
    sharing.refresh(guardian)
    guardian.keeps_order |= policy.workers == 1 or policy.reorder_capacity > 0
    guardian.overflow = policy.overflow
    guardian.retry = policy.retry
    set_way(guardian)
    if had_one_place and guardian.window > 1:
        _part_scopes(lanes)
    if not guardian.is_paused:
        guardian.workers = policy.workers
    guardian.remeter()
    _ask_waiters_again(guardian, at)
    go_on(guardian)


def left_over(guardian: Guardian) -> int:
    """Return how many events more than declared a node may hold, because q, k or ρ was lowered."""
    policy = guardian.node.policy
    workers = workers_now(guardian)
    window = max(policy.workers + policy.reorder_capacity, guardian.dispatched)
    listed = (workers - policy.workers) * (guardian.max_outputs - 1)
    declared = guardian.queue_capacity
    queue = 0 if declared is None else (capacity_now(guardian) or 0) - declared
    return queue + window - policy.workers - policy.reorder_capacity + listed


def bound_now(plan: Plan, guardians: Iterable[Guardian]) -> int | None:
    """Return the bound of a run: what is declared now, and what is left over from before."""
    if plan.bound is None:
        return None
    return plan.bound + sum(left_over(each) for each in guardians if not each.is_source)


def capacity_now(guardian: Guardian) -> int | None:
    """Return the effective q; None where it is unlimited."""
    declared = guardian.queue_capacity
    if declared is None:
        return None
    if guardian.gate is not None:
        return max(declared, guardian.gate.occupied)
    return max(declared, guardian.depth)


def workers_now(guardian: Guardian) -> int:
    """Return the effective k."""
    return max(guardian.node.policy.workers, guardian.opened)


def reorder_now(guardian: Guardian) -> int:
    """Return the effective ρ."""
    beside = guardian.dispatched - workers_now(guardian)
    return max(guardian.node.policy.reorder_capacity, beside)


def worker_seconds(guardian: Guardian, at: float, started_at: float) -> float:
    """Return the seconds of worker time there have been: elapsed × k, whatever k was when."""
    since = started_at if guardian.tuned_at is None else guardian.tuned_at
    return guardian.tuned_worker_s + max(0.0, at - since) * guardian.node.policy.workers


def _policy(node: NodePlan, changes: Mapping[str, Any]) -> Policy:
    """Return the node's policy with the changes in it."""
    if not changes:
        raise EngineError(f"nothing is to be changed at node {node.id}; give a policy member")
    given = node.policy.model_dump(mode="json")
    for name, value in changes.items():
        if name not in TUNABLE:
            near = did_you_mean(name, TUNABLE, f"there is {', '.join(TUNABLE)}")
            if name in Policy.model_fields:
                near = f"only {', '.join(TUNABLE)} can; change it for the next run"
            raise EngineError(f"{name} of node {node.id} cannot be changed while it runs; {near}")
        plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        is_partial = name == "retry" and isinstance(plain, Mapping)
        given[name] = {**given[name], **plain} if is_partial else _word(plain)
    policy, flaws = validated(Policy, given)
    if policy is None:
        raise EngineError(f"node {node.id}: {flaws[0].field} {flaws[0].message}")
    return policy


def _word(value: Any) -> Any:  # noqa: ANN401 - any plain value
    return value.value if isinstance(value, Enum) else value


def _with_policy(node: NodePlan, policy: Policy) -> NodePlan:
    return replace(node, policy=policy, queue_capacity=policy.queue_capacity)


def _policies(nodes: Iterable[NodePlan]) -> dict[str, Policy]:
    return {node.id: node.policy for node in nodes if not node.is_source}


def _plain(policy: Policy) -> dict[str, Any]:
    plain = policy.model_dump(mode="json", include=set(TUNABLE))
    retry = plain.pop("retry")
    return plain | {f"retry.{name}": value for name, value in retry.items()}


def _note_worker_time(guardian: Guardian, at: float) -> None:
    started_at = guardian.kernel.started_at
    guardian.tuned_worker_s = worker_seconds(guardian, at, started_at)
    guardian.tuned_at = at


def _part_scopes(lanes: Iterable[Lane]) -> None:
    """Give what comes a scope of its own: calls at work beside each other share none."""
    for lane in lanes:
        for call in lane.calls:
            if call.scope is lane.scope:
                call.scope.emit_to(call.collect)
                lane.scope = lane.scope.fork(lane.collect)


def _ask_waiters_again(guardian: Guardian, at: float) -> None:
    """Let those decide anew who wait for room at a queue that does not block any more."""
    for call in tuple(guardian.waiters):
        if call in guardian.waiters and not _blocks(guardian, call):
            let_in(guardian, call, at)


def _blocks(guardian: Guardian, call: Call) -> bool:
    """Say whether an output that finds no room here waits for it."""
    if guardian.overflow in (Overflow.BLOCK, Overflow.ERROR):
        return guardian.overflow is Overflow.BLOCK
    return call.pending is None or not is_droppable(call.pending.payload)
