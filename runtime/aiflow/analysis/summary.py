"""The summary: after a run, who kept the others waiting, in one sentence."""

from __future__ import annotations

from aiflow.analysis.bottleneck import bottleneck
from aiflow.analysis.facts import Facts
from aiflow.analysis.load import loads
from aiflow.analysis.wording import counted, listed
from aiflow.metrics.snapshot import NodeStats, Snapshot

# A node that nothing holds back, but that works more than this share of the run, sets its length.
_MOSTLY_BUSY = 0.5

NOBODY_WAITED = "No node kept another waiting."


def run_sentence(snapshot: Snapshot, facts: Facts) -> str:
    """Name the node that kept the others waiting over a whole run, if there is one.

    Args:
        snapshot: the last of the run.
        facts: of the plan that ran.
    """
    found = bottleneck(None, snapshot, facts)
    if found is None:
        return _unheld_sentence(snapshot, facts)
    slow = snapshot.nodes[found.node]
    return (
        f"{slow.id} was the slow consumer: busy {found.busy:.0%} of the time,"
        f" at most {_filling(slow)} in its queue; {listed(found.waiting)} waited for it."
    )


def _filling(node: NodeStats) -> str:
    """Say how full a queue has been, by the bound that it has now."""
    most, bound = node.max_depth, node.queue_capacity
    if bound is None:
        return f"{counted(most, 'event')}, without a limit,"
    if most > bound:  # the bound was lowered while the run went on
        return f"{counted(most, 'event')} (q is {bound:,} by now)"
    return f"{most:,} of {counted(bound, 'event')}"


def _unheld_sentence(snapshot: Snapshot, facts: Facts) -> str:
    """Say what a slow node did where the strategy, not the policy, let nothing wait in a queue."""
    load = loads(None, snapshot, facts)
    takers: list[NodeStats] = [
        node for id, node in snapshot.nodes.items() if id in load and id not in facts.sources
    ]
    if not takers:
        return NOBODY_WAITED
    slow = max(takers, key=lambda node: load[node.id].busy)
    busy = load[slow.id].busy
    if busy > _MOSTLY_BUSY and snapshot.strategy == "callback":
        return (
            f"{slow.id} was the slow step: busy {busy:.0%} of the time, and nothing else moved"
            " meanwhile, because a callback carries one event to its end before the next."
        )
    if busy > _MOSTLY_BUSY and slow.queue_capacity is None and slow.max_depth > 0:
        return (
            f"{slow.id} was the slow consumer: busy {busy:.0%} of the time, and because its queue"
            f" had no bound, nobody waited and {slow.max_depth:,} events piled up in it."
        )
    return NOBODY_WAITED
