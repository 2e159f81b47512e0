"""Events: `Context[T]`, the envelope, and the payloads that are built in.

END, ERROR and CANCEL are no payloads: they are state on an edge (see `engine`).
`Control` is what travels as data beside the text: start, usage, finish, keep-alive.
Everything here is a frozen, slotted struct, because one is made per token.
Source: `Context<T>` of the AiFlow paper, "Model".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

_NUMBER_BYTES = 8

Channel = Literal["reasoning", "answer", "refusal"]
ControlKind = Literal["start", "usage", "finish", "keep-alive", "notice"]


class Context(msgspec.Struct, Generic[T], frozen=True):
    """One event: a payload and where it stands.

    All branches of a broadcast share one and the same event.

    Attributes:
        payload: the typed value.
        conversation: id of the conversation.
        turn: number of the turn in its conversation, from 0.
        source: id of the node where the event, or its first ancestor, began.
        sequence: +1 per conversation and turn at its source, from 0; outputs inherit it.
        part: number among the outputs that a node made for the same sequence, from 0.
        hops: feedback edges crossed so far.
        created_at: seconds on the session's clock at which the first ancestor arrived at its
            adapter (in replay: its time in the trace), before any waiting.
        epoch: the turn's epoch; a cancelled turn raises it, and older events count as purged.
        trace: id that all descendants of one source event share; 0 where nobody traces.
        size: estimated bytes of the payload; 0 where nobody asked.
    """

    payload: T
    conversation: str
    turn: int
    source: str
    sequence: int
    part: int = 0
    hops: int = 0
    created_at: float = 0.0
    epoch: int = 0
    trace: int = 0
    size: int = 0


class Payload(msgspec.Struct, frozen=True):
    """Base of the built-in payloads.

    Attributes:
        droppable: whether a full queue may discard such a payload.
    """

    droppable: ClassVar[bool] = False


class Token(Payload, frozen=True):
    """A piece of a model's text, as the provider cut it."""

    droppable: ClassVar[bool] = True
    text: str
    channel: Channel = "answer"
    choice: int = 0


class Chunk(Payload, frozen=True):
    """Tokens joined into a piece that can be shown or spoken by itself."""

    droppable: ClassVar[bool] = True
    text: str
    channel: Channel = "answer"


class Message(Payload, frozen=True):
    """A whole text: a prompt, or an answer put together."""

    text: str
    role: str = "assistant"


class ToolFragment(Payload, frozen=True):
    """A piece of a tool call; arguments come as raw text.

    Attributes:
        index: the call's place among the calls of its choice.
        id: the provider's id, "" where this piece brings none.
        name: a piece of the tool's name, "" where this piece brings none.
        arguments: a piece of the arguments' JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    choice: int = 0


class ToolCall(Payload, frozen=True):
    """A complete tool call.

    Attributes:
        arguments: parsed object; None where `arguments_raw` is not a JSON object.
        arguments_raw: the text as it came.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    arguments_raw: str = ""
    choice: int = 0


class ToolResult(Payload, frozen=True):
    """What a tool answered."""

    id: str
    name: str
    content: str
    is_error: bool = False


class Retrieval(Payload, frozen=True):
    """A document, snippet or citation that belongs to the text beside it."""

    id: str = ""
    title: str = ""
    url: str = ""
    text: str = ""
    score: float | None = None
    raw: Mapping[str, Any] | None = None


class SafetyLabel(Payload, frozen=True):
    """A finding of a content filter.

    Attributes:
        scope: what it is about: `prompt` or `completion`.
        category: the filter's word, such as `violence`.
        filtered: whether text was withheld because of it.
        severity: the filter's grade; "" where it gives none.
    """

    scope: str
    category: str
    filtered: bool = False
    severity: str = ""
    raw: Mapping[str, Any] | None = None


class Joined(Payload, frozen=True):
    """What a join has brought together.

    Attributes:
        parts: in-port -> its payloads, in the order in which they came; none where nothing did.
        text: their texts, joined. `data`: in-port -> the text of its payloads.
    """

    parts: Mapping[str, tuple[Any, ...]]
    text: str = ""
    data: Mapping[str, str] = {}


class Audio(Payload, frozen=True):
    """A piece of sound: signed 16-bit little-endian mono samples."""

    droppable: ClassVar[bool] = True
    data: bytes
    rate_hz: int
    text: str = ""


class DeadLetter(Payload, frozen=True):
    """An event that a node has given up on; it leaves by the port `dead`.

    Attributes:
        payload: what the event carried. `node`: that gave it up.
        error: what its last try failed of, one clause.
        attempts: how often it was tried.
    """

    payload: Any
    node: str
    error: str
    attempts: int


class Control(Payload, frozen=True):
    """What travels as data beside the text.

    Attributes:
        kind: `start`, `usage`, `finish`, `keep-alive` or `notice`.
        data: plain values; for `finish`: `reason` (one of `stop length tool_calls
            content_filter error incomplete unknown`) and `raw` (the provider's own word).
    """

    kind: ControlKind
    data: Mapping[str, Any] = {}


def is_droppable(payload: object) -> bool:
    """Say whether a full queue may discard this payload; what we do not know never is."""
    if type(payload) is Control:
        return payload.kind == "keep-alive"
    # Of its class: a payload may answer whatever it is asked, or raise.
    return getattr(type(payload), "droppable", False) is True


def size_of(payload: object) -> int:
    """Return about how many bytes a payload holds: its texts in UTF-8, its data, its numbers.

    An estimate that is cheap and always the same for the same payload; what Python itself needs
    beside it is not counted. What cannot be measured counts as one number.
    """
    try:
        return _measured(payload)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a payload's own code, or one that is nested too deep
        return _NUMBER_BYTES


def _measured(payload: object) -> int:
    if isinstance(payload, str):
        return len(payload) if payload.isascii() else len(payload.encode(errors="replace"))
    if isinstance(payload, bytes | bytearray | memoryview):
        return len(payload)
    if isinstance(payload, msgspec.Struct):
        return sum(_measured(getattr(payload, name)) for name in payload.__struct_fields__)
    if isinstance(payload, Mapping):
        return sum(_measured(key) + _measured(value) for key, value in payload.items())
    if isinstance(payload, list | tuple | set | frozenset):
        return sum(map(_measured, payload))
    return 0 if payload is None else _NUMBER_BYTES


def text_of(payload: object) -> str:
    """Return the payload's text, "" for a payload without one."""
    text = getattr(payload, "text", "")
    return text if isinstance(text, str) else ""
