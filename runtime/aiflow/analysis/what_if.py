"""What if: depth, latency and loss under another policy, computed before anybody changes it.

The plan runs again on the virtual clock, with stand-ins whose times are drawn from those
measured. What that cannot know: times that depend on the load (a model that slows down when
asked twice at once) or on the payload, retries, and what a source held back would have sent
meanwhile, unless its params or the caller say its rate. The
same arguments give the same answer, to the last bit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aiflow.analysis.spread import Spread
from aiflow.analysis.stand_ins import Pace, port_counts, stand_in_edges, stand_ins
from aiflow.analysis.wording import duration
from aiflow.clock import VirtualLoop
from aiflow.compiler.bound import plan_bound
from aiflow.compiler.plan import NodePlan, Plan
from aiflow.engine.session import Session
from aiflow.metrics.instruments import Histogram
from aiflow.metrics.snapshot import NodeStats, Snapshot
from aiflow.operators.base import Source
from aiflow.policies import Overflow, Policy, State

#: Virtual seconds after which a what-if of a run that has ended is cut off.
LONGEST_S = 600.0
#: A run that goes on is repeated for as long as it went so far, within these seconds.
_SHORTEST_S, _AS_LONG_S = 10.0, 60.0
#: Most events that all sources of one what-if send together.
MOST_EVENTS = 20_000
# A source that stood still for less than this share of the time was as fast as it is.
_FREE = 0.05
_SINGLE = (State.SERIALIZED, State.TRANSACTIONAL)


@dataclass(frozen=True, slots=True)
class Change:
    """Another policy for one node; None leaves a member as it is.

    A change of nothing gives the plan as it is, to compare with.
    """

    node: str
    workers: int | None = None
    reorder_capacity: int | None = None
    queue_capacity: int | None = None
    overflow: Overflow | None = None

    @property
    def label(self) -> str:
        """The change in short, such as `speech: k = 2`."""
        members = (
            ("k", self.workers),
            ("ρ", self.reorder_capacity),
            ("q", self.queue_capacity),
            ("o", None if self.overflow is None else self.overflow.value),
        )
        said = ", ".join(f"{symbol} = {value}" for symbol, value in members if value is not None)
        return f"{self.node}: {said or 'as it is'}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change would do; depth and wait are those of its node.

    Attributes:
        bound: most events that the runtime could hold then; `max_in_flight` what it held.
        mean_depth: over the whole time.
        latency_p50_ms: age of an event, from its arrival at the source, when a sink behind the
            node is done with it; `latency_p99_ms` likewise.
        lost: events dropped at any node; `loss` their share of those the sources sent.
        done_per_s: events that those sinks were done with, each second.
        duration_s: until all was done, or until it was cut off.
        is_over: all was done; False where it was cut off.
    """

    change: Change
    bound: int | None
    max_in_flight: int
    max_depth: int
    mean_depth: float
    wait_p50_ms: float
    wait_p99_ms: float
    latency_p50_ms: float
    latency_p99_ms: float
    lost: int
    loss: float
    done_per_s: float
    duration_s: float
    is_over: bool

    @property
    def sentence(self) -> str:
        """It in one sentence."""
        return (
            f"{self.change.label}: at most {self.max_depth:,} events wait there, the median event"
            f" is done after {duration(self.latency_p50_ms / 1e3)}, {self.loss:.1%} are lost,"
            f" {self.done_per_s:,.1f}/s are done."
        )


def changes_worth_trying(plan: Plan, node: str) -> tuple[Change, ...]:
    """Return the plan as it is and the usual mends of a bottleneck: k + 1, q × 2, another o.

    Where events leave in order they still do so with one worker more, by a reorder buffer.
    """
    policy = _changeable(plan, node).policy
    return (Change(node), *_mends(node, policy, plan.nodes[node].queue_capacity))


def what_if(
    plan: Plan,
    measured: Snapshot,
    changes: Sequence[Change],
    *,
    rates: Mapping[str, float] | None = None,
) -> tuple[Outcome, ...]:
    """Run the plan with each change on the virtual clock and return what came of it.

    It computes for up to seconds and brings a loop of its own, so from a coroutine call it
    by `asyncio.to_thread`.

    Args:
        plan: that was measured, of the strategy `aiflow`.
        measured: a snapshot of its run, the last or a later one.
        changes: each is tried by itself.
        rates: source -> events per second of one conversation, for a source whose params do
            not say it; a `Watch` has what it saw while nothing held the source back. Without
            either, a source sends on as fast as it was seen to while it could.

    Raises:
        ValueError: a change names no node that takes one, or cannot be; the plan is not of
            the strategy `aiflow`.
    """
    if plan.strategy != "aiflow":
        raise ValueError(f"a what-if needs the plan as drawn, not under {plan.strategy}")
    changed = [_changed(plan, change) for change in changes]
    paces = {
        id: _pace(plan, node, measured, (rates or {}).get(id))
        for id, node in plan.nodes.items()
        if node.is_source
    }
    return tuple(
        _outcome(change, other, measured, paces)
        for change, other in zip(changes, changed, strict=True)
    )


def _mends(node: str, policy: Policy, capacity: int | None) -> Iterator[Change]:
    if policy.state not in _SINGLE:
        workers = policy.workers + 1
        is_ordered = policy.workers == 1 or policy.reorder_capacity > 0
        places = max(policy.reorder_capacity, workers) if is_ordered else None
        yield Change(node, workers=workers, reorder_capacity=places)
    if capacity is not None:
        yield Change(node, queue_capacity=2 * capacity)
        is_blocking = policy.overflow is Overflow.BLOCK
        yield Change(node, overflow=Overflow.DROP_OLDEST if is_blocking else Overflow.BLOCK)


def _changeable(plan: Plan, node: str) -> NodePlan:
    if node not in plan.nodes:
        raise ValueError(f"there is no node {node}; the plan has {', '.join(plan.nodes)}")
    if plan.nodes[node].is_source:
        raise ValueError(f"{node} is a source: it has no queue and no workers to change")
    return plan.nodes[node]


def _changed(plan: Plan, change: Change) -> Plan:
    node = _changeable(plan, change.node)
    given = {
        "workers": change.workers,
        "reorder_capacity": change.reorder_capacity,
        "queue_capacity": change.queue_capacity,
        "overflow": change.overflow,
    }
    members = {name: value for name, value in given.items() if value is not None}
    policy = Policy.model_validate(node.policy.model_dump() | members)
    if policy.state in _SINGLE and policy.workers > 1:
        raise ValueError(f"{node.id} works on one event at a time, as its state asks; k stays 1")
    capacity = node.queue_capacity if change.queue_capacity is None else change.queue_capacity
    nodes = dict(plan.nodes)
    nodes[node.id] = replace(node, policy=policy, queue_capacity=capacity)
    return replace(plan, nodes=nodes, bound=plan_bound(nodes.values(), plan.max_conversations))


def _pace(plan: Plan, node: NodePlan, measured: Snapshot, rate: float | None) -> Pace:
    """Return how a source sends: as declared or told, else as it did while it could."""
    sent = sum(port_counts(node, measured).values())
    stats = measured.nodes.get(node.id, NodeStats(node.id))
    elapsed_s = measured.at - measured.started_at
    # Held back, a source hands over what it has stored at once: its times tell nothing then.
    is_free = stats.backpressured_s <= _FREE * elapsed_s
    times = Spread.of(stats.service) if is_free else Spread.always(0.0)
    if rate is None and isinstance(node.operator, Source):
        rate = node.operator.rate_per_s()
    opened = max(1, len(measured.conversations) + measured.waiting_conversations)
    has_ended = measured.phase not in ("idle", "running", "draining")
    springs = sum(each.is_source for each in plan.nodes.values())
    conversations = min(opened, max(1, MOST_EVENTS // (10 * springs)))
    most = max(1, MOST_EVENTS // (conversations * springs))
    count = min(most, -(-sent // opened)) if has_ended else most
    is_open = rate is not None and rate > 0
    pause_s = 1 / rate if rate else 0.0
    if rate is None and sent:
        pause_s = stats.busy_s / sent
    return Pace(count, conversations, times.scaled(pause_s), is_open)


def _outcome(change: Change, plan: Plan, measured: Snapshot, paces: Mapping[str, Pace]) -> Outcome:
    ages = Histogram()
    nodes = stand_ins(plan, measured, paces, change.node, ages)
    played = replace(plan, nodes=nodes, edges=stand_in_edges(plan), resources={})
    limit_s = LONGEST_S
    if measured.phase in ("idle", "running", "draining"):
        limit_s = min(_AS_LONG_S, max(_SHORTEST_S, measured.at - measured.started_at))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        last = runner.run(_played(played, limit_s))
    if last.error is not None:
        raise ValueError(f"{change.label} cannot run: {last.error}")
    node, latency = last.nodes[change.node], ages.stats()
    sent = sum(last.nodes[id].emitted for id in paces)
    lost = sum(sum(each.dropped.values()) for each in last.nodes.values())
    elapsed_s = last.at - last.started_at
    return Outcome(
        change,
        plan.bound,
        last.max_in_flight,
        node.max_depth,
        node.wait.sum_s / elapsed_s if elapsed_s > 0 else 0.0,
        node.wait.p50_ms,
        node.wait.p99_ms,
        latency.p50_ms,
        latency.p99_ms,
        lost,
        lost / sent if sent else 0.0,
        latency.count / elapsed_s if elapsed_s > 0 else 0.0,
        elapsed_s,
        last.phase == "completed",
    )


async def _played(plan: Plan, limit_s: float) -> Snapshot:
    """Run a plan, at most so many virtual seconds, and return its numbers then."""
    session = Session(plan)
    task = asyncio.create_task(session.run())
    await asyncio.wait({task}, timeout=limit_s)
    snapshot = session.snapshot()
    session.stop()
    await task
    return snapshot
