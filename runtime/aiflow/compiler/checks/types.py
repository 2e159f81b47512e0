"""AF2xx: do port types agree, and are params, policies and the other values valid?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, did_you_mean, fix, listed
from aiflow.compiler.resolved import Resolved, in_port, is_type_known
from aiflow.compiler.values import Flaw
from aiflow.graph import edits
from aiflow.graph.model import FEEDBACK_FIELDS, Edge
from aiflow.graph.values import UNSET
from aiflow.policies import Overflow


def params_are_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF201: a node has a parameter that its operator does not know.

    Why: A misspelt parameter does nothing, silently; the default would be used.
    For example: a chunker with "params": {"max_token": 5}.
    Remedy: take the suggested name, or remove it.
    """
    found = Finding("AF201")
    for node in resolved.nodes.values():
        for flaw in node.param_flaws:
            if flaw.is_unknown:
                yield found.error(
                    "operator {operator} of node {node} has no parameter {field}",
                    "{advice}",
                    node=node.id,
                    field=flaw.field,
                    operator=node.node.operator,
                    advice=_advice(flaw, "its parameters"),
                    fix=_unset("param", node.id, flaw),
                )


def params_are_valid(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF202: a parameter of a node is missing, of another kind or out of its range.

    Why: The operator cannot work with it.
    For example: a chunker with "params": {"max_tokens": 0}, which would never end a chunk.
    Remedy: change the value to one in the range that the message names.
    """
    found = Finding("AF202")
    for node in resolved.nodes.values():
        for flaw in node.param_flaws:
            if not flaw.is_unknown:
                yield found.error(
                    "{subject} of node {node} {reason}",
                    "change it, or leave it out for the default",
                    node=node.id,
                    field=flaw.field or None,
                    subject=f"parameter {flaw.field}" if flaw.field else "what the params say",
                    reason=flaw.message,
                    fix=_unset("param", node.id, flaw),
                )


def port_types_agree(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF203: an edge joins an output to an input that cannot take its payload.

    Types are checked along the whole way: what passes a delay unchanged is still a token
    behind it.

    Why: The operator would be handed something it has no code for, in the middle of a run.
    For example: the port control of a chat model connected to a speech, which takes text.
    Remedy: connect another port, or put an operator between that turns the one into the
        other.
    """
    found = Finding("AF203")
    for edge in resolved.edges.values():
        target = resolved.nodes[edge.target.node]
        port = in_port(target, edge.target.port)
        leaving = resolved.types[edge.id]
        is_known = is_type_known(resolved.nodes[edge.source.node], edge.source.port)
        if port is not None and is_known and not port.type.accepts(leaving):
            yield found.error(
                "{source} gives {leaving}, which {target} cannot take: it takes {taken}",
                "put an operator between that turns {leaving} into {taken}",
                edge=edge.id,
                source=str(edge.source),
                target=str(edge.target),
                leaving=leaving.name,
                taken=port.type.name,
                fix=fix("Remove the edge", edits.disconnect, edge.id),
            )


def policy_fields_are_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF204: a node's policy has a member that does not exist.

    Why: A misspelt member does nothing, silently; the default would be used.
    For example: a node with "policy": {"queue": 4}, where queue_capacity is meant.
    Remedy: take the suggested name, or remove it.
    """
    found = Finding("AF204")
    for node in resolved.nodes.values():
        for flaw in node.policy_flaws:
            if flaw.is_unknown:
                yield found.error(
                    "the policy of node {node} has a member {field}, which does not exist",
                    "{advice}",
                    node=node.id,
                    field=flaw.field,
                    advice=_advice(flaw, "the members"),
                    fix=_unset("policy member", node.id, flaw),
                )


def policies_are_valid(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF205: a member of a node's policy is of another kind or out of its range.

    Why: A policy out of its range has no meaning: a queue without a place, no worker at
        all.
    For example: a node with "policy": {"workers": 0}.
    Remedy: change the value to one in the range that the message names.
    """
    found = Finding("AF205")
    for node in resolved.nodes.values():
        for flaw in node.policy_flaws:
            if not flaw.is_unknown:
                yield found.error(
                    "{subject} of node {node} {reason}",
                    "change it, or leave it out for the default",
                    node=node.id,
                    field=flaw.field or None,
                    subject=flaw.field or "the policy",
                    reason=flaw.message,
                    fix=_unset("policy member", node.id, flaw),
                )


def conversations_are_bounded(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF206: fewer than one conversation may be active, so none would ever begin.

    Why: Sources wait until their conversation may be active.
    For example: "max_conversations": 0.
    Remedy: set it to 1 or more; 8 is the default.
    """
    count = resolved.graph.max_conversations
    if count < 1:
        yield Finding("AF206").error(
            "max_conversations of the graph is {count}, but must be 1 or more",
            "set it to 1 or more",
            field="max_conversations",
            count=count,
            fix=fix("Set it to 1", edits.set_max_conversations, 1),
        )


def edge_values_are_valid(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF207: a value of an edge is none of those it may have.

    Why: Nobody could say what the edge does when the queue behind it is full.
    For example: an edge with "fanout": "loose".
    Remedy: choose one of the values that the message names, or leave it out for the
        default.
    """
    found = Finding("AF207")
    for edge in resolved.graph.edges.values():
        for field, value, wanted in _bad_values(edge):
            yield found.error(
                "{field} of edge {edge} is {value}, but must be {wanted}",
                "change it, or leave it out for the default",
                edge=edge.id,
                field=field,
                value=value,
                wanted=wanted,
                fix=fix("Make the edge strict", edits.set_fanout, edge.id, "strict")
                if field in ("fanout", "overflow")
                else None,
            )


CHECKS: tuple[Check, ...] = (
    *(params_are_known, params_are_valid, policy_fields_are_known, policies_are_valid),
    *(conversations_are_bounded, edge_values_are_valid, port_types_agree),
)


def _bad_values(edge: Edge) -> Iterator[tuple[str, object, str]]:
    if edge.fanout not in ("strict", "detached"):
        yield "fanout", edge.fanout, "strict or detached"
    if edge.overflow is not None and edge.overflow not in [each.value for each in Overflow]:
        yield "overflow", edge.overflow, listed(Overflow)
    if edge.feedback is not None:
        for field in FEEDBACK_FIELDS:
            value = getattr(edge.feedback, field)
            if value < 1:
                yield f"feedback.{field}", value, "1 or more"


def _advice(flaw: Flaw, what: str) -> str:
    name = flaw.field.rpartition(".")[2]
    return did_you_mean(name, flaw.choices, f"remove it; {what} are: {listed(flaw.choices, 12)}")


def _unset(what: str, node: str, flaw: Flaw) -> object:
    """Return a fix that leaves out the outermost field in which the flaw is."""
    field = flaw.field.partition(".")[0]
    if not field or flaw.message == "must be given":
        return None
    edit = edits.merge_params if what == "param" else edits.merge_policy
    return fix(f"Leave out the {what} {field}", edit, node, {field: UNSET})
