"""What of a plan an analysis needs: who can hold whom back, and what states allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiflow.compiler.plan import Plan
from aiflow.metrics.snapshot import Snapshot
from aiflow.policies import State


@dataclass(frozen=True, slots=True)
class Facts:
    """The shape of a run.

    Attributes:
        targets: node -> nodes whose full queue makes it wait; the nodes in topological
            order. A detached edge makes nobody wait and is not here, nor is a feedback edge.
        sources: nodes that nothing leads to.
        states: node -> what its state allows; a node that is not named is stateless.
        joins: nodes that wait for the slowest of their branches.
    """

    targets: Mapping[str, tuple[str, ...]]
    sources: frozenset[str]
    states: Mapping[str, State]
    joins: frozenset[str] = frozenset()

    @classmethod
    def of_plan(cls, plan: Plan) -> Facts:
        """Return the facts of a plan."""
        strict = (
            (e.source, e.target)
            for e in plan.edges.values()
            if not e.is_detached and e.feedback is None
        )
        return cls(
            _targets(plan.nodes, strict),
            frozenset(id for id, node in plan.nodes.items() if node.is_source),
            {id: node.policy.state for id, node in plan.nodes.items()},
            frozenset(id for id, node in plan.nodes.items() if node.operator.joins() is not None),
        )

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot) -> Facts:
        """Return what a snapshot alone tells; it tells no edge as detached and no state."""
        place = {id: number for number, id in enumerate(snapshot.nodes)}
        # Nodes stand in order, so what leads back is a feedback edge.
        ends = [
            (source, target)
            for source, target in map(_ends, snapshot.edges)
            if place.get(source, -1) < place.get(target, -1)
        ]
        fed = {target for _, target in ends}
        return cls(
            _targets(snapshot.nodes, ends),
            frozenset(id for id in snapshot.nodes if id not in fed),
            {},
        )

    @property
    def order(self) -> tuple[str, ...]:
        """All nodes, sources first."""
        return tuple(self.targets)

    def runs_one_at_a_time(self, node: str) -> bool:
        """Whether the node's state lets one event in at once, whatever k is."""
        return self.states.get(node) in (State.SERIALIZED, State.TRANSACTIONAL)


def _targets(
    nodes: Iterable[str], ends: Iterable[tuple[str, str]]
) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {id: {} for id in nodes}
    for source, target in ends:
        if source in found and target in found:
            found[source][target] = None
    return {id: tuple(targets) for id, targets in found.items()}


def _ends(edge: str) -> tuple[str, str]:
    """Return the nodes of an edge's id, which is `node.port>node.port`."""
    source, _, target = edge.partition(">")
    return source.partition(".")[0], target.partition(".")[0]
