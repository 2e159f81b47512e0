"""A model's answer on its way into a graph: by which port, and when it began.

Shared by those who stream one, live or from a trace; they know nothing of each other.
"""

from __future__ import annotations

from aiflow.events import Control, Payload, Retrieval, SafetyLabel, ToolFragment
from aiflow.operators.scope import Scope

#: What a frame of an answer is called that could not be read and was left out.
MALFORMED = "malformed-frame"

_PORTS: dict[type[Payload], str] = {
    ToolFragment: "tools",
    Retrieval: "retrieval",
    SafetyLabel: "safety",
    Control: "control",
}


def port_of(payload: Payload) -> str:
    """Return the out-port that a payload of an answer leaves by; tokens leave by `out`."""
    return _PORTS.get(type(payload), "out")


class AnswerMarks:
    """Notes when a request was sent and when the first piece of its answer came, each once.

    What lies between making this and the request is its wait: for its turn where the provider has
    limits, for the connection, and for a server that was asked again.

    Args:
        scope: of the call that streams the answer.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._asked_at = scope.clock.now()
        self._has_begun = False
        self._has_delta = False

    def note(self, payload: Payload, at: float, sent_at: float | None) -> None:
        """Take the next payload of the answer.

        Args:
            payload: what came; a control message is no piece of the answer.
            at: when it came, seconds on the session's clock.
            sent_at: when the request was sent, on the same clock; None is now.
        """
        if not self._has_begun:
            self._has_begun = True
            if sent_at is not None and sent_at > self._asked_at:
                self._scope.mark("request_asked", self._asked_at)
            self._scope.mark("request_sent", sent_at)
        if isinstance(payload, Control) and payload.kind == "notice":
            if payload.data.get("what") == MALFORMED:
                self._scope.notice(MALFORMED)
            return
        if not self._has_delta and not isinstance(payload, Control):
            self._has_delta = True
            self._scope.mark("first_delta", at)
