"""`merge`: bring several streams together into one."""

from __future__ import annotations

from typing import Any, ClassVar

from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.types import ANY


class Merge(Operator[NoParams]):
    """Pass on what comes by any number of edges, in the order in which it arrives.

    It waits for nothing to match: what must be paired needs a join. All edges share one
    port, and with it one queue of each conversation, so no branch overtakes itself.

    Emits when: an event arrives on any of its edges; exactly one, unchanged.
    Backpressures when: downstream does; then every branch that has something waits.
    Completes when: all its edges have ended.
    Fails when: never.
    """

    name = "merge"
    title = "Merge"
    category = "flow"
    summary = "Brings several streams together, as they come."
    inputs = (Port("in", ANY, "any number of edges"),)
    outputs = (Port("out", ANY, "all of it", like="in"),)
    Params: ClassVar = NoParams

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the payload as it came."""
        return payload
