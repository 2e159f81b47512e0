"""The bottleneck: the one node that others wait for, why, and who they are.

The rule is that of those who run streams in production: follow the nodes that are held back
downstream to the first that works and is not itself held back. Where the load moves between
neighbours, the one that works most is meant, and a node once named stays named until another
is clearly worse, so that what is shown does not flicker.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from aiflow.analysis.facts import Facts
from aiflow.analysis.load import Load, loads
from aiflow.analysis.wording import duration, listed
from aiflow.metrics.snapshot import NodeStats, Snapshot

Kind = Literal["slow", "window", "stalled", "held"]

#: Seconds per second that a node must stand still to count as waiting; half of it is enough
#: to stay one while the same bottleneck is still named.
_WAITS = 0.05
#: A node that works less than this share of the time holds nobody back by working.
_WORKS = 0.05
#: Loads nearer than this are taken for equal; a node that was named before keeps more.
_ALIKE = 0.1
_ALIKE_BEFORE = 0.2
#: From this share of lost workers on the window is the reason, not the operator alone.
_WINDOW = 0.25


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The node that others wait for.

    Attributes:
        kind: `slow`, its workers are at work; `window`, they wait for their oldest event;
            `stalled`, events wait and nothing is at work; `held`, by a breakpoint.
        waiting: nodes upstream that are held back because of it, in the graph's order.
        sources: those of them that are sources.
        busy: share of its workers' time in the operator.
        service_s: mean time of one event there, None where none has ended yet.
        workers: how many events it works on at once. `is_single`: its state allows one.
        arrivals_per_s: events that came; held back, they come no faster than they are done.
        queue_capacity: its q, None where unlimited; `depth` what waits there now.
    """

    node: str
    kind: Kind
    waiting: tuple[str, ...]
    sources: tuple[str, ...]
    busy: float
    service_s: float | None
    workers: int
    is_single: bool
    reorder_capacity: int
    arrivals_per_s: float
    queue_capacity: int | None
    depth: int

    @property
    def most_per_s(self) -> float | None:
        """Events per second that it can do at most, None where that is not known."""
        return self.workers / self.service_s if self.service_s else None

    @property
    def reason(self) -> str:
        """Why it holds others back, as a clause."""
        if self.kind == "held":
            return f"a breakpoint holds it, and {self.depth:,} events wait in its queue"
        if self.kind == "stalled":
            return f"{self.depth:,} events wait in its queue and none is at work"
        if self.service_s is None:
            return f"its first events are still at work (k = {self.workers})"
        took = f"one event takes {duration(self.service_s)}"
        if self.kind == "window":
            return (
                f"{took}, and the oldest keeps the others from leaving"
                f" (k = {self.workers}, ρ = {self.reorder_capacity})"
            )
        how = "one at a time, as its state asks" if self.is_single else f"with k = {self.workers}"
        most = self.most_per_s or 0.0
        return f"{took} {how}, at most {most:,.1f}/s, and {self.arrivals_per_s:,.1f}/s arrive"

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        verb = "waits" if len(self.waiting) == 1 else "wait"
        return (
            f"{self.node} is the bottleneck: {self.reason}; {listed(self.waiting)} {verb} for it."
        )


def bottleneck(
    before: Snapshot | None,
    now: Snapshot,
    facts: Facts,
    previous: Bottleneck | None = None,
) -> Bottleneck | None:
    """Return the node that others waited for between two snapshots, None where nobody did.

    Args:
        before: an earlier snapshot of the same run, best about a second or two; None is the
            start of the run.
        now: the newest.
        facts: of the plan that runs.
        previous: what was named last, so that a name changes only for a reason.
    """
    load = loads(before, now, facts)
    waits = _WAITS if previous is None else _WAITS / 2
    held = {id: None for id, each in load.items() if each.held >= waits}
    # Whoever is held waits for one of these, or for one that those wait for in turn.
    reached = {id for each in held for id in facts.targets[each] if id in load}
    if not reached:
        return None
    name = _worst(reached, load, now, previous)
    if name in facts.joins and load[name].pressure < _WORKS:
        # A join that is full waits itself, for the branch that is slow.
        name = _slowest_branch(name, facts, load)
    found = set(_behind(name, facts, held))
    for join in facts.joins.intersection(reached):
        if name == _slowest_branch(join, facts, load):
            found.update(_behind(join, facts, held))
    waiting = tuple(id for id in facts.order if id in found and id != name)
    if not waiting:
        return None
    return _told(now.nodes[name], load[name], waiting, facts)


def _slowest_branch(join: str, facts: Facts, load: Mapping[str, Load]) -> str:
    """Return the node before a join that works most; the join itself where none does."""
    before: set[str] = {join}
    for id in reversed(facts.order):
        if before.intersection(facts.targets[id]):
            before.add(id)
    works = [id for id in before if id in load and load[id].pressure >= _WORKS]
    return max(works, key=lambda id: (load[id].pressure, id), default=join)


def _behind(name: str, facts: Facts, held: Collection[str]) -> tuple[str, ...]:
    """Return the held nodes that wait for a node, over others that wait for it too."""
    found: set[str] = set()
    # Targets come after their senders, so one walk from the end is enough.
    for id in reversed(facts.order):
        if id != name and id in held and any(t == name or t in found for t in facts.targets[id]):
            found.add(id)
    return tuple(id for id in facts.order if id in found)


def _worst(
    reached: Collection[str],
    load: Mapping[str, Load],
    now: Snapshot,
    previous: Bottleneck | None,
) -> str:
    candidates = [id for id in load if id in reached]
    most = max(load[id].pressure for id in candidates)
    if previous is not None and previous.node in reached:
        pressure = load[previous.node].pressure
        if pressure >= max(_WORKS, most - _ALIKE_BEFORE):
            return previous.node
    if most < _WORKS:
        # Nothing works, so it is the one that could: the fullest that is not itself held.
        return max(candidates, key=lambda id: (load[id].held < _WAITS, _fill(now.nodes[id])))
    alike = [id for id in candidates if load[id].pressure >= most - _ALIKE]
    return min(alike, key=lambda id: load[id].held)


def _fill(node: NodeStats) -> float:
    return node.depth / node.queue_capacity if node.queue_capacity else 0.0


def _told(node: NodeStats, load: Load, waiting: tuple[str, ...], facts: Facts) -> Bottleneck:
    kind: Kind = "slow"
    if node.is_paused:
        kind = "held"
    elif load.pressure < _WORKS and node.depth and not node.running:
        kind = "stalled"
    elif load.window >= _WINDOW:
        kind = "window"
    is_single = facts.runs_one_at_a_time(node.id)
    return Bottleneck(
        node.id,
        kind,
        waiting,
        tuple(id for id in waiting if id in facts.sources),
        load.busy,
        load.service_s,
        1 if is_single else node.workers,
        is_single,
        node.reorder_capacity,
        load.arrivals_per_s,
        node.queue_capacity,
        node.depth,
    )
