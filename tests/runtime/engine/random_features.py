"""What a random graph can reach: each thing by a name, and how a finished run tells that it did.

A law says nothing of what its graphs never come to. So what they are to come to is listed here,
and is looked up in what a run has done, not in what was drawn for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aiflow.compiler.strategies import STRATEGIES
from tests.runtime.engine.random_graphs import PAIR_KINDS, SPREAD_KINDS, NodeSpec, Run, fanned

Told = Callable[[Run], bool]


def reached(noted: Run) -> Iterator[str]:
    """Yield the names of what a run has reached."""
    return (name for name, is_told in FEATURES.items() if is_told(noted))


def _kinds(noted: Run) -> set[str]:
    return {noted.spec.nodes[name].kind for (name, _), texts in noted.called.items() if texts}


def _is_called(kind: str) -> Told:
    return lambda noted: kind in _kinds(noted)


def _texts(noted: Run, kind: str) -> Iterator[tuple[str, str]]:
    """Yield (node, text) of each call of an operator of a kind."""
    for (name, _), texts in noted.called.items():
        if noted.spec.nodes[name].kind == kind:
            for text in texts:
                yield name, text


def _has_diamond(noted: Run) -> bool:
    spec = noted.spec
    for name, node in spec.nodes.items():
        if len(node.before) == 2 and any(key[0] == name for key in noted.called):
            left, right = (spec.carried(before) for before, _ in node.before)
            if left & right:
                return True
    return False


def _has_gap_in_join(noted: Run) -> bool:
    """Say whether a join got on though a filter had left a gap on one of its ways."""
    nodes = noted.spec.nodes
    before = [each for node in nodes.values() if node.kind == "join" for each, _ in node.before]
    filters = {name for name in before if name in nodes and nodes[name].kind == "filter"}
    gaps = [name for name, text in _texts(noted, "filter") if not fanned("filter", text)]
    return bool(filters.intersection(gaps))


def _goes_round(noted: Run) -> bool:
    return any(text.endswith(f"~{name}") for name, text in _texts(noted, "loop"))


def _has_dropped(reason: str) -> Told:
    return lambda noted: any(node.dropped.get(reason) for node in noted.snapshot.nodes.values())


def _gives_up(then: str) -> Told:
    def is_told(noted: Run) -> bool:
        nodes = noted.snapshot.nodes
        return any(
            retry.then == then and nodes[name].failed for name, retry in noted.spec.retries.items()
        )

    return is_told


def _cuts(mode: str) -> Told:
    return lambda noted: noted.cut[mode] > 0


def _has_ended(outcome: str) -> Told:
    return lambda noted: outcome in noted.snapshot.conversations.values()


def _effects(outcome: str) -> Told:
    return lambda noted: any(
        node.effects.get(outcome) for node in noted.snapshot.nodes.values() if node.effects
    )


def _runs_by(strategy: str) -> Told:
    return lambda noted: noted.spec.strategy == strategy and noted.calls > 0


def _is_smallest(noted: Run) -> bool:
    """Say whether a node with one place, one worker and no reorder buffer has worked."""
    return any(
        (node.queue_capacity, node.workers, node.reorder_capacity) == (1, 1, 0)
        for node in (noted.spec.nodes[name] for name, _ in noted.called)
    )


def _keeps_order(noted: Run) -> bool:
    return any(
        noted.spec.workers(name) > 1 and noted.spec.nodes[name].reorder_capacity
        for name, _ in noted.called
    )


def _is_detached(noted: Run) -> bool:
    edges = noted.session.plan.edges
    return any(edges[id].is_detached and edge.appended for id, edge in noted.snapshot.edges.items())


def _has_keys(noted: Run) -> bool:
    return any(
        len(texts) > 1 for (name, _), texts in noted.called.items() if name in noted.spec.keys
    )


def _counts_bytes(noted: Run) -> bool:
    """Say whether a queue had less in it than it has places for, and no room for more bytes."""
    for name, limit in noted.spec.most_bytes.items():
        texts = [text for (node, _), each in noted.called.items() if node == name for text in each]
        if len(texts) > 1 and min(map(len, texts)) * noted.spec.nodes[name].queue_capacity > limit:
            return True
    return False


def _waits_for_room(noted: Run) -> bool:
    return any(node.backpressured_s > 0 for node in noted.snapshot.nodes.values())


def _takes_inline(noted: Run) -> bool:
    return any(edge.inline for edge in noted.session._edges.values())


def _fans_inline(noted: Run) -> bool:
    return any(edge.fanned for edge in noted.session._edges.values())


def _takes_queue(noted: Run) -> bool:
    return any(node.max_depth > 1 for node in noted.snapshot.nodes.values())


def _takes_worker(noted: Run) -> bool:
    waiting = ("wait", "wait_list", "stream")
    return any(node.kind in waiting and node.pace for node in _called_nodes(noted))


def _called_nodes(noted: Run) -> Iterator[NodeSpec]:
    return (noted.spec.nodes[name] for name, _ in noted.called)


def _spends_total(noted: Run) -> bool:
    """Say whether an event was given up that would have succeeded with more time."""
    retries = noted.spec.retries
    return any(
        retries[name].total is not None and not retries[name].gives_up(name, text)
        for name, text in noted.buried
    )


def _has_turns(noted: Run) -> bool:
    return sum(noted.snapshot.turns.values()) >= noted.spec.conversations + 3


def _is_late(noted: Run) -> bool:
    return "the time that each" in str(noted.snapshot.error)


FEATURES: dict[str, Told] = {
    **{f"kind {kind}": _is_called(kind) for kind in sorted({*PAIR_KINDS, *SPREAD_KINDS})},
    "a diamond": _has_diamond,
    "a filter that leaves a gap": lambda noted: any(
        not fanned("filter", text) for _, text in _texts(noted, "filter")
    ),
    "a gap on the way to a join": _has_gap_in_join,
    "a round in a loop": _goes_round,
    "q, k, rho 1/1/0": _is_smallest,
    "several workers in order": _keeps_order,
    "three conversations at once": lambda noted: (
        min(noted.spec.conversations, noted.spec.max_conversations) == 3
    ),
    "a conversation that waits": lambda noted: (
        noted.spec.conversations > noted.spec.max_conversations
    ),
    "many turns": _has_turns,
    "a barge-in": lambda noted: (
        bool(noted.snapshot.turns.get("cancelled"))
        and any(barges for marks in noted.spec.marks.values() for _, barges in marks)
    ),
    "a source that takes turns": lambda noted: noted.spec.takes_turns and noted.calls > 0,
    "a wait for room": _waits_for_room,
    "drop_newest": _has_dropped("drop_newest"),
    "drop_oldest": _has_dropped("drop_oldest"),
    "an overflow that is an error": lambda noted: "is full" in str(noted.snapshot.error),
    "a detached edge": _is_detached,
    "branches that balance": lambda noted: len(set(noted.ways.values())) == 2,
    "a partition": _has_keys,
    "a limit of bytes": _counts_bytes,
    "a retry": lambda noted: any(node.retries for node in noted.snapshot.nodes.values()),
    **{f"then {then}": _gives_up(then) for then in ("fail", "skip")},
    "a dead letter": lambda noted: bool(noted.buried),
    "all tries' time": _spends_total,
    "a conversation's deadline": _is_late,
    **{f"events cut by {mode}": _cuts(mode) for mode in ("propagate", "drain", "shield")},
    "a source that drains": lambda noted: bool(noted.spec.drained) and bool(noted.cut),
    "a stop": lambda noted: 0 < (noted.spec.stops_at or 0) <= noted.calls,
    **{f"a conversation {how}": _has_ended(how) for how in ("completed", "failed", "cancelled")},
    "a transaction": lambda noted: bool(noted.states),
    **{f"effects {how}": _effects(how) for how in ("committed", "rolled_back", "discarded")},
    "an effect that waits too long": lambda noted: noted.effects.too_late > 0,
    "the inline path": _takes_inline,
    "a list inline": _fans_inline,
    "the queue path": _takes_queue,
    "a worker": _takes_worker,
    "a call that blocks, inline": lambda noted: (
        not noted.is_real and any(name in noted.spec.blocking for name, _ in noted.called)
    ),
    "a thread": lambda noted: (
        noted.is_real and any(name in noted.spec.blocking for name, _ in noted.called)
    ),
    **{f"strategy {name}": _runs_by(name) for name in STRATEGIES},
    "a tuning": lambda noted: any(at <= noted.calls for at, _, _ in noted.spec.tunings),
    "a breakpoint": lambda noted: any(at <= noted.calls for at, _, _, _ in noted.spec.holds),
    "a shuffled loop": lambda noted: noted.spec.shuffle is not None,
    "a run without a log": lambda noted: not noted.spec.is_logged and noted.calls > 0,
}
