"""AF3xx: is somebody there for what is given up on, and do the limits of tries agree?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.resolved import DEAD_PORT, Resolved, ResolvedNode
from aiflow.graph import edits


def dead_letters_are_read(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF316: a node makes dead letters, and nothing is connected to its port dead.

    Every node has the port, though it is not drawn where nobody uses it. Without a reader an
    event that is given up on counts as failed, and its conversation goes on without it.

    Why: What was given up on would be gone, with its error; only a number would tell of it.
    For example: a chat-reply with "policy": {"retry": {"then": "dead_letter"}} and no edge from
        its port dead.
    Remedy: connect dead to a dead-letter, or choose skip, which says that they may be gone.
    """
    found = Finding("AF316")
    for node in resolved.nodes.values():
        if node.incoming and _makes_letters(node) and not _leading_out(node):
            yield found.warning(
                "node {node} makes dead letters of what it gives up on, and nothing is connected"
                " to its port dead",
                "connect {node}.dead to a dead-letter, or set then to skip",
                node=node.id,
                field="retry.then",
                fix=fix("Skip what fails", edits.merge_policy, node.id, _with(node, then="skip")),
            )


def dead_letters_are_made(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF317: an edge begins at the port dead of a node that never makes a dead letter.

    Why: It looks as if failures were taken care of, and nothing will ever arrive there.
    For example: an edge from screen.dead, where screen has no retry with "then":
        "dead_letter".
    Remedy: set then to dead_letter in the node's retry, or remove the edge.
    """
    found = Finding("AF317")
    for edge in resolved.edges.values():
        node = resolved.nodes[edge.source.node]
        if edge.source.port != DEAD_PORT.name or node.policy is None or _makes_letters(node):
            continue
        mend = fix(
            "Make dead letters", edits.merge_policy, node.id, _with(node, then="dead_letter")
        )
        yield found.warning(
            "edge {edge} begins at the port dead, but node {node} makes no dead letters",
            "remove the edge: a source gives up on nothing"
            if node.is_source
            else "set then to dead_letter in the retry of {node}, or remove the edge",
            node=node.id,
            edge=edge.id,
            field="retry.then",
            fix=fix("Remove the edge", edits.disconnect, edge.id) if node.is_source else mend,
        )


def limits_of_tries_agree(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF318: all tries of an event together have less time than one of them may take.

    Why: The limit of one try is then never reached, and there is never a second try.
    For example: a chat-reply with "policy": {"retry": {"attempts": 3, "timeout_s": 30,
        "total_timeout_s": 10}}.
    Remedy: raise total_timeout_s, or lower timeout_s.
    """
    found = Finding("AF318")
    for node in resolved.nodes.values():
        retry = node.policy.retry if node.policy else None
        if retry is None or retry.timeout_s is None or retry.total_timeout_s is None:
            continue
        if retry.total_timeout_s < retry.timeout_s:
            yield found.warning(
                "node {node} gives one try {one:g} s, but all tries together only {all:g} s",
                "raise total_timeout_s to {one:g} or more, or lower timeout_s",
                node=node.id,
                field="retry.total_timeout_s",
                one=retry.timeout_s,
                all=retry.total_timeout_s,
            )


CHECKS: tuple[Check, ...] = (dead_letters_are_read, dead_letters_are_made, limits_of_tries_agree)


def _makes_letters(node: ResolvedNode) -> bool:
    return (
        node.policy is not None and not node.is_source and node.policy.retry.then == "dead_letter"
    )


def _leading_out(node: ResolvedNode) -> bool:
    return any(edge.source.port == DEAD_PORT.name for edge in node.outgoing)


def _with(node: ResolvedNode, **members: object) -> dict[str, object]:
    """Return a change of the node's policy: its retry as given, with other members."""
    return {"retry": {**(node.node.policy.get("retry") or {}), **members}}
