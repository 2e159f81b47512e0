"""Checking again: would the graph of a running plan still be sound with other policies?

Nothing is read or made anew, so it takes no longer than the checks themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aiflow.compiler.diagnostics import Severity
from aiflow.compiler.findings import Check
from aiflow.compiler.resolved import Resolved
from aiflow.graph import edits
from aiflow.policies import Policy


def errors_with(
    resolved: Resolved, checks: Sequence[Check], policies: Mapping[str, Policy]
) -> tuple[str, ...]:
    """Return a sentence for each error that the graph has with these policies and not without.

    Args:
        resolved: the graph as it was compiled.
        checks: all there are.
        policies: node -> its policy instead of the one it was compiled with.
    """
    found = dict.fromkeys(_errors(_with(resolved, policies), checks))
    if found:
        # A file that has been moved since, or a key that is gone, is no fault of the change.
        for sentence in _errors(resolved, checks):
            found.pop(sentence, None)
    return tuple(found)


def _with(resolved: Resolved, policies: Mapping[str, Policy]) -> Resolved:
    graph, nodes = resolved.graph, dict(resolved.nodes)
    for id, policy in policies.items():
        given = policy.model_dump(mode="json", exclude_defaults=True)
        graph = edits.set_policy(graph, id, given)
        nodes[id] = replace(nodes[id], node=graph.nodes[id], policy=policy)
    return replace(resolved, graph=graph, nodes=nodes)


def _errors(resolved: Resolved, checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        for each in check(resolved):
            if each.severity is Severity.ERROR:
                yield f"{each.code}: {each.message}"
