"""Building: a plan's nodes become guardians, each with the runner that its operator needs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from concurrent.futures import Executor

from aiflow.compiler.plan import EdgePlan, NodePlan, Plan
from aiflow.engine.cells import EdgeState, Guardian, Kernel, Runner
from aiflow.engine.feedback import build_loops
from aiflow.engine.gates import Rows
from aiflow.engine.inline import InlineRunner
from aiflow.engine.joins import build_joins
from aiflow.engine.limits import set_way
from aiflow.engine.sources import SourceRunner
from aiflow.engine.workers import WorkerRunner
from aiflow.operators.base import Operator, Source

#: The largest k that a policy allows.
_MOST_WORKERS = 1024


def build_guardians(plan: Plan, kernel: Kernel, executor: Executor | None) -> dict[str, Guardian]:
    """Return a guardian for each node, in the plan's order.

    Blocking operators run in the executor; None on the virtual clock, where they run like
    any plain function and take their declared time.
    """
    guardians = {node.id: _guardian(node, kernel, executor) for node in plan.nodes.values()}
    kernel.loops = build_loops(plan, guardians)
    build_joins(plan, guardians, _turns_at_once(plan))
    for guardian in guardians.values():
        guardian.keeps_runs = _keeps_runs(guardian, plan, guardians)
    return guardians


def build_edges(plan: Plan) -> dict[str, EdgeState]:
    """Return the state of each edge, in the plan's order."""
    return {
        edge.id: EdgeState(edge, _row_of(edge, plan.nodes[edge.target]))
        for edge in plan.edges.values()
    }


def _turns_at_once(plan: Plan) -> int:
    """Return how many turns may be open at once, as far as the sources declare."""
    sources = [each.operator for each in plan.nodes.values() if isinstance(each.operator, Source)]
    declared = max((source.conversations() for source in sources), default=1)
    return max(1, min(plan.max_conversations, declared))


def _row_of(edge: EdgePlan, target: NodePlan) -> int:
    """Return the row of the target's queue that an edge leads to; what returns has the last."""
    ports = target.inputs
    return len(ports) if edge.feedback is not None else ports.index(edge.target_port)


def blocking_workers(plan: Plan) -> int:
    """Return how many threads the blocking operators of a plan may ever need at once.

    As many as tuning can ask for: a thread is made when no other is idle, never before.
    """
    return sum(_MOST_WORKERS for node in plan.nodes.values() if node.operator.is_blocking)


def _guardian(node: NodePlan, kernel: Kernel, executor: Executor | None) -> Guardian:
    guardian = Guardian(node, kernel, _runner(node, executor))
    operator = node.operator
    guardian.has_finish = type(operator).finish is not Operator.finish
    if len(guardian.ports) > 1 or node.policy.max_bytes is not None:
        guardian.gate = Rows(guardian)
    # An operator that awaits takes its time itself.
    if kernel.clock.is_virtual and type(guardian.runner) is InlineRunner:
        guardian.service_s = declared_time_s(node)
    set_way(guardian)
    guardian.refresh()
    return guardian


def _runner(node: NodePlan, executor: Executor | None) -> Runner:
    if node.is_source:
        return SourceRunner()
    operator = node.operator
    if operator.is_blocking and executor is not None:
        return WorkerRunner(executor)
    if any(map(_awaits, (operator.process, operator.finish))):
        return WorkerRunner()
    return InlineRunner()


def declared_time_s(node: NodePlan) -> float | None:
    """Return the time per event that a node declares, None where it declares none or 0."""
    if node.policy.service_time_s is not None:
        return node.policy.service_time_s or None
    return node.operator.service_time_s() or None


def _awaits(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _keeps_runs(guardian: Guardian, plan: Plan, guardians: Mapping[str, Guardian]) -> bool:
    """Say whether all outputs of one sequence are made one behind the other here."""
    if guardian.is_source:
        return True
    edges = [edge for edge in plan.edges.values() if edge.target == guardian.id]
    if len(edges) != 1 or not guardian.keeps_order or plan.nodes[edges[0].source].id == guardian.id:
        return False
    return guardians[edges[0].source].keeps_runs
