"""`rate-limit`: let no more events through than so many a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import ANY


class RateLimitParams(Params):
    """Parameters of `rate-limit`."""

    rate: float = Field(
        20.0,
        gt=0,
        le=1_000_000,
        title="Rate",
        description="Events per second that each conversation may have on average.",
        json_schema_extra={"x-unit": "events/s"},
    )
    burst: int = Field(
        1,
        ge=1,
        le=1_000_000,
        title="Burst",
        description="Events that may leave at once after a pause; 1 spaces them evenly.",
        json_schema_extra={"x-unit": "events"},
    )


@dataclass(slots=True)
class Meter:
    """When the next event is due, were all of them evenly spaced; None before the first."""

    due: float | None = None


class RateLimit(Operator[RateLimitParams]):
    """Let events through at a rate, after a pause some at once; nothing is dropped.

    The limit is per conversation. In any span of t seconds at most burst + rate · t leave.
    Source: the generic cell rate algorithm, ITU-T I.371, as a virtual schedule.

    Emits when: an event's time has come; exactly one each, unchanged.
    Backpressures when: downstream does, or events come faster than the rate.
    Completes when: its input has ended and the last event has left.
    Fails when: never.
    """

    name = "rate-limit"
    title = "Rate limit"
    category = "flow"
    summary = "Lets through so many events a second, and bursts of a size."
    inputs = (Port("in", ANY, "anything"),)
    outputs = (Port("out", ANY, "the same, slower", like="in"),)
    Params: ClassVar = RateLimitParams
    # The next event's time follows from the one before.
    state = State.SERIALIZED

    def service_time_s(self) -> float:
        """Return the time between two events at full load."""
        return 1 / self.params.rate

    def new_state(self) -> Meter:
        """Return a meter that has seen nothing."""
        return Meter()

    async def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the payload when it may leave."""
        meter: Meter = scope.state
        pause_s = 1 / self.params.rate
        now = scope.clock.now()
        due = now if meter.due is None else max(meter.due, now)
        # Set before the wait: a cancelled wait has used its place up, which errs on the safe side.
        meter.due = due + pause_s
        await scope.sleep_until(due - (self.params.burst - 1) * pause_s)
        return payload
