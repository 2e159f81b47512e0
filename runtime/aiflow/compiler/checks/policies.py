"""AF3xx: does each policy fit its operator, its graph, and what this build can honour?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic, Fix
from aiflow.compiler.findings import Check, Finding, fix
from aiflow.compiler.resolved import Resolved, ResolvedNode
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.values import UNSET
from aiflow.policies import Overflow, Policy, SideEffects, State
from aiflow.types import (
    DEAD_LETTER,
    JOINED,
    MESSAGE,
    RETRIEVAL,
    SAFETY,
    TOOL,
    TOOL_CALL,
    TOOL_FRAGMENT,
    TOOL_RESULT,
    PortType,
)

_DROPPING = (Overflow.DROP_NEWEST, Overflow.DROP_OLDEST)
# Types that never hold a payload which may be dropped; of a plug-in's type nobody knows.
_NEVER_DROPPED = (
    *(MESSAGE, TOOL, TOOL_FRAGMENT, TOOL_CALL, TOOL_RESULT, RETRIEVAL, SAFETY, JOINED),
    DEAD_LETTER,
)
# Loosest first; the order of the enum.
_STRICTNESS = {state: rank for rank, state in enumerate(State)}
_WEAKNESS = {effects: rank for rank, effects in enumerate(SideEffects)}
_ONLY_WITH_A_QUEUE = (
    *("queue_capacity", "workers", "reorder_capacity", "overflow", "max_bytes"),
    *("retry", "partition_key"),
)


def one_worker_where_serialized(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF301: a node whose events go one at a time has more than one worker.

    Why: Two workers at once would tear apart the state that may change only one event at a
        time.
    For example: a speech with "policy": {"workers": 4}: four voices would speak at once.
    Remedy: set workers to 1; to be faster, make the step shorter or split the stream before
        it.
    """
    found = Finding("AF301")
    for node, policy in _with_policy(resolved):
        if policy.state in (State.SERIALIZED, State.TRANSACTIONAL) and policy.workers > 1:
            yield found.error(
                "node {node} has {workers} workers, but its state is {state}: one at a time",
                "set workers to 1, or use an operator whose state allows more",
                node=node.id,
                field="workers",
                workers=policy.workers,
                state=policy.state.value,
                fix=_policy_fix("Set workers to 1", node, workers=1),
            )


def state_is_not_looser(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF302: a node's state is looser than its operator can bear, so results would be wrong.

    Why: Two events could change the state at once and results would differ from run to run.
    For example: a chunker with "policy": {"state": "stateless"}.
    Remedy: leave state out, so that the operator's own holds; a node may only be stricter.
    """
    found = Finding("AF302")
    for node, policy in _with_policy(resolved):
        own = node.type.state if node.type else State.STATELESS
        if _STRICTNESS[policy.state] < _STRICTNESS[own]:
            yield found.error(
                "node {node} runs as {state}, but operator {operator} must be {own}",
                "set state to {own}, or leave it out",
                node=node.id,
                field="state",
                state=policy.state.value,
                own=own.value,
                operator=node.node.operator,
                fix=_policy_fix(f"Set state to {own.value}", node, state=own.value),
            )


def policies_can_be_honoured(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF303: a policy is valid, but this build cannot honour it, and will not ignore it.

    Why: A policy that is written and not kept is worse than none: you would rely on it.
    For example: a speculative_capacity at a node whose effects are not speculative, or speculative
        effects of a source, or of an operator that blocks its thread.
    Remedy: leave the member out, or let the effects be speculative.
    """
    found = Finding("AF303")
    for node, policy in _with_policy(resolved):
        for field, value, reason in _not_honoured(node, policy):
            yield found.error(
                "node {node} asks for {field} = {value}, which cannot be honoured: {reason}",
                "leave it out",
                node=node.id,
                field=field,
                value=value,
                reason=reason,
                fix=_policy_fix(f"Leave out {field}", node, **{field: UNSET})
                if field in node.node.policy
                else None,
            )


def something_can_be_dropped(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF304: a full queue shall drop events, but none that arrives may ever be dropped.

    Only tokens, chunks, audio and keep-alives may; a message or a tool call never is.

    Why: The queue would promise to make room and could not: messages and tool calls are
        never lost.
    For example: an aggregate, whose output is a message, connected by an edge with
        "fanout": "detached".
    Remedy: make the edge strict, or set overflow to block or error.
    """
    found = Finding("AF304")
    for edge in resolved.edges.values():
        is_dropping = edge.fanout == "detached" and edge.overflow != Overflow.ERROR.value
        if is_dropping and _never_dropped(resolved.types[edge.id]):
            yield found.error(
                "edge {edge} is detached, but carries {type}, which is never dropped",
                "make the edge strict",
                edge=edge.id,
                field="fanout",
                type=resolved.types[edge.id].name,
                fix=fix("Make the edge strict", edits.set_fanout, edge.id, "strict"),
            )
    for node, policy in _with_policy(resolved):
        strict = [resolved.types[e.id] for e in node.incoming if e.fanout != "detached"]
        if policy.overflow in _DROPPING and strict and all(map(_never_dropped, strict)):
            yield found.error(
                "node {node} drops when full, but receives only {types}, never dropped",
                "set overflow to block or error",
                node=node.id,
                field="overflow",
                types=" and ".join(dict.fromkeys(type.name for type in strict)),
                fix=_policy_fix("Set overflow to block", node, overflow=UNSET),
            )


def detached_edges_never_block(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF305: a detached edge blocks when full, which is what detached rules out.

    Why: Detached means that a slow reader never makes the sender wait; block means that it
        does.
    For example: an edge with "fanout": "detached", "overflow": "block".
    Remedy: choose drop_oldest, drop_newest or error, or make the edge strict.
    """
    found = Finding("AF305")
    for edge in resolved.graph.edges.values():
        if edge.fanout == "detached" and edge.overflow == Overflow.BLOCK.value:
            yield found.error(
                "edge {edge} is detached and so cannot block its sender",
                "set its overflow to drop_oldest, drop_newest or error, or make it strict",
                edge=edge.id,
                field="overflow",
                fix=fix(
                    "Set overflow to drop_oldest",
                    edits.set_fanout,
                    edge.id,
                    "detached",
                    Overflow.DROP_OLDEST.value,
                ),
            )


def each_port_has_a_place(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF306: a queue has fewer places than the node has inputs, and each needs one.

    One port whose lane has no place would keep the others waiting for good.

    Why: A join would wait for the one input whose events the other input's keep out.
    For example: a node with three connected inputs and "policy": {"queue_capacity": 2}.
    Remedy: set queue_capacity to the number of inputs or more.
    """
    found = Finding("AF306")
    for node, policy in _with_policy(resolved):
        ports = len({edge.target.port for edge in node.incoming if edge.feedback is None})
        if ports > policy.queue_capacity:
            yield found.error(
                "node {node} has {ports} inputs, but a queue of {places}: each needs a place",
                "set queue_capacity to {ports} or more",
                node=node.id,
                field="queue_capacity",
                ports=ports,
                places=policy.queue_capacity,
                fix=_policy_fix(f"Set queue_capacity to {ports}", node, queue_capacity=ports),
            )


def side_effects_are_not_looser(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF307: a node promises weaker side effects than its operator really has.

    Why: Retries and speculation rely on this promise; a mail that was sent cannot be sent
        back.
    For example: a speech with "policy": {"side_effects": "none"}.
    Remedy: leave side_effects out, or choose a stricter one than the operator's.
    """
    found = Finding("AF307")
    for node in resolved.nodes.values():
        own = node.type.side_effects if node.type else SideEffects.NONE
        if node.policy and _WEAKNESS[node.side_effects] < _WEAKNESS[own]:
            yield found.error(
                "node {node} promises side effects {given}, but operator {operator} has {own}",
                "leave side_effects out; a node may only be stricter than its operator",
                node=node.id,
                field="side_effects",
                given=node.side_effects.value,
                own=own.value,
                operator=node.node.operator,
                fix=_policy_fix("Leave out side_effects", node, side_effects=UNSET),
            )


def params_and_policy_agree(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF308: the operator itself says that its params and this policy cannot work.

    Why: Only the operator knows which of its params need which policy.
    For example: a jsonl whose path lies in a folder that does not exist.
    Remedy: do what the operator's sentence asks for.
    """
    found = Finding("AF308")
    for node, policy in _with_policy(resolved):
        sentences, flaws = made(_answers, node, policy)
        for sentence in [*(sentences or []), *(flaw.message for flaw in flaws)]:
            yield found.error(
                "node {node}: {sentence}",
                "change its params or its policy",
                node=node.id,
                sentence=sentence,
            )


def strict_edges_have_no_overflow(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF309: a strict edge has an overflow of its own, where the node's own policy decides.

    Why: It looks as if the edge dropped events; at a strict edge the node's overflow
        decides.
    For example: a strict edge with "overflow": "drop_oldest".
    Remedy: set overflow in the policy of the node behind it, or make the edge detached.
    """
    found = Finding("AF309")
    for edge in resolved.graph.edges.values():
        if edge.fanout == "strict" and edge.overflow is not None:
            yield found.warning(
                "edge {edge} is strict, so its overflow has no effect",
                "leave it out, or make the edge detached",
                edge=edge.id,
                field="overflow",
                fix=fix("Leave out overflow", edits.set_fanout, edge.id, "strict"),
            )


def sources_have_no_queue(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF310: a source is given a queue, workers or a retry, and has none of them.

    Why: It looks as if the source were bounded there; it is bounded by max_conversations. And
        what has been streamed cannot be streamed again; a provider resource asks again itself.
    For example: a chat with "policy": {"queue_capacity": 64}.
    Remedy: leave it out, and bound the node behind the source.
    """
    found = Finding("AF310")
    for node in resolved.nodes.values():
        given = [name for name in _ONLY_WITH_A_QUEUE if name in node.node.policy]
        if node.policy and node.policy.state is State.TRANSACTIONAL:
            given.append("state")
        if node.is_source and node.policy and given:
            yield found.warning(
                "node {node} is a source and takes no events, so {fields} has no effect",
                "leave it out",
                node=node.id,
                field=given[0],
                fields=", ".join(given),
                fix=_policy_fix("Leave it out", node, **dict.fromkeys(given, UNSET)),
            )


CHECKS: tuple[Check, ...] = (
    *(one_worker_where_serialized, state_is_not_looser, policies_can_be_honoured),
    *(something_can_be_dropped, detached_edges_never_block, each_port_has_a_place),
    *(side_effects_are_not_looser, params_and_policy_agree),
    *(strict_edges_have_no_overflow, sources_have_no_queue),
)


def _with_policy(resolved: Resolved) -> Iterator[tuple[ResolvedNode, Policy]]:
    return ((node, node.policy) for node in resolved.nodes.values() if node.policy is not None)


def _not_honoured(node: ResolvedNode, policy: Policy) -> Iterator[tuple[str, object, str]]:
    """Yield the members whose value there is no machinery for, and what it lacks."""
    if node.side_effects is SideEffects.SPECULATIVE:
        word = SideEffects.SPECULATIVE.value
        if node.is_source:
            yield "side_effects", word, "a source has no event whose use would commit an effect"
        elif node.type is not None and node.type.is_blocking:
            yield "side_effects", word, "its operator runs in a thread, which cannot defer effects"
        return
    for field in ("speculative_capacity", "speculative_timeout_s"):
        if value := getattr(policy, field):
            yield field, value, "its effects are not speculative"


def _answers(node: ResolvedNode, policy: Policy) -> list[str]:
    return [] if node.operator is None else list(node.operator.check(policy))


def _never_dropped(type: PortType) -> bool:
    return type in _NEVER_DROPPED


def _policy_fix(label: str, node: ResolvedNode, **changes: object) -> Fix:
    return fix(label, edits.merge_policy, node.id, changes)
