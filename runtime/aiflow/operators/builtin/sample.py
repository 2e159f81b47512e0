"""`sample`: let a part of the events through."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import ANY


class SampleParams(Params):
    """Parameters of `sample`."""

    every: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000,
        title="One of",
        description="Lets the first of each so many events through; empty leaves it to chance.",
        json_schema_extra={"x-unit": "events"},
    )
    share: float = Field(
        0.1,
        ge=0,
        le=1,
        title="Share",
        description="Part of the events that chance lets through, 0 to 1; the same ones for the"
        " same seed. Not looked at where one of so many is chosen.",
    )


class Sample(Operator[SampleParams]):
    """Let one of n events through, or a share of them by seeded chance.

    Emits when: an event is picked; unchanged. The others count as processed.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "sample"
    title = "Sample"
    category = "flow"
    summary = "Lets one of n events through, or a share of them."
    inputs = (Port("in", ANY, "anything"),)
    outputs = (Port("out", ANY, "the events that were picked", like="in"),)
    Params: ClassVar = SampleParams
    # Counting needs the events one at a time; chance alone would not.
    state = State.SERIALIZED

    def new_state(self) -> list[int]:
        """Return the count of events: none yet."""
        return [0]

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the payload where it is picked, else None."""
        if self.params.every is None:
            return payload if scope.random.random() < self.params.share else None
        number = scope.state[0]
        scope.state[0] = (number + 1) % self.params.every
        return payload if number == 0 else None
