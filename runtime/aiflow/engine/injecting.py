"""Injecting: an event that no source has made, put into an edge by whoever looks inside.

It has a source of its own, so nothing that goes by source and sequence takes it for another
event. It is counted where it arrives, as any other; it takes a place only where there is one,
and never comes behind the end of its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from aiflow import events, types
from aiflow.engine.cells import EdgeState, Lane, Turn
from aiflow.engine.delivery import accept, has_room
from aiflow.errors import EngineError
from aiflow.events import Context, Payload
from aiflow.types import PortType

#: Source of what is injected; no node of a file can have it.
SOURCE = "injected:"

_TYPES: Mapping[type[Payload], PortType] = {
    events.Token: types.TOKEN,
    events.Chunk: types.CHUNK,
    events.Message: types.MESSAGE,
    events.ToolFragment: types.TOOL_FRAGMENT,
    events.ToolCall: types.TOOL_CALL,
    events.ToolResult: types.TOOL_RESULT,
    events.Retrieval: types.RETRIEVAL,
    events.SafetyLabel: types.SAFETY,
    events.Audio: types.AUDIO,
    events.Control: types.CONTROL,
}
_PAYLOADS = {type.name: payload for payload, type in _TYPES.items()}


def payload_of(value: object) -> Any:  # noqa: ANN401 - any payload
    """Return the payload that plain values mean: a text is a token, a mapping names its type.

    Raises:
        EngineError: they mean none.
    """
    if isinstance(value, str):
        return events.Token(value)
    if not isinstance(value, Mapping):
        return value
    fields = dict(value)
    kind = fields.pop("type", None)
    if kind not in _PAYLOADS:
        raise EngineError(
            f"a payload names its type, one of {', '.join(_PAYLOADS)}; {kind!r} is none"
        )
    try:
        return msgspec.convert(fields, _PAYLOADS[kind])
    except msgspec.ValidationError as error:
        raise EngineError(f"this is no {kind}: {error}") from error


def misfit(payload: object, wanted: PortType) -> PortType | None:
    """Return the type of a payload that a port does not take; None where it may.

    Of a plug-in's payload only its operators know.
    """
    given = _TYPES.get(type(payload)) if isinstance(payload, Payload) else None
    return None if given is None or wanted.accepts(given) else given


def inject(
    edge: EdgeState, turns: Iterable[Turn], payload: object, conversation: str | None, number: int
) -> None:
    """Put a payload into an edge.

    Args:
        edge: into which.
        turns: that are open.
        payload: as `payload_of` reads it.
        conversation: whose; None is the oldest that can still take it.
        number: of the injected event in its session.

    Raises:
        EngineError: there is no turn, no room, or the type does not fit.
    """
    payload = payload_of(payload)
    wanted = edge.plan.type
    # What Control says all may hear.
    if (given := misfit(payload, wanted)) is not None and given != types.CONTROL:
        raise EngineError(f"edge {edge.id} carries {wanted}, and a {given} is none")
    lane = _lane(edge, turns, conversation)
    event = Context(
        payload,
        lane.turn.conversation,
        lane.turn.number,
        f"{SOURCE}{edge.plan.source}",
        number,
        created_at=lane.guardian.kernel.now(),
        epoch=lane.turn.epoch,
    )
    guardian = lane.guardian
    if not edge.is_detached and not has_room(lane, edge, event):
        raise EngineError(
            f"the queue of {guardian.id} is full ({guardian.depth} of"
            f" {guardian.queue_capacity}); step or resume, then inject"
        )
    accept(lane, edge, event, guardian.kernel.now())
    guardian.kernel.runlist.wake()


def _lane(edge: EdgeState, turns: Iterable[Turn], conversation: str | None) -> Lane:
    """Return where the event goes, in a turn that has not ended on the edge."""
    for turn in turns:
        if conversation in (None, turn.conversation):
            sender, lane = turn.lanes.get(edge.plan.source), turn.lanes.get(edge.plan.target)
            if sender and lane and not (sender.is_closed or lane.is_dead or lane.is_closed):
                return lane
    whose = "no conversation" if conversation is None else f"conversation {conversation}"
    verb = "is open" if conversation is None else "is not open"
    raise EngineError(f"{whose} {verb} on edge {edge.id} any more, so nothing can be injected")
