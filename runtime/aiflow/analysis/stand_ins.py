"""Stand-ins: operators that take the time and make the outputs that real ones were seen to.

With them a plan runs again on the virtual clock without model, tool, file or device: only
queues, workers and windows are real. Times are drawn from those measured and shares of outputs
are kept evenly, so that the same measurement gives the same answer each time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiflow.analysis.spread import Spread
from aiflow.compiler.plan import EdgePlan, NodePlan, Plan
from aiflow.events import Message, Payload, Token
from aiflow.metrics.instruments import Histogram
from aiflow.metrics.snapshot import NodeStats, Snapshot
from aiflow.operators.base import Emit, NoParams, Operator, Source
from aiflow.operators.scope import Scope
from aiflow.policies import Retry, SideEffects, State

# A sum of shares that misses a whole number by less than this has reached it.
_ROUNDING = 1e-9
# Below this many seconds an operator counts as one that takes no time.
_NO_TIME_S = 1e-7
_ANY_NUMBER = 1 << 30


@dataclass(frozen=True, slots=True)
class Pace:
    """How a source stand-in sends.

    Attributes:
        count: events of one conversation. `conversations`: how many there are.
        pause: times from one event to the next.
        is_open: events are due at their times whether or not they are taken, as in a model
            that talks on; else the pause begins when the last has left.
    """

    count: int
    conversations: int
    pause: Spread
    is_open: bool


class _Step(Operator[NoParams]):
    """What stands in for an operator; see `stand_in`."""

    service: Spread
    shares: Mapping[str, float]
    payloads: Mapping[str, Payload | None]

    def new_state(self) -> dict[str, float]:
        return dict.fromkeys(self.shares, 0.0)

    def outputs_due(self, payload: object, scope: Scope) -> list[Emit]:
        """Return what leaves for one more event: whole outputs, the rest is owed."""
        owed: dict[str, float] = scope.state
        due = []
        for port, share in self.shares.items():
            whole = int(owed[port] + share + _ROUNDING)
            owed[port] += share - whole
            made = self.payloads[port]
            due += [Emit(port, payload if made is None else made)] * whole
        return due


class _QuickStep(_Step):
    def process(self, payload: Any, scope: Scope) -> Iterator[Emit]:  # noqa: ANN401 - payloads are any type
        yield from self.outputs_due(payload, scope)


class _SlowStep(_Step):
    async def process(self, payload: Any, scope: Scope) -> AsyncIterator[Emit]:  # noqa: ANN401 - payloads are any type
        await scope.sleep(self.service.draw(scope.random))
        for output in self.outputs_due(payload, scope):
            yield output


class _End(Operator[NoParams]):
    """What stands in for a sink, and notes how old events are when they are done."""

    service: Spread
    ages: Histogram | None

    async def process(self, payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        await scope.sleep(self.service.draw(scope.random))
        if self.ages is not None:
            self.ages.record(max(0.0, scope.clock.now() - scope.created_at))


class _Spring(Source[NoParams]):
    """What stands in for a source."""

    pace: Pace
    shares: Mapping[str, float]
    payloads: Mapping[str, Payload | None]

    def conversations(self) -> int:
        return self.pace.conversations

    async def stream(self, scope: Scope) -> AsyncIterator[Emit]:
        sent = dict.fromkeys(self.shares, 0)
        chance, due = scope.random, scope.clock.now()
        for number in range(1, self.pace.count + 1 if sent else 1):
            pause_s = self.pace.pause.draw(chance)
            if self.pace.is_open:
                await scope.sleep_until(due)
            elif pause_s:
                await scope.sleep(pause_s)
            # The port that is furthest behind its share; on a tie the first.
            port = max(sent, key=lambda each: self.shares[each] * number - sent[each])
            sent[port] += 1
            at = due if self.pace.is_open else None
            yield Emit(port, self.payloads[port] or Token(""), at)
            due += pause_s


def stand_ins(
    plan: Plan, measured: Snapshot, paces: Mapping[str, Pace], behind: str, ages: Histogram
) -> dict[str, NodePlan]:
    """Return the nodes of a plan with a stand-in for each operator.

    Args:
        plan: that was measured.
        measured: a snapshot of its run.
        paces: of its sources.
        behind: the node that is looked at.
        ages: gets the age of every event that a sink behind that node is done with.
    """
    sinks = _reached(plan, behind)
    return {
        id: _with(
            node, stand_in(plan, node, measured, paces.get(id), ages if id in sinks else None)
        )
        for id, node in plan.nodes.items()
    }


def stand_in_edges(plan: Plan) -> dict[str, EdgePlan]:
    """Return the edges of a plan; how often one event returns, a stand-in leaves to the shares."""
    return {
        id: edge
        if edge.feedback is None
        else replace(edge, feedback=replace(edge.feedback, hops=_ANY_NUMBER))
        for id, edge in plan.edges.items()
    }


def stand_in(
    plan: Plan, node: NodePlan, measured: Snapshot, pace: Pace | None, ages: Histogram | None
) -> Operator[NoParams]:
    """Return what stands in for one node's operator."""
    real, stats = node.operator, measured.nodes.get(node.id, NodeStats(node.id))
    counts = port_counts(node, measured)
    done = sum(counts.values()) if node.is_source else stats.processed
    if real.joins() is not None:
        done = stats.service.count  # parts are counted as processed, and worked on together
    service = service_times(node, stats)
    body: dict[str, Any] = {
        "name": real.name,
        "inputs": real.inputs,
        "outputs": real.outputs,
        "max_outputs": real.max_outputs,
        "kept_events": lambda _: real.kept_events(),
        "joins": lambda _: real.joins(),
        "service": service,
        "shares": {port: count / done if done else 1.0 for port, count in counts.items()},
        "payloads": {port: _payload(plan, node, port) for port in counts},
        "ages": ages,
        "pace": pace,
    }
    kind: type[Operator[NoParams]] = _SlowStep if service.mean_s > _NO_TIME_S else _QuickStep
    if node.is_source:
        kind = _Spring
    elif node.is_sink:
        kind = _End
    made: Operator[NoParams] = type("StandIn", (kind,), body)(NoParams())
    return made


def _reached(plan: Plan, start: str) -> set[str]:
    """Return a node and all that its events may come to."""
    found = {start}
    for id in plan.nodes:  # sources first, so a sender comes before its receivers
        if id in found:
            found |= {edge.target for edge in plan.edges.values() if edge.source == id}
    return found


def port_counts(node: NodePlan, measured: Snapshot) -> dict[str, int]:
    """Return how many outputs left a node by each connected port."""
    return {
        port: max((measured.edges[e].appended for e in edges if e in measured.edges), default=0)
        for port, edges in (node.edges_out or {}).items()
        if edges
    }


def service_times(node: NodePlan, stats: NodeStats) -> Spread:
    """Return how long an event takes: as measured, else as declared, else no time."""
    if stats.service.count:
        return Spread.of(stats.service)
    declared = node.policy.service_time_s
    if declared is None and not node.operator.accepts.keys() & (node.resources or {}).keys():
        declared = node.operator.service_time_s()
    return Spread.always(declared or 0)


def _with(node: NodePlan, operator: Operator[NoParams]) -> NodePlan:
    policy = node.policy.model_copy(
        update={"retry": Retry(), "side_effects": None, "service_time_s": None}
    )
    if policy.state is State.PARTITIONED:
        # The fields of the real payloads are not known; what surely keeps them apart is.
        policy = policy.model_copy(update={"partition_key": "conversation"})
    return replace(
        node, operator=operator, policy=policy, side_effects=SideEffects.NONE, resources=None
    )


def _payload(plan: Plan, node: NodePlan, port: str) -> Payload | None:
    """Return a payload that may be dropped exactly where the real one may; None: what came."""
    edges: Sequence[str] = (node.edges_out or {})[port]
    name = plan.edges[edges[0]].type.name
    if name in ("token", "chunk", "text", "audio"):
        return Token("")
    return None if name == "any" else Message("")
