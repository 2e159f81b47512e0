"""The branches before a join: whose events they carry, and whether each lets every event through.

What belongs together is known by source and sequence, and an output inherits both from the input
that it came of. So a branch carries all sources that reach it, but for a node that pairs: what it
sends is of what came by its first input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from aiflow.compiler.order import reachable
from aiflow.compiler.resolved import Resolved, ResolvedNode
from aiflow.compiler.values import made
from aiflow.graph.model import Edge
from aiflow.operators.base import Joining
from aiflow.policies import Overflow, Policy


def carried(
    edges: Iterable[tuple[str, str, str]], sources: Iterable[str], leading: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return node -> the sources whose events it sends on.

    Args:
        edges: node, node behind it and that one's in-port, of each edge.
        sources: ids of the sources.
        leading: node that pairs -> its first input.
    """
    behind: dict[str, list[str]] = defaultdict(list)
    for before, after, port in edges:
        if leading.get(after, port) == port:
            behind[before].append(after)
    found: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for node in reachable(behind, [source]):
            found[node].add(source)
    return found


def joining_of(node: ResolvedNode) -> Joining | None:
    """Return how a node joins its inputs; None where it does not, or nobody can say."""
    return None if node.operator is None else made(node.operator.joins)[0]


def joins_of(resolved: Resolved) -> Iterator[tuple[ResolvedNode, Joining]]:
    """Yield each node that joins its inputs, and how."""
    for node in resolved.nodes.values():
        joining = joining_of(node)
        if joining is not None:
            yield node, joining


def connected(join: ResolvedNode) -> int:
    """Return how many of a join's inputs something leads to."""
    return len({edge.target.port for edge in join.incoming})


def is_aligned(inputs: Mapping[str, set[str]]) -> bool:
    """Say whether all inputs carry the same sources, also where there is none yet."""
    return all(each == other for each, other in pairwise(inputs.values()))


def sources_of_inputs(resolved: Resolved) -> dict[str, dict[str, set[str]]]:
    """Return join -> connected in-port, in the operator's order -> sources that it carries."""
    joins = list(joins_of(resolved))
    if not joins:
        return {}
    inputs = {node.id: _edges_by_port(node) for node, _ in joins}
    pairs = [node.id for node, how in joins if how.mode == "zip" and inputs[node.id]]
    leading = {id: next(iter(inputs[id])) for id in pairs}
    ways = [(e.source.node, e.target.node, e.target.port) for e in resolved.edges.values()]
    sources = [id for id, node in resolved.nodes.items() if node.is_source]
    found = carried(ways, sources, leading)
    return {
        id: {
            port: set().union(*(found[edge.source.node] for edge in edges))
            for port, edges in ports.items()
        }
        for id, ports in inputs.items()
    }


def shared_upstream(resolved: Resolved, join: ResolvedNode) -> Iterator[str]:
    """Yield the sources that two inputs of a join depend on, where one may get less of them.

    Not those of which each input gets one for one all that there is, as far as anybody can say.
    """
    before = {id: [e.source.node for e in node.incoming] for id, node in resolved.nodes.items()}
    seen: dict[str, int] = {}
    for edges in _edges_by_port(join).values():
        for id in reachable(before, [edge.source.node for edge in edges]):
            seen[id] = seen.get(id, 0) + 1
    behind = {id: [e.target.node for e in node.outgoing] for id, node in resolved.nodes.items()}
    for id, times in seen.items():
        if times > 1 and resolved.nodes[id].is_source:
            between = reachable(behind, [id]) & seen.keys()
            if not _is_one_for_one(resolved, id, between, join):
                yield id


def plain_way(resolved: Resolved, edge: Edge) -> tuple[str, list[ResolvedNode]] | None:
    """Return the source that an edge comes from one for one, and the nodes between, if it does."""
    between: list[ResolvedNode] = []
    while not resolved.nodes[edge.source.node].is_source:
        node = resolved.nodes[edge.source.node]
        if not (_keeps_all(edge) and passes_each(node) and _leaves_first(node, edge)):
            return None
        between.append(node)
        (edge,) = node.incoming
    return (edge.source.node, between) if _keeps_all(edge) else None


def passes_each(node: ResolvedNode) -> bool:
    """Say whether it is sure that one event leaves a node, in order, for each that comes."""
    policy = node.policy
    if node.operator is None or policy is None or len(node.incoming) != 1:
        return False
    is_ordered = policy.workers == 1 or policy.reorder_capacity > 0
    is_each = made(node.operator.outputs_per_event)[0] == 1
    return is_each and is_ordered and _lets_none_go(policy)


def _is_one_for_one(resolved: Resolved, source: str, between: set[str], join: ResolvedNode) -> bool:
    """Say whether each input of a join gets one for one what a source sends."""
    inside = {*between, join.id}
    starts = {e.source.port for e in resolved.nodes[source].outgoing if e.target.node in inside}
    if len(starts) > 1:
        return False
    for id in inside - {source}:
        node = resolved.nodes[id]
        how = joining_of(node)
        is_pairing = how is not None and how.mode == "zip" and _lets_none_go(node.policy)
        if not (is_pairing or passes_each(node)):
            return False
        if any(len(edges) > 1 for edges in _edges_by_port(node).values()):
            return False
        edges = [edge for edge in node.incoming if edge.source.node in inside]
        befores = [(edge, resolved.nodes[edge.source.node]) for edge in edges]
        if not all(_keeps_all(e) and (n.is_source or _leaves_first(n, e)) for e, n in befores):
            return False
    return True


def _edges_by_port(node: ResolvedNode) -> dict[str, list[Edge]]:
    """Return the edges to each in-port that has one, in the operator's order."""
    ports = [port.name for port in node.type.inputs] if node.type else []
    found = {port: [e for e in node.incoming if e.target.port == port] for port in ports}
    return {port: edges for port, edges in found.items() if edges}


def _lets_none_go(policy: Policy | None) -> bool:
    """Say whether a node drops or skips nothing that comes to it."""
    return policy is not None and policy.overflow is Overflow.BLOCK and policy.retry.then == "fail"


def _keeps_all(edge: Edge) -> bool:
    return edge.fanout != "detached" and edge.feedback is None


def _leaves_first(node: ResolvedNode, edge: Edge) -> bool:
    """Say whether an edge begins at the first output, which is what is declared of."""
    return node.type is not None and edge.source.port == node.type.outputs[0].name
