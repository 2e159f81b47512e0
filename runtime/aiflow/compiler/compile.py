"""`compile`: a graph and a catalog become a plan, or diagnostics that say why not.

Joins what the other modules find; knows no check by name. Never raises for a bad graph,
runs nothing, and takes time linear in nodes and edges.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from aiflow.compiler.bound import plan_bound
from aiflow.compiler.checks import (
    capacity,
    cycles,
    injection,
    joins,
    partitions,
    policies,
    promises,
    retries,
    structure,
    turns,
    types,
)
from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.compiler.findings import Check
from aiflow.compiler.plan import EdgePlan, NodePlan, Plan, ResourcePlan
from aiflow.compiler.recheck import errors_with
from aiflow.compiler.resolved import Resolved, ResolvedNode, ResolvedResource, resolve
from aiflow.graph.model import Edge, Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow.policies import Overflow
from aiflow.resources import Resource
from aiflow.types import PortType

ClockName = Literal["real", "virtual"]

#: Every check, in the order of its code's family.
CHECKS: tuple[Check, ...] = (
    *(structure.CHECKS + types.CHECKS + policies.CHECKS + promises.CHECKS),
    *(
        retries.CHECKS
        + partitions.CHECKS
        + cycles.CHECKS
        + joins.CHECKS
        + turns.CHECKS
        + injection.CHECKS
        + capacity.CHECKS
    ),
)
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of a graph.

    Attributes:
        plan: what the engine runs; None exactly when a diagnostic is an error.
        diagnostics: errors first, then warnings, then hints; each in document order.
        edge_types: edge id -> type that it carries, for every edge that joins two ports.
        bound: most events in flight; None without a plan.
    """

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    edge_types: Mapping[str, PortType]
    bound: int | None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that keep the graph from running."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)


def compile(
    graph: Graph,
    catalog: Catalog,
    *,
    base: str | os.PathLike[str] | None = None,
    clock: ClockName | None = None,
) -> Compiled:
    """Check a graph and make the plan of its run.

    Args:
        graph: any graph.
        catalog: the operators and resources that are known.
        base: folder that relative paths start from; None is the current one.
        clock: what the run's time comes from; None where the graph is only looked at, so
            that what one clock rules out is a hint.
    """
    resolved = resolve(graph, catalog, _folders(base), clock)
    diagnostics = [
        diagnostic
        for check in CHECKS
        for diagnostic in check(resolved)
        if not _is_suppressed(diagnostic, graph)
    ]
    diagnostics.sort(key=lambda diagnostic: _RANK[diagnostic.severity])
    has_errors = bool(diagnostics) and diagnostics[0].severity is Severity.ERROR
    plan = None if has_errors else _plan(resolved)
    bound = None if plan is None else plan.bound
    return Compiled(plan, tuple(diagnostics), resolved.types, bound)


def _folders(base: str | os.PathLike[str] | None) -> tuple[Path, ...]:
    own = Path.cwd() if base is None else Path(base).absolute()
    try:
        return own, graphs_dir()
    except FileNotFoundError:
        # Only a graph that names a shipped file misses it, and that is found and said.
        return (own,)


def _is_suppressed(diagnostic: Diagnostic, graph: Graph) -> bool:
    """Say whether a person has accepted it; an error cannot be accepted."""
    node = graph.nodes.get(diagnostic.node) if diagnostic.node else None
    return (
        node is not None
        and diagnostic.severity is not Severity.ERROR
        and any(item.code == diagnostic.code for item in node.suppress)
    )


def _plan(resolved: Resolved) -> Plan:
    graph = resolved.graph
    measured = _measured(resolved)
    nodes = {id: _node_plan(resolved.nodes[id], id in measured) for id in resolved.order}
    edges = {edge.id: _edge_plan(edge, resolved) for edge in resolved.edges.values()}
    used = {id for node in nodes.values() for id in (node.resources or {}).values()}
    resources = {
        id: ResourcePlan(id, entry.entry.kind, _maker(entry, resolved))
        for id, entry in resolved.resources.items()
        if id in used
    }
    bound = plan_bound(nodes.values(), graph.max_conversations)
    return Plan(
        graph.name,
        nodes,
        edges,
        resources,
        graph.max_conversations,
        bound,
        errors_with=partial(errors_with, resolved, CHECKS),
    )


def _measured(resolved: Resolved) -> set[str]:
    """Return the nodes that `measure` names, or all sinks where it names none that take part."""
    named = {id for id in resolved.graph.measure if id in resolved.nodes}
    return named or {id for id, node in resolved.nodes.items() if node.is_sink}


def _maker(entry: ResolvedResource, resolved: Resolved) -> Callable[[], Resource[Any]]:
    # Invariant: a graph without errors has every resource made once already.
    made = entry.resource
    if made is None:
        raise AssertionError(f"resource {entry.entry.id} passed the checks, but was not made")
    return partial(type(made), made.id, made.params, resolved.folders)


def _node_plan(node: ResolvedNode, is_measured: bool) -> NodePlan:
    # Invariant: a graph without errors has every operator made and every policy valid.
    if node.type is None or node.operator is None or node.policy is None:
        raise AssertionError(f"node {node.id} passed the checks, but was not made")
    leaving: dict[str, list[str]] = {}
    for edge in node.outgoing:
        leaving.setdefault(edge.source.port, []).append(edge.id)
    arriving = {edge.target.port for edge in node.incoming if edge.feedback is None}
    return NodePlan(
        id=node.id,
        operator=node.operator,
        policy=node.policy,
        side_effects=node.side_effects,
        queue_capacity=node.policy.queue_capacity,
        inputs=tuple(port.name for port in node.type.inputs if port.name in arriving),
        edges_out={port: tuple(ids) for port, ids in leaving.items()},
        resources={
            name: node.node.resources[name]
            for name in node.type.resource_kinds()
            if name in node.node.resources
        },
        is_measured=is_measured,
    )


def _edge_plan(edge: Edge, resolved: Resolved) -> EdgePlan:
    is_detached = edge.fanout == "detached"
    return EdgePlan(
        id=edge.id,
        source=edge.source.node,
        source_port=edge.source.port,
        target=edge.target.node,
        target_port=edge.target.port,
        type=resolved.types[edge.id],
        is_detached=is_detached,
        overflow=Overflow(edge.overflow or Overflow.DROP_OLDEST) if is_detached else None,
        feedback=edge.feedback,
    )
