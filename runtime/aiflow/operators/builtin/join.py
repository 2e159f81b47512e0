"""`join`: bring together what belongs together from several branches."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec.structs import replace
from pydantic import Field

from aiflow.events import Joined, text_of
from aiflow.operators.base import Joining, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.types import ANY, JOINED


class JoinParams(Params):
    """Parameters of `join`."""

    mode: Literal["all", "zip"] = Field(
        "all",
        title="Match",
        description="all: every part of one source event, from each branch, also where a branch"
        " sent none; zip: one event of each branch.",
    )
    leftover: Literal["drop", "error"] = Field(
        "drop",
        title="Left over",
        description="What zip does with an event that nothing can be paired with: drop and count"
        " it, or fail the conversation. Not looked at by all.",
    )
    max_parts: int = Field(
        8,
        ge=0,
        le=1_000_000,
        title="Parts kept",
        description="Parts of one conversation that may be kept beside the queue, where one branch"
        " makes more of a source event than its places hold, or is ahead of another for good.",
        json_schema_extra={"x-unit": "events"},
    )
    separator: str = Field(
        " ",
        title="Separator",
        description="What stands between the texts of the parts.",
    )


class Join(Operator[JoinParams]):
    """Wait for the branches of a graph to come together again, and pass on one event.

    Its output has the texts of the parts by the name of their port, so a template behind it
    may say `{a}: {b}`. It inherits source and sequence: of the event that was parted (all), or
    of what came by the first port (zip). Branches that all carry the same sources are matched
    by source and sequence, also by zip, so that a filter in one leaves a gap and shifts nothing;
    else zip takes the first with the first and the second with the second.

    Emits when: all: nothing more of a source event can come by any port, one joined event for
        each that came by at least one; zip: each port has its part.
    Backpressures when: downstream does; and a branch that is ahead waits for the others when its
        part of the queue is full.
    Completes when: all its inputs have ended.
    Fails when: one branch makes more parts of a source event than the queue and `max_parts` hold
        (all), is ahead by more than that of a branch which it keeps waiting itself, or an event
        is left over and shall not be (zip).
    """

    name = "join"
    title = "Join"
    category = "flow"
    summary = "Brings together what belongs together from several branches."
    inputs = (
        Port("a", ANY, "the first branch"),
        Port("b", ANY, "the second branch"),
        Port("c", ANY, "a third branch", is_optional=True),
        Port("d", ANY, "a fourth branch", is_optional=True),
    )
    outputs = (Port("out", JOINED, "the parts, and their texts"),)
    Params: ClassVar = JoinParams

    def joins(self) -> Joining:
        """Return how the in-ports are joined."""
        params = self.params
        return Joining(params.mode, params.leftover == "error", params.max_parts)

    def kept_events(self) -> int:
        """Return how many parts one conversation may keep beside the queue."""
        return self.params.max_parts

    def process(self, payload: Joined, scope: Scope) -> Joined:
        """Return the parts with their texts."""
        join = self.params.separator.join
        data = {
            port: join(filter(None, map(text_of, parts))) for port, parts in payload.parts.items()
        }
        return replace(payload, text=join(filter(None, data.values())), data=data)
