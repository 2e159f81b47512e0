"""AF3xx: is there a key where a state is partitioned, and does it mean anything?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aiflow import events
from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, did_you_mean, fix
from aiflow.compiler.resolved import Resolved, ResolvedNode
from aiflow.graph import edits
from aiflow.graph.values import UNSET
from aiflow.policies import State
from aiflow.types import (
    AUDIO,
    CHUNK,
    CONTROL,
    DEAD_LETTER,
    MESSAGE,
    RETRIEVAL,
    SAFETY,
    TEXT,
    TOKEN,
    TOOL_CALL,
    TOOL_FRAGMENT,
    TOOL_RESULT,
    PortType,
)

#: What every event has beside its payload.
_ENVELOPE = ("conversation", "source", "kind")
_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*")
_PAYLOADS: dict[PortType, type[events.Payload]] = {
    TOKEN: events.Token,
    CHUNK: events.Chunk,
    MESSAGE: events.Message,
    TOOL_FRAGMENT: events.ToolFragment,
    TOOL_CALL: events.ToolCall,
    TOOL_RESULT: events.ToolResult,
    RETRIEVAL: events.Retrieval,
    SAFETY: events.SafetyLabel,
    AUDIO: events.Audio,
    CONTROL: events.Control,
    DEAD_LETTER: events.DeadLetter,
}
# Payloads whose entries have names of their own, which nobody knows before the run.
_OPEN = ("raw", "data")


def partitions_have_a_key(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF319: a node's state is partitioned, and nothing says what keeps its events apart.

    Why: Whose state an event may change is not to be guessed: it decides what can be worked on
        at once, and what is mixed up if it is wrong.
    For example: a node with "policy": {"state": "partitioned", "workers": 4}.
    Remedy: set partition_key to conversation, or to a field of the payload such as channel.
    """
    found = Finding("AF319")
    for node in resolved.nodes.values():
        policy = node.policy
        # An operator that is partitioned by itself means its conversations.
        is_own = "state" not in node.node.policy
        if is_own or policy is None or policy.partition_key:
            continue
        if policy.state is State.PARTITIONED:
            yield found.error(
                "the state of node {node} is partitioned, but it has no partition_key",
                "set partition_key to conversation, or to a field of the payload",
                node=node.id,
                field="partition_key",
                fix=fix(
                    "Part by conversation",
                    edits.merge_policy,
                    node.id,
                    {"partition_key": "conversation"},
                ),
            )


def keys_have_partitions(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF320: a node has a partition_key, but its state is not partitioned.

    Why: It looks as if events of one key were kept apart, and the key is never looked at.
    For example: a node with "policy": {"partition_key": "conversation"} and nothing about state.
    Remedy: set state to partitioned, or leave partition_key out.
    """
    found = Finding("AF320")
    for node in resolved.nodes.values():
        policy = node.policy
        if policy and policy.partition_key and policy.state is not State.PARTITIONED:
            if not node.incoming:
                continue  # a source, which is told so
            yield found.warning(
                "node {node} has a partition_key, but its state is {state}: the key has no effect",
                "leave partition_key out, or set state to partitioned",
                node=node.id,
                field="partition_key",
                state=policy.state.value,
                fix=fix(
                    "Leave out partition_key",
                    edits.merge_policy,
                    node.id,
                    {"partition_key": UNSET},
                ),
            )


def keys_name_a_field(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF321: a partition_key names no field of what arrives.

    It is conversation, source, kind, or the path of a field with dots between its names, such
    as arguments.city. What a plug-in's payloads hold, or what comes as any, nobody knows.

    Why: The first event would fail for want of its key.
    For example: a node behind a chat with "policy": {"state": "partitioned", "partition_key":
        "chanel"}.
    Remedy: name a field that every event has which arrives.
    """
    found = Finding("AF321")
    for node in resolved.nodes.values():
        key = node.policy.partition_key if node.policy else None
        if node.policy is None or node.policy.state is not State.PARTITIONED or not key:
            continue
        known = _known_names(resolved, node)
        if not _PATH.fullmatch(key):
            yield found.error(
                "the partition_key {key} of node {node} is no path of names with dots between",
                "write it like channel or arguments.city",
                node=node.id,
                field="partition_key",
                key=key,
            )
        elif known is not None and key.partition(".")[0] not in known:
            first = key.partition(".")[0]
            yield found.error(
                "the partition_key of node {node} begins with {first}, which not every event"
                " has that arrives there",
                did_you_mean(first, sorted(known), f"they have {', '.join(sorted(known))}"),
                node=node.id,
                field="partition_key",
                first=first,
            )


CHECKS: tuple[Check, ...] = (partitions_have_a_key, keys_have_partitions, keys_name_a_field)


def _known_names(resolved: Resolved, node: ResolvedNode) -> set[str] | None:
    """Return the names that every event has which arrives; None where nobody can know."""
    common: set[str] | None = None
    for edge in node.incoming:
        type = resolved.types[edge.id]
        for each in type.takes if type == TEXT else (type,):
            payload = _PAYLOADS.get(each)
            if payload is None or any(name in payload.__struct_fields__ for name in _OPEN):
                return None
            fields = {*payload.__struct_fields__, *_ENVELOPE}
            common = fields if common is None else common & fields
    return common
