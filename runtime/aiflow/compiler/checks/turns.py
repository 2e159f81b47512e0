"""AF416: does a join hold a turn of which one branch sends nothing before its end?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.branches import connected, is_aligned, joins_of, plain_way, sources_of_inputs
from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.order import reachable
from aiflow.compiler.resolved import Resolved, ResolvedNode, conversations_at_once
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.model import Edge
from aiflow.operators.base import Source
from aiflow.policies import Policy

_MOST_PARTS = 1_000_000


def turns_fit_where_a_branch_waits_for_their_end(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF416: one branch of a join keeps all back until the turn ends, and the turn is too long.

    The join waits for the first event of that branch, and holds meanwhile what the other
    sends: in its part of the queue, beside it (max_parts), and in the nodes before it. Told
    only where the source declares how many events a turn has, and nothing on the way drops any.

    Why: When the join is full the conversation fails, because its turn can never end.
    For example: a source of 100 tokens that leads to an aggregate and past it to one join.
    Remedy: raise max_parts of the join, lead both branches through an aggregate, or bring them
        together with a merge.
    """
    found = Finding("AF416")
    active = conversations_at_once(resolved)
    inputs = sources_of_inputs(resolved)
    for node, joining in joins_of(resolved):
        ports = connected(node)
        if node.policy is None or (joining.mode == "zip" and not is_aligned(inputs[node.id])):
            continue
        share = max(1, node.policy.queue_capacity // max(1, ports) // active)
        for keeper, source, ahead in _kept_back(resolved, node):
            between = sum(p.queue_capacity + p.workers + p.reorder_capacity for p in ahead)
            places = share + joining.max_parts + between
            events = _events_of(source)
            if events <= places:
                continue
            wanted = joining.max_parts + events - places
            can_be_set = node.type is not None and "max_parts" in node.type.Params.model_fields
            yield found.hint(
                "node {node} waits for node {keeper}, which sends nothing before the turn ends,"
                " but {places} events of the other branch are the most that can wait for it, and"
                " {source} sends {events}",
                "set max_parts to {wanted} or more, or aggregate the other branch too",
                node=node.id,
                field="max_parts",
                keeper=keeper.id,
                places=places,
                source=source.id,
                events=events,
                wanted=wanted,
                fix=fix(
                    f"Set max_parts to {wanted}", edits.merge_params, node.id, {"max_parts": wanted}
                )
                if can_be_set and wanted <= _MOST_PARTS
                else None,
            )
            break


CHECKS: tuple[Check, ...] = (turns_fit_where_a_branch_waits_for_their_end,)


def _kept_back(
    resolved: Resolved, join: ResolvedNode
) -> Iterator[tuple[ResolvedNode, ResolvedNode, list[Policy]]]:
    """Yield who keeps a branch back to the end, the source, and the nodes of another branch.

    Only where what the source sends is sure to reach both.
    """
    before = {id: [e.source.node for e in node.incoming] for id, node in resolved.nodes.items()}
    ways: dict[str, tuple[ResolvedNode, list[Policy]]] = {}
    keepers: dict[str, ResolvedNode] = {}
    for port in dict.fromkeys(edge.target.port for edge in join.incoming):
        edges = [edge for edge in join.incoming if edge.target.port == port]
        way = _way_of_each(resolved, edges[0]) if len(edges) == 1 else None
        if way is not None:
            ways[port] = way
            continue
        for id in sorted(reachable(before, [edge.source.node for edge in edges])):
            node = resolved.nodes[id]
            if node.operator is not None and made(node.operator.waits_for_end)[0]:
                keepers.setdefault(port, node)
    for keeper in keepers.values():
        origins = [way[0].id for e in keeper.incoming if (way := _way_of_each(resolved, e))]
        for source, policies in ways.values():
            if source.id in origins:
                yield keeper, source, policies


def _way_of_each(resolved: Resolved, edge: Edge) -> tuple[ResolvedNode, list[Policy]] | None:
    """Return the source whose first output an edge brings whole, and the policies on the way."""
    way = plain_way(resolved, edge)
    if way is None:
        return None
    id, between = way
    first = between[-1].incoming[0] if between else edge
    source = resolved.nodes[id]
    if source.type is None or first.source.port != source.type.outputs[0].name:
        return None
    return source, [node.policy for node in between if node.policy is not None]


def _events_of(source: ResolvedNode) -> int:
    """Return how many events a turn of a source has, 0 where nobody can say."""
    if not isinstance(source.operator, Source):
        return 0
    return made(source.operator.events_per_turn)[0] or 0
