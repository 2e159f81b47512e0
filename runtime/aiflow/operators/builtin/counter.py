"""`counter`: count what comes, by kind."""

from __future__ import annotations

from typing import Any, ClassVar

from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.names import kind_of
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import ANY


class Counter(Operator[NoParams]):
    """Count events by kind of payload and show the counts at the end of each turn.

    Emits when: never; it shows one line when its input ends.
    Backpressures when: never by itself; counting takes no time.
    Completes when: its input has ended and the counts are shown.
    Fails when: never.
    """

    name = "counter"
    title = "Counter"
    category = "sinks"
    summary = "Counts what comes, by kind."
    inputs = (Port("in", ANY, "anything"),)
    Params: ClassVar = NoParams
    state = State.SERIALIZED

    def new_state(self) -> dict[str, int]:
        """Return no counts."""
        return {}

    def process(self, payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        """Count one event."""
        kind = kind_of(payload)
        scope.state[kind] = scope.state.get(kind, 0) + 1

    def finish(self, scope: Scope) -> None:
        """Show the counts, most frequent first."""
        counts = sorted(scope.state.items(), key=lambda item: (-item[1], item[0]))
        parts = ", ".join(f"{kind} {count:,}" for kind, count in counts)
        scope.show(f"{sum(scope.state.values()):,} events" + (f": {parts}" if parts else "") + "\n")
