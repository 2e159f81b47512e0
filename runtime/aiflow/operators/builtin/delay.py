"""`delay`: hold each event for a while; the slow consumer of the classroom."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from pydantic import Field

from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.types import ANY


class DelayParams(Params):
    """Parameters of `delay`."""

    seconds: float = Field(
        0.1,
        ge=0,
        le=3600,
        title="Delay",
        description="How long one event is held, on average.",
        json_schema_extra={"x-unit": "s"},
    )
    jitter: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Jitter",
        description="Share of the delay that is left to chance: 0 is even, 1 is anything"
        " from none to twice the delay.",
    )
    failures: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Failures",
        description="Share of tries that fail when the delay is over, by chance: 0 is none, 1 is"
        " all. Such a failure may be tried again; see the policy's retry.",
    )


class FlakyError(Exception):
    """A failure that was asked for, and that may be tried again."""

    retryable = True


class Delay(Operator[DelayParams]):
    """Hold each event for a while, then pass it on unchanged.

    Emits when: an event's delay is over; exactly one each. With more workers than one
        and no reorder buffer, in the order in which delays end.
    Backpressures when: downstream does, or all its workers are waiting.
    Completes when: its input has ended and the last delay is over.
    Fails when: chance decides so, for the share of tries in `failures`.
    """

    name = "delay"
    title = "Delay"
    category = "flow"
    summary = "Holds each event for a while: a slow consumer."
    inputs = (Port("in", ANY, "anything"),)
    outputs = (Port("out", ANY, "the same", like="in"),)
    Params: ClassVar = DelayParams

    def service_time_s(self) -> float:
        """Return the mean delay."""
        return self.params.seconds

    def outputs_per_event(self) -> float:
        """Return 1: what comes goes."""
        return 1.0

    async def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the payload after its delay."""
        params = self.params
        chance = _chance(scope)
        await scope.sleep(params.seconds * (1 + params.jitter * chance.uniform(-1, 1)))
        if params.failures and chance.random() < params.failures:
            raise FlakyError(f"try {scope.attempt} failed by chance, as its params ask for")
        return payload


def _chance(scope: Scope) -> random.Random:
    """Return a chance of its own for each try; the scope's is the same at all of them."""
    if scope.attempt == 1:
        return scope.random
    return random.Random(f"{scope.random.random()} {scope.attempt}")
