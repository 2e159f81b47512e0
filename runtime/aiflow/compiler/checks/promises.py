"""AF3xx: do policies promise together what no run could keep?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic, Fix
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.resolved import DEAD_PORT, Resolved, ResolvedNode
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.model import Edge
from aiflow.graph.values import UNSET, Unset
from aiflow.policies import Cancel, Overflow, SideEffects, State

_DROPPING = (Overflow.DROP_NEWEST, Overflow.DROP_OLDEST)
_MOST_PLACES = 1_000_000


def effects_are_not_repeated(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF311: a node shall try again what must happen at most once.

    It is tried again only where its operator raises `NotStarted`, which proves that its effect
    has not begun; any other failure ends its tries.

    Why: The first try may have had its effect before it failed: a mail would be sent twice.
    For example: a jsonl with "policy": {"retry": {"attempts": 3}}.
    Remedy: leave attempts out, or use an operator whose effect may be repeated with one key.
    """
    found = Finding("AF311")
    for node in resolved.nodes.values():
        policy = node.policy
        is_once = node.side_effects is SideEffects.NON_IDEMPOTENT
        if policy and is_once and policy.retry.attempts > 1:
            yield found.warning(
                "node {node} shall try {attempts} times, but its effect must not be repeated:"
                " only a try that proves not to have begun is made again",
                "leave attempts out, or use an operator whose effect is idempotent",
                node=node.id,
                field="retry.attempts",
                attempts=policy.retry.attempts,
                fix=fix(
                    "Leave out attempts",
                    edits.merge_policy,
                    node.id,
                    {"retry": _without_attempts(node)},
                ),
            )


def sources_can_be_cancelled(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF312: a source is shielded from cancellation, so nobody could stop it.

    Shield means to finish also what still arrives; at a source that is all it will ever send.

    Why: A user who walks away would pay for the whole answer, and a model that never ends
        would never stop.
    For example: a chat with "policy": {"cancel": "shield"}.
    Remedy: leave cancel out, and shield the node that must finish its work.
    """
    found = Finding("AF312")
    for node in resolved.nodes.values():
        if node.policy and node.is_source and node.policy.cancel is Cancel.SHIELD:
            yield found.error(
                "node {node} is a source and shielded, so that it could not be cancelled",
                "leave cancel out, and shield the node that must finish its work",
                node=node.id,
                field="cancel",
                fix=fix("Leave out cancel", edits.merge_policy, node.id, {"cancel": UNSET}),
            )


def speculation_can_be_committed(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF313: a node's effects are speculative, and nothing could ever commit one.

    A speculative effect waits until what it was made for is really used: until its output
    reaches, over strict edges, a node that is not speculative itself. Until then it needs a
    place, and effects that find none are discarded.

    Why: Each effect would be prepared and thrown away again, or wait for good.
    For example: a sink with "policy": {"side_effects": "speculative"}.
    Remedy: give it a speculative_capacity and a strict edge to the node that uses its output,
        or let its effects be what the operator declares.
    """
    found = Finding("AF313")
    used = _commit_points_ahead(resolved)
    for node in resolved.nodes.values():
        if node.policy is None or node.side_effects is not SideEffects.SPECULATIVE:
            continue
        if node.policy.speculative_capacity == 0:
            places = node.policy.workers
            yield found.error(
                "the effects of node {node} are speculative, but it has no place where one could"
                " wait: all are discarded",
                "set speculative_capacity to 1 or more",
                node=node.id,
                field="speculative_capacity",
                fix=fix(
                    f"Set speculative_capacity to {places}",
                    edits.merge_policy,
                    node.id,
                    {"speculative_capacity": places},
                ),
            )
        if node.id not in used:
            yield found.error(
                "the effects of node {node} are speculative, but no node behind it commits them",
                "connect it by a strict edge to the node that uses its output, or leave"
                " side_effects out",
                node=node.id,
                field="side_effects",
                fix=_plain_effects(node),
            )


def transactions_have_places(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF314: a transactional node may have more outputs at once than fit into a queue behind it.

    A transaction is committed when all its outputs have places in every strict branch. A join
    takes one event after the other by each input, so a transaction before it may have but one.

    Why: Such a transaction would wait for places that the queue does not have, for good.
    For example: a transactional retrieve with a limit of 20 passages before a node with
        "policy": {"queue_capacity": 8}.
    Remedy: raise queue_capacity behind it, or lower what one event brings forth.
    """
    found = Finding("AF314")
    for edge in resolved.edges.values():
        node, behind = resolved.nodes[edge.source.node], resolved.nodes[edge.target.node]
        if not _is_transactional(node) or not _is_strict_output(edge) or behind.policy is None:
            continue
        if edge.feedback is not None:
            continue  # what comes back has places of its own
        outputs = _most_outputs(node)
        kept = sum(_returns(each) for each in behind.incoming)
        ports = len({each.target.port for each in behind.incoming if each.feedback is None})
        places = (behind.policy.queue_capacity - kept) // ports
        wanted = outputs * ports + kept
        if outputs > 1 and _joins(behind):
            yield found.error(
                "node {node} joins, so it takes one event after the other from {sender}, which may"
                " commit {outputs} at once",
                "put a node between them, or lower what one event of {sender} brings forth",
                node=behind.id,
                edge=edge.id,
                sender=node.id,
                outputs=outputs,
            )
        elif outputs > places:
            yield found.error(
                "node {node} has a place for {places} events from {sender}, which may commit"
                " {outputs} at once",
                "set queue_capacity of {node} to {wanted} or more",
                node=behind.id,
                edge=edge.id,
                field="queue_capacity",
                sender=node.id,
                places=places,
                outputs=outputs,
                wanted=wanted,
                fix=fix(
                    f"Set queue_capacity to {wanted}",
                    edits.merge_policy,
                    behind.id,
                    {"queue_capacity": wanted},
                )
                if wanted <= _MOST_PLACES
                else None,
            )


def transactions_miss_nothing(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF315: events may be dropped on their way into a node that is transactional.

    Why: Its state and outputs would be exact about a part of what was sent, and nobody could
        tell which part.
    For example: a counter with "policy": {"state": "transactional", "overflow":
        "drop_oldest"}.
    Remedy: let it block, and drop before the branch, or use a state that promises less.
    """
    found = Finding("AF315")
    for node in resolved.nodes.values():
        if node.policy and _is_transactional(node) and node.policy.overflow in _DROPPING:
            yield found.error(
                "node {node} is transactional, but drops events when its queue is full",
                "set overflow to block or error",
                node=node.id,
                field="overflow",
                fix=fix("Set overflow to block", edits.merge_policy, node.id, {"overflow": UNSET}),
            )
    for edge in resolved.edges.values():
        is_dropping = edge.fanout == "detached" and edge.overflow != Overflow.ERROR.value
        if is_dropping and _is_transactional(resolved.nodes[edge.target.node]):
            yield found.error(
                "node {node} is transactional, but edge {edge} drops events when it is full",
                "make the edge strict",
                node=edge.target.node,
                edge=edge.id,
                field="fanout",
                fix=fix("Make the edge strict", edits.set_fanout, edge.id, "strict"),
            )


CHECKS: tuple[Check, ...] = (
    *(effects_are_not_repeated, sources_can_be_cancelled, speculation_can_be_committed),
    *(transactions_have_places, transactions_miss_nothing),
)


def _without_attempts(node: ResolvedNode) -> dict[str, object] | Unset:
    given = node.node.policy.get("retry") or {}
    return {key: value for key, value in given.items() if key != "attempts"} or UNSET


def _plain_effects(node: ResolvedNode) -> Fix | None:
    """Leave out the speculation, where it is the node's own idea and not its operator's."""
    if node.type is not None and node.type.side_effects is SideEffects.SPECULATIVE:
        return None
    plain = {
        "side_effects": UNSET, "speculative_capacity": UNSET, "speculative_timeout_s": UNSET,
    }  # fmt: skip
    return fix("Leave out side_effects", edits.merge_policy, node.id, plain)


def _is_transactional(node: ResolvedNode) -> bool:
    return node.policy is not None and node.policy.state is State.TRANSACTIONAL


def _is_strict_output(edge: Edge) -> bool:
    return edge.fanout != "detached" and edge.source.port != DEAD_PORT.name


def _returns(edge: Edge) -> int:
    """Return the places that are kept for what comes back over an edge."""
    limits = edge.feedback
    return limits.credit * limits.max_returns if limits and edge.fanout != "detached" else 0


def _joins(node: ResolvedNode) -> bool:
    if node.operator is None:
        return False
    joining, _ = made(node.operator.joins)
    return joining is not None


def _most_outputs(node: ResolvedNode) -> int:
    if node.operator is None:
        return 1
    most, _ = made(node.operator.most_outputs)
    return most or 1


def _commit_points_ahead(resolved: Resolved) -> set[str]:
    """Return the speculative nodes that have a node behind them which is not speculative.

    Backwards from those that stand directly before one, so that a circle is no trap.
    """
    before: dict[str, list[str]] = {}
    found: set[str] = set()
    for edge in resolved.edges.values():
        if _is_strict_output(edge):
            behind = resolved.nodes[edge.target.node]
            if behind.side_effects is SideEffects.SPECULATIVE:
                before.setdefault(behind.id, []).append(edge.source.node)
            else:
                found.add(edge.source.node)
    left = list(found)
    while left:
        for id in before.get(left.pop(), ()):
            if id not in found:
                found.add(id)
                left.append(id)
    return found
