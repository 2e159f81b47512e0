"""AF5xx: can each node be handed what its operator asks for, on the clock asked for?"""

from __future__ import annotations

from collections.abc import Iterator

from aiflow import credentials
from aiflow.compiler.diagnostics import Diagnostic
from aiflow.compiler.findings import Check, Finding, did_you_mean, fix, listed
from aiflow.compiler.resolved import Resolved, ResolvedNode, ResolvedResource
from aiflow.compiler.values import made
from aiflow.graph import edits
from aiflow.graph.secrets import secrets_in, shown_safely
from aiflow.resources import ResourceScope


def resources_are_given(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF501: an operator asks for a resource, and the node has none or one that is not there.

    Why: The operator cannot work without it: a chat without a provider has nobody to ask.
    For example: a chat without "resources": {"provider": "..."}.
    Remedy: choose a resource of that kind, or add one to the graph.
    """
    found = Finding("AF501")
    for node in resolved.nodes.values():
        for name, kind in _asked(node):
            given = node.node.resources.get(name)
            if given in resolved.resources or (given is None and _is_optional(node, name)):
                continue
            fitting = [id for id, r in resolved.resources.items() if _fits(r, kind)]
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
    """AF502: a node is handed a resource of another kind than its operator asks for.

    Why: The operator would call something that cannot answer.
    For example: a chat that is handed an index of documents as its provider.
    Remedy: choose a resource of the kind that the message names.
    """
    found = Finding("AF502")
    for node in resolved.nodes.values():
        for name, kind in _asked(node):
            given = resolved.resources.get(node.node.resources.get(name, ""))
            if given is not None and not _fits(given, kind):
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
    """AF503: a resource is of a kind that is not installed.

    Why: Nobody knows how to start it.
    For example: a resource {"id": "p", "kind": "providr"}.
    Remedy: take the suggested kind, or install the package that brings it.
    """
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
    """AF504: a parameter of a resource is unknown, missing, or out of its range.

    Why: The resource cannot start with it.
    For example: a provider with "params": {"idle_timeout_s": 0}.
    Remedy: change the value, or leave it out for the default.
    """
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
    """AF505: a secret is neither in the environment nor in the system's keyring.

    A file only ever holds its name. It is an error for a run on the real clock; else a hint,
    because the run may be on another machine. A keyring that does not answer at once, because
    it waits for a person to unlock it, is left to the run.

    Why: The provider would refuse every request.
    For example: a provider with "params": {"credential": "OPENAI_API_KEY"} on a machine
        where that is not set.
    Remedy: set the variable before the program starts, or store the key in the keyring; never
        write the key itself into the file.
    """
    found = Finding("AF505")
    find = found.error if resolved.clock == "real" else found.hint
    for resource, node in _with_user(resolved):
        if node is None or resource.resource is None:
            continue
        names, _ = made(resource.resource.credentials)
        for name in names or ():
            if credentials.missing(name, is_for_now=resolved.clock == "real"):
                yield find(
                    "the environment variable {variable}, the credential of resource"
                    " {resource}, is not set, and the keyring has no such key",
                    "set {variable} before the program starts, store the key in the keyring, or"
                    " name another one",
                    node=node,
                    variable=shown_safely(name),
                    resource=resource.entry.id,
                )


def clock_is_possible(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF506: the virtual clock rules out what a node or resource needs, such as a socket.

    An error for a run on the virtual clock, a hint where no clock is asked for.

    Why: On the virtual clock time jumps; a socket or a device would not jump with it.
    For example: a provider with "params": {"endpoint": "http://127.0.0.1:11434"} and
        --clock virtual.
    Remedy: run on the real clock, or let the provider play a trace.
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
    """AF507: a resource says that it cannot start, for instance because a file is missing.

    What only this machine lacks, such as a package, is an error for a run on the real clock;
    else a hint, because the run may be on another machine.

    Why: The run would end before its first event.
    For example: a provider with "params": {"trace": "traces/gone.trace"}.
    Remedy: mend what the sentence names; a path is relative to the graph's file.
    """
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
        lacking, _ = made(_lacking, resource)
        for reason in (lacking or ()) if node is not None else ():
            yield (found.error if resolved.clock == "real" else found.hint)(
                "resource {resource} cannot start on this machine: {reason}",
                "do that, or choose another resource",
                node=node,
                resource=resource.entry.id,
                reason=reason,
            )


def resources_are_asked_for(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF508: a node is handed a resource that its operator does not ask for.

    Why: It looks as if the operator used it.
    For example: a router with "resources": {"provider": "p"}.
    Remedy: leave it out, or take the suggested name.
    """
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


def secrets_are_named(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF509: a string in the params looks like a key, which would be handed on with the file.

    Only its first letters are ever shown. The text may be harmless; then accept the warning
    at the node, with the reason.

    Why: Whoever gets the file, its history or a picture of it could use the key.
    For example: a provider with "params": {"credential": "sk-proj-..."}, the key itself.
    Remedy: put the key into an environment variable, write that variable's name into the
        file, and withdraw a key that has been saved.
    """
    found = Finding("AF509")
    users = {resource.entry.id: node for resource, node in _with_user(resolved)}
    for secret in secrets_in(resolved.graph):
        yield found.warning(
            "{field} of {what} {id} looks like a key ({shown}), which would be handed on with"
            " the file",
            "put it into an environment variable and write only that variable's name here",
            node=secret.id if secret.what == "node" else users.get(secret.id),
            field=secret.field,
            what=secret.what,
            id=secret.id,
            shown=secret.shown,
        )


def resources_have_a_scope_that_is_kept(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF510: a resource wants to be started for each conversation, which this build cannot do yet.

    Only a resource from a plug-in can ask for it: all that AiFlow brings are shared by a run.

    Why: One would be shared by all conversations, and each would see what the others left
        in it.
    For example: a plug-in's resource with scope = ResourceScope.CONVERSATION, such as a
        browser that is logged in for one user.
    Remedy: keep what belongs to a conversation in the operator's state, or use a newer AiFlow.
    """
    found = Finding("AF510")
    for resource, node in _with_user(resolved):
        is_own = resource.type and resource.type.scope is ResourceScope.CONVERSATION
        if is_own and node is not None:
            yield found.error(
                "resource {resource} must be started for each conversation, but this build would"
                " share one {kind} among all",
                "use a resource that a run may share, or a newer AiFlow",
                node=node,
                resource=resource.entry.id,
                kind=resource.entry.kind,
            )


CHECKS: tuple[Check, ...] = (
    *(resources_are_given, resources_fit, resource_kinds_are_known, resource_params_are_valid),
    *(credentials_are_set, clock_is_possible, resources_can_start, resources_are_asked_for),
    *(secrets_are_named, resources_have_a_scope_that_is_kept),
)


def _asked(node: ResolvedNode) -> Iterator[tuple[str, str]]:
    """Yield what an operator can be handed: name and kind."""
    if node.type is not None:
        yield from node.type.resource_kinds().items()


def _is_optional(node: ResolvedNode, name: str) -> bool:
    """Say whether an operator can do without this resource."""
    return node.type is not None and name in node.type.accepts


def _fits(resource: ResolvedResource, kind: str) -> bool:
    """Say whether a node that asks for `kind` may be handed it."""
    return resource.entry.kind == kind or (resource.type is not None and resource.type.fits(kind))


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


def _lacking(resource: ResolvedResource) -> list[str]:
    return [] if resource.resource is None else list(resource.resource.lacks())
