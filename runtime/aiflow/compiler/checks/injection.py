"""AF5xx: can each node be handed what its operator asks for, on the clock asked for?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, did_you_mean, fix, listed
from aiflow.compiler.resolved import Resolved, ResolvedNode, ResolvedResource
from aiflow.compiler.values import made
from aiflow.graph import edits


def resources_are_given(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF501: an operator asks for a resource, and the node has none or one that is not there."""
    found = Finding("AF501")
    for node in resolved.nodes.values():
        for name, kind in _asked(node):
            given = node.node.resources.get(name)
            if given is not None and given in resolved.resources:
                continue
            fitting = [id for id, r in resolved.resources.items() if r.entry.kind == kind]
            only = fitting[0] if len(fitting) == 1 else None
            yield found.error(
                "node {node} needs a {kind} as {field}, and none is given"
                if given is None
                else "node {node} has {given} as {field}, which is no resource of this graph",
                "choose one: {fitting}" if fitting else "add a resource of the kind {kind}",
                node=node.id,
                field=name,
                kind=kind,
                given=given,
                fitting=listed(fitting),
                fix=fix(f"Use {only}", edits.set_resource, node.id, name, only) if only else None,
            )


def resources_fit(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF502: a node is handed a resource of another kind than its operator asks for."""
    found = Finding("AF502")
    for node in resolved.nodes.values():
        for name, kind in _asked(node):
            given = resolved.resources.get(node.node.resources.get(name, ""))
            if given is not None and given.entry.kind != kind:
                yield found.error(
                    "node {node} needs a {kind} as {field}, but {resource} is of the kind {other}",
                    "choose a resource of the kind {kind}",
                    node=node.id,
                    field=name,
                    kind=kind,
                    resource=given.entry.id,
                    other=given.entry.kind or '""',
                )


def resource_kinds_are_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF503: a resource is of a kind that is not installed."""
    found = Finding("AF503")
    for resource, node in _with_user(resolved):
        if resource.type is None:
            yield found.error(
                "resource {resource} is of the kind {kind}, which is not installed",
                "{advice}",
                node=node,
                resource=resource.entry.id,
                kind=resource.entry.kind or '""',
                advice=did_you_mean(
                    resource.entry.kind,
                    resolved.catalog.resources,
                    f"choose one that is: {listed(resolved.catalog.resources)}",
                ),
            )


def resource_params_are_valid(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF504: a parameter of a resource is unknown, missing, or out of its range."""
    found = Finding("AF504")
    for resource, node in _with_user(resolved):
        for flaw in resource.flaws:
            name = flaw.field.rpartition(".")[2]
            left = {key: v for key, v in resource.entry.params.items() if key != flaw.field}
            yield found.error(
                "{subject} of resource {resource} {reason}",
                "{advice}",
                node=node,
                field=flaw.field or None,
                subject=f"parameter {flaw.field}" if flaw.field else "what the params say",
                resource=resource.entry.id,
                reason=flaw.message,
                advice=did_you_mean(name, flaw.choices, f"it knows {listed(flaw.choices)}")
                if flaw.is_unknown
                else "change it, or leave it out for the default",
                fix=fix(
                    f"Leave out {flaw.field}", edits.set_resource_params, resource.entry.id, left
                )
                if len(left) < len(resource.entry.params)
                else None,
            )


def credentials_are_set(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF505: the environment variable that holds a secret is not set.

    A file only ever holds the variable's name. It is an error for a run on the real clock;
    else a hint, because the run may be on another machine.
    """
    found = Finding("AF505")
    find = found.error if resolved.clock == "real" else found.hint
    for resource, node in _with_user(resolved):
        if node is None or resource.resource is None:
            continue
        names, _ = made(resource.resource.credentials)
        for name in names or ():
            if not os.environ.get(name, "").strip():
                yield find(
                    "the environment variable {variable}, the credential of resource"
                    " {resource}, is not set",
                    "set {variable} before the program starts, or name another one",
                    node=node,
                    variable=name,
                    resource=resource.entry.id,
                )


def clock_is_possible(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF506: the virtual clock rules out what a node or resource needs, such as a socket.

    An error for a run on the virtual clock, a hint where no clock is asked for.
    """
    if resolved.clock == "real":
        return
    found = Finding("AF506")
    find = found.error if resolved.clock == "virtual" else found.hint
    advice = "run it on the real clock"
    for node in resolved.nodes.values():
        if node.type is not None and not node.type.runs_on_virtual_clock:
            yield find(
                "node {node} cannot run on the virtual clock: its operator needs a socket,"
                " a device or a child process",
                advice,
                node=node.id,
            )
    for resource, user in _with_user(resolved):
        if user is None or resource.resource is None:
            continue
        reason, _ = made(resource.resource.needs_real_clock)
        if reason:
            yield find(
                "resource {resource} cannot serve on the virtual clock: {reason}",
                advice,
                node=user,
                resource=resource.entry.id,
                reason=reason,
            )


def resources_can_start(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF507: a resource says that it cannot start, for instance because a file is missing."""
    found = Finding("AF507")
    for resource, node in _with_user(resolved):
        reasons, flaws = made(_objections, resource)
        for reason in [*(reasons or []), *(flaw.message for flaw in flaws)]:
            yield found.error(
                "resource {resource} cannot start: {reason}",
                "mend that, or change its params",
                node=node,
                resource=resource.entry.id,
                reason=reason,
            )


def resources_are_asked_for(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF508: a node is handed a resource that its operator does not ask for."""
    found = Finding("AF508")
    for node in resolved.nodes.values():
        asked = dict(_asked(node))
        for name in node.node.resources if node.type else ():
            if name not in asked:
                yield found.warning(
                    "node {node} is handed {field}, which its operator does not ask for",
                    "{advice}",
                    node=node.id,
                    field=name,
                    advice=did_you_mean(name, asked, "leave it out"),
                    fix=fix("Leave it out", edits.set_resource, node.id, name, None),
                )


CHECKS: tuple[Check, ...] = (
    *(resources_are_given, resources_fit, resource_kinds_are_known, resource_params_are_valid),
    *(credentials_are_set, clock_is_possible, resources_can_start, resources_are_asked_for),
)


def _asked(node: ResolvedNode) -> Iterator[tuple[str, str]]:
    """Yield what an operator asks for: name and kind."""
    if node.type is not None:
        yield from node.type.requires.items()


def _with_user(resolved: Resolved) -> Iterator[tuple[ResolvedResource, str | None]]:
    """Yield each resource with the first node that is handed it, None where none is."""
    users: dict[str, str] = {}
    for node in resolved.nodes.values():
        for given in node.node.resources.values():
            users.setdefault(given, node.id)
    for id, resource in resolved.resources.items():
        yield resource, users.get(id)


def _objections(resource: ResolvedResource) -> list[str]:
    return [] if resource.resource is None else list(resource.resource.check())
