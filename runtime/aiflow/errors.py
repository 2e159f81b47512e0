"""Every error the runtime raises.

AiFlowError
├── GraphFileError              a file cannot be read as a graph (not JSON, not a graph, too new)
├── EditError                   an edit asked for what the graph does not have or already has
├── CompileError                the graph has diagnostics of severity error
├── PluginError                 an operator, dialect, resource or loop cannot be loaded
├── EngineError                 a running session broke down or was misused
│   ├── OperatorError           an operator raised; keeps the node and the operator's own error
│   ├── TryTimeoutError         one try of an event, or all of them, took too long
│   ├── Indeterminate           an effect that must happen once has begun, and no answer came
│   ├── NotStarted              raised by an operator: its effect has not begun, try again
│   ├── DeadlineError           a conversation took longer than the session allows
│   ├── QueueOverflowError      a full queue whose overflow is `error` refused an event
│   ├── LoopOverflowError       more came back over a feedback edge than has a place
│   ├── HopsSpentError          an event came back more often than its feedback edge lets it
│   ├── JoinOverflowError       a branch has more to send of one item than its join can hold
│   ├── UnmatchedError          nothing came that an event could be paired with
│   ├── DeadlockError           guardians wait for one another in a ring
│   ├── StandstillError         nothing is at work, and yet turns are open
│   ├── StallError              an operator call outlasted a deadline
│   ├── BlockedLoopError        something kept an event loop from everything else
│   ├── RefusedError            a run was not let in, because too many are open
│   └── SequenceError           a sequence number came twice or too late
├── RemoteError                 a run in another process cannot be reached, or refuses
├── ResourceError               a resource could not start (credential not set, file missing)
├── TraceError                  a trace file cannot be read or written
├── ToolError                   a tool could not be called, or failed
├── NamedFileError              a text, document or log that a graph names cannot be used
└── ProviderError               a model endpoint refused, timed out or spoke nonsense

Each class takes values, builds its own sentence (what, where, what to do) and keeps
the values as attributes. What a person got wrong in a graph is a `Diagnostic`, not an error.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any

_LONGEST_CAUSE = 1_000
#: What the system's own words are for whoever does not know its words.
_REASONS = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "you have no permission for it",
    errno.EPERM: "you have no permission for it",
    errno.EROFS: "the disk is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your share of the disk is used up",
    errno.EEXIST: "there is something else of that name",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EADDRINUSE: "another program listens there",
    errno.EADDRNOTAVAIL: "this machine has no such address",
    errno.ECONNREFUSED: "nothing listens there",
}


def reason_of(error: OSError) -> str:
    """Return what kept the system from it, as one clause of a sentence."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error) or "it did not answer"


class AiFlowError(Exception):
    """Base of all; catch this to catch ours and nothing else."""


class GraphFileError(AiFlowError):
    """A file cannot be read as a graph.

    Attributes:
        where: path or name of what was read.
        reason: what is wrong with it, one clause.
        hint: what to do about it, one clause; may be empty.
    """

    def __init__(self, where: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{where}: {reason}" + (f"; {hint}" if hint else ""))
        self.where = where
        self.reason = reason
        self.hint = hint


class EditError(AiFlowError):
    """An edit cannot be applied to this graph; the graph is unchanged."""


class CompileError(AiFlowError):
    """The graph has diagnostics of severity error.

    Attributes:
        messages: one sentence per error, in document order.
    """

    def __init__(self, messages: Sequence[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = tuple(messages)


class PluginError(AiFlowError):
    """An entry point cannot be loaded.

    Attributes:
        name: the entry point's name.
        distribution: the package it came from.
    """

    def __init__(self, name: str, distribution: str, reason: str) -> None:
        super().__init__(f"{name} of {distribution} cannot be loaded: {reason}")
        self.name = name
        self.distribution = distribution


class EngineError(AiFlowError):
    """A running session broke down or was misused."""


class OperatorError(EngineError):
    """An operator raised while it processed an event.

    Attributes:
        node: the node whose operator raised.
        conversation: the conversation that ends because of it.
        attempts: how often the event was tried.
    """

    def __init__(
        self, node: str, conversation: str, cause: BaseException, attempts: int = 1, note: str = ""
    ) -> None:
        tries = f" after {attempts} tries" if attempts > 1 else ""
        super().__init__(
            f"node {node} failed in conversation {conversation}{tries}: {words_of(cause)}"
            + (f" ({note})" if note else "")
        )
        self.node = node
        self.conversation = conversation
        self.attempts = attempts


class TryTimeoutError(EngineError, TimeoutError):
    """One try of an event, or all its tries together, took longer than the node's retry allows.

    Attributes:
        node: where.
        limit_s: the limit that was passed, seconds.
        is_total: it is the limit of all tries and waits together.
    """

    retryable = True

    def __init__(self, node: str, limit_s: float, *, is_total: bool = False) -> None:
        what = "all tries together" if is_total else "one try"
        field = "total_timeout_s" if is_total else "timeout_s"
        super().__init__(
            f"{what} took longer than {limit_s:g} s; raise {field}, or make the step faster"
        )
        self.node = node
        self.limit_s = limit_s
        self.is_total = is_total


class Indeterminate(EngineError):
    """An effect that must not be repeated has begun, and nobody knows whether it happened.

    Attributes:
        node: whose operator has the effect.
        key: the effect's idempotency key, to look it up where it should have happened.
    """

    def __init__(self, node: str, conversation: str, key: str, cause: BaseException) -> None:
        super().__init__(
            f"node {node} began an effect in conversation {conversation} and got no answer"
            f" ({words_of(cause)}): it may have happened or not, so it is not tried again;"
            f" look it up by its key {key}"
        )
        self.node = node
        self.key = key


class NotStarted(EngineError):
    """Raised by an operator whose effect has certainly not begun: it may be tried again.

    The one failure after which even a `non_idempotent` effect is tried again.
    """

    retryable = True


class DeadlineError(EngineError):
    """A conversation was not done when its time was over.

    Attributes:
        conversation: which.
        deadline_s: seconds that it had.
    """

    def __init__(self, conversation: str, deadline_s: float) -> None:
        super().__init__(
            f"conversation {conversation} was not done after {deadline_s:g} s, the time that each"
            " conversation of this session has; allow more, or find what it waited for"
        )
        self.conversation = conversation
        self.deadline_s = deadline_s


class QueueOverflowError(EngineError):
    """A full queue whose overflow is `error` refused an event.

    Attributes:
        node: owner of the queue.
        capacity: events it holds at most.
    """

    def __init__(self, node: str, capacity: int) -> None:
        super().__init__(
            f"the queue of {node} is full ({capacity} events) and its overflow is error;"
            " raise queue_capacity or choose block"
        )
        self.node = node
        self.capacity = capacity


class LoopOverflowError(EngineError):
    """More events came back over a feedback edge than there are places kept for them.

    Attributes:
        edge: id of the edge.
        places: events that may wait at its end, credit × max_returns.
    """

    def __init__(self, edge: str, places: int) -> None:
        super().__init__(
            f"loop overflow: over edge {edge} more than {places} events came back at once;"
            " raise max_returns, or let the loop send back less of one item"
        )
        self.edge = edge
        self.places = places


class HopsSpentError(EngineError):
    """An event came back over a feedback edge more often than the edge's hops allow.

    Attributes:
        edge: id of the edge.
        hops: feedback edges that an event may cross before it is refused there.
    """

    def __init__(self, edge: str, hops: int) -> None:
        super().__init__(
            f"edge {edge} lets an event return {hops} times, and one came back once more;"
            " raise hops, or let the loop end sooner"
        )
        self.edge = edge
        self.hops = hops


class JoinOverflowError(EngineError):
    """A branch sends more than the join behind it can hold until the rest has come.

    Attributes:
        node: the join. `edge`: over which it came.
        max_parts: parts that may be kept beside the queue.
    """

    def __init__(self, node: str, edge: str, max_parts: int, *, is_ahead: bool = False) -> None:
        if is_ahead:
            text = (
                f"node {node} still waits for an earlier event when more comes over {edge}, and"
                f" holds {max_parts} parts already beside its queue; raise its max_parts or"
                " queue_capacity, or let the branches keep step"
            )
        else:
            text = (
                f"node {node} waits for the rest of what comes over {edge}, and holds {max_parts}"
                " parts of it already beside its queue; raise its max_parts or queue_capacity, or"
                " send less of one item"
            )
        super().__init__(text)
        self.node = node
        self.edge = edge
        self.max_parts = max_parts


class UnmatchedError(EngineError):
    """A join was told to pair every event, and nothing came that one could be paired with.

    Attributes:
        node: the join. `edge`: over which the event came.
    """

    def __init__(self, node: str, edge: str) -> None:
        super().__init__(
            f"node {node} got an event over {edge} and nothing to pair it with; let the branches"
            " send alike, or set leftover to drop"
        )
        self.node = node
        self.edge = edge


class DeadlockError(EngineError):
    """Every blocked guardian waits, directly or through others, on a guardian that waits.

    Attributes:
        nodes: the nodes of the ring, in the order in which each waits for the next.
    """

    def __init__(self, nodes: Sequence[str], detail: str) -> None:
        super().__init__(f"deadlock: {' waits for '.join([*nodes, nodes[0]])} ({detail})")
        self.nodes = tuple(nodes)


class StandstillError(EngineError):
    """Nothing is at work and nothing can begin, and yet turns are open.

    Attributes:
        nodes: where they are open.
    """

    def __init__(self, nodes: Sequence[str]) -> None:
        super().__init__(
            f"nothing goes on: the turn is still open at {', '.join(nodes)}, and nobody there is"
            " at work or can begin; tell it as a fault of the runtime, with the graph"
        )
        self.nodes = tuple(nodes)


class StallError(EngineError):
    """An operator call outlasted a deadline and did not react to cancellation.

    Attributes:
        node: where the call is still open.
        waited_s: seconds since the call was asked to end.
    """

    def __init__(self, node: str, waited_s: float, stack: str = "") -> None:
        super().__init__(f"node {node} did not end within {waited_s:g} s of being cancelled")
        self.node = node
        self.waited_s = waited_s
        self.stack = stack


class BlockedLoopError(EngineError):
    """Something has kept an event loop from everything else for too long.

    Attributes:
        node: whose operator neither returned nor awaited; None where it was other code.
        blocked_s: seconds until it was told.
        stack: where the loop's thread stood.
    """

    def __init__(self, node: str | None, blocked_s: float, stack: str = "") -> None:
        whose = "code outside of the graph" if node is None else f"the operator of node {node}"
        super().__init__(
            f"{whose} kept the event loop from everything else for more than {blocked_s:.1f} s;"
            " let it await, or declare it as blocking so that it gets a thread"
        )
        self.node = node
        self.blocked_s = blocked_s
        self.stack = stack


class RefusedError(EngineError):
    """A run was not let in, because as many are open as its graph allows.

    Attributes:
        active: runs that were open. `waiting`: those that waited for a place.
    """

    def __init__(self, active: int, waiting: int, why: str) -> None:
        super().__init__(f"{active} conversations are open and {waiting} wait; {why}")
        self.active = active
        self.waiting = waiting


class SequenceError(EngineError):
    """A sequence number was used twice or after its turn.

    Attributes:
        sequence: the number offered.
        expected: the next number due.
    """

    def __init__(self, sequence: int, expected: int) -> None:
        super().__init__(f"sequence {sequence} came twice or too late (next due: {expected})")
        self.sequence = sequence
        self.expected = expected


class RemoteError(AiFlowError):
    """A run in another process cannot be served or reached, or refuses what it is asked."""


class ResourceError(AiFlowError):
    """A resource could not start or is not what a node asked for.

    Attributes:
        resource: id of the resource in the graph.
    """

    def __init__(self, resource: str, reason: str) -> None:
        super().__init__(f"resource {resource}: {reason}")
        self.resource = resource


class TraceError(AiFlowError):
    """A trace file cannot be read or written.

    Attributes:
        where: path of the file.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where


class NamedFileError(AiFlowError):
    """A text, document or log that a graph names cannot be used.

    Attributes:
        where: its path as the graph names it.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"the file {where}: {reason}")
        self.where = where


class ToolError(AiFlowError):
    """A tool could not be called, or failed.

    The sentence is made to be read by a model too, so that it can mend its call.

    Attributes:
        kind: one of `unknown` (there is no such tool), `arguments` (they do not fit its schema),
            `refused` (the address may not be called), `unreachable`, `status`, `failed` (the tool
            itself raised), `timeout`.
        is_transient: whether the same call may succeed later.
        has_begun: whether the tool may have taken effect; False where nothing was sent to it.
        retry_after_s: seconds that a server asked to wait; None where it did not.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        is_transient: bool = False,
        has_begun: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.kind = kind
        self.is_transient = is_transient
        self.has_begun = has_begun


class ProviderError(AiFlowError):
    """A model endpoint refused, timed out or spoke nonsense.

    Attributes:
        kind: one of `connection`, `first_byte_timeout`, `idle_timeout`, `total_timeout`,
            `no_place` (its turn never came), `status`, `protocol`, `stream` (the provider reported
            it in the stream),
            `incomplete` (the stream ended without saying that it was finished).
        status: HTTP status, None where there was none.
        code: the provider's own word for the error, None where there was none.
        retry_after_s: seconds the provider asked to wait, None if it did not.
        retryable: whether the same request may succeed later.
        detail: the provider's own words, "" where it gave none.
    """

    def __init__(  # noqa: PLR0913 - one sentence and what a retry must know
        self,
        message: str,
        *,
        kind: str = "stream",
        status: int | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        retryable: bool = False,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.detail = detail
        self.kind = kind
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        self.retryable = retryable


def asked_of(cause: BaseException, name: str) -> Any:  # noqa: ANN401 - whatever it says
    """Return what an error that is not ours says of itself; None where it cannot say it."""
    try:
        return getattr(cause, name, None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - the author's code, which raises what it likes
        return None


def words_of(cause: BaseException) -> str:
    """Return an error that is not ours as one clause: its type, and what it says.

    An operator's author may have written an error that cannot even be shown, or that shows a
    whole document.
    """
    name = type(cause).__name__
    try:
        said = " ".join(str(cause).split())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - the author's code, which raises what it likes
        return f"{name} (which cannot be shown)"
    if len(said) > _LONGEST_CAUSE:
        said = said[: _LONGEST_CAUSE - 1] + "…"
    return f"{name}: {said}" if said else name
