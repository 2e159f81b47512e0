"""The plan: what the engine runs; frozen, names resolved, order fixed.

Made by `compile` from a graph without errors, rewritten by `strategies`. The engine reads
nothing but this, so a strategy or a what-if is a new plan and never a branch in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiflow.graph.model import Feedback
from aiflow.operators.base import Operator
from aiflow.policies import Overflow, Policy, SideEffects, State
from aiflow.types import PortType


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """One edge.

    Attributes:
        overflow: what a detached edge does at a full queue; None on a strict edge, where the
            target's own policy decides.
        feedback: limits of an edge that leads back to where a loop begins, None elsewhere.
    """

    id: str
    source: str
    source_port: str
    target: str
    target_port: str
    type: PortType
    is_detached: bool = False
    overflow: Overflow | None = None
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node.

    Attributes:
        operator: an instance with valid params.
        queue_capacity: effective q; None is unlimited (strategies only).
        inputs: in-ports in the operator's order that an edge leads to, feedback edges aside.
        edges_out: ids of its outgoing edges by out-port, in document order.
        resources: name the operator asks for -> resource id.
        is_measured: TTFPT is taken here.
        max_in_flight: for a source: events of one conversation that may be anywhere in the
            graph before the next is read; None is no such limit.
    """

    id: str
    operator: Operator[Any]
    policy: Policy
    side_effects: SideEffects
    queue_capacity: int | None
    inputs: tuple[str, ...] = ()
    edges_out: Mapping[str, tuple[str, ...]] | None = None
    resources: Mapping[str, str] | None = None
    is_measured: bool = False
    max_in_flight: int | None = None

    @property
    def is_source(self) -> bool:
        """Whether the operator has no inputs."""
        return not self.operator.inputs

    @property
    def outputs_at_once(self) -> int:
        """The most outputs of one event that may be there at the same time."""
        is_whole = self.policy.state is State.TRANSACTIONAL and not self.is_source
        return self.operator.most_outputs() if is_whole else self.operator.max_outputs

    @property
    def is_sink(self) -> bool:
        """Whether the operator has no outputs."""
        return not self.operator.outputs


@dataclass(frozen=True, slots=True)
class ResourcePlan:
    """One resource: `make` returns a fresh one that has not started."""

    id: str
    kind: str
    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run, before it runs.

    Attributes:
        nodes: in topological order, sources first.
        edges: in document order.
        bound: most events the runtime may hold; None where a queue is unlimited.
        errors_with: runs all checks again with other policies (node -> policy) and returns a
            sentence for each error that comes of them; None in a plan that no graph is behind.
    """

    name: str
    nodes: Mapping[str, NodePlan]
    edges: Mapping[str, EdgePlan]
    resources: Mapping[str, ResourcePlan]
    max_conversations: int
    bound: int | None
    strategy: str = "aiflow"
    errors_with: Callable[[Mapping[str, Policy]], tuple[str, ...]] | None = field(
        default=None, compare=False, repr=False
    )
