"""One answer as a message of the conversation, so that a model can be asked again with it.

It keeps what the next request needs and no more: the text, the calls, and the reasoning that some
providers want to see again, sealed as they sent it.
"""

from __future__ import annotations

import json
from typing import Any

from aiflow.events import Control, Payload, Token, ToolCall, ToolFragment
from aiflow.providers.messages import ChatMessage, Thought
from aiflow.providers.tool_calls import joined


class Said:
    """Folds the payloads of one answer; only choice 0 counts.

    Attributes:
        size: characters of all that it keeps.
        has_finished: the finish has come.
    """

    def __init__(self) -> None:
        self.size = 0
        self.has_finished = False
        self._answer: list[str] = []
        self._thinking: list[str] = []
        self._thoughts: list[Thought] = []
        self._calls: dict[int, list[ToolFragment]] = {}

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that it asks for, in their order, as far as they have come."""
        return tuple(joined(parts) for _, parts in sorted(self._calls.items()))

    def unnamed_calls(self) -> list[int]:
        """Return the places of calls for which the provider gave no id."""
        return [
            index for index, parts in sorted(self._calls.items()) if not any(p.id for p in parts)
        ]

    def add(self, payload: Payload) -> None:
        """Take the next payload."""
        if getattr(payload, "choice", 0) != 0:
            return
        if isinstance(payload, Token):
            self.size += len(payload.text)
            (self._thinking if payload.channel == "reasoning" else self._answer).append(
                payload.text
            )
        elif isinstance(payload, ToolFragment):
            self.size += len(payload.id) + len(payload.name) + len(payload.arguments)
            self._calls.setdefault(payload.index, []).append(payload)
        elif isinstance(payload, Control):
            self._add_control(payload)

    def message(self) -> ChatMessage:
        """Return what the assistant said."""
        thoughts = list(self._thoughts)
        if rest := "".join(self._thinking):
            thoughts.append(Thought(rest))
        return ChatMessage("assistant", "".join(self._answer), self.calls, thoughts=tuple(thoughts))

    def _add_control(self, control: Control) -> None:
        data: Any = control.data
        if control.kind == "finish":
            self.has_finished = self.has_finished or data.get("choice", 0) == 0
        elif data.get("what") in ("signature", "opaque-reasoning"):
            self._seal(data, is_opaque=data["what"] == "opaque-reasoning")

    def _seal(self, data: Any, *, is_opaque: bool) -> None:  # noqa: ANN401 - a notice's data
        if details := data.get("details"):
            if data.get("choice", 0) == 0:
                self.size += len(json.dumps(details))
                self._thoughts.append(Thought(details=tuple(details)))
            return
        seal = data.get("data", "")
        self.size += len(seal)
        carrier = data.get("carrier", "reasoning")
        if carrier != "reasoning":
            self._thoughts.append(Thought(seal=seal, place=carrier, call=data.get("call", 0)))
            return
        text = "" if is_opaque else "".join(self._thinking)
        if not is_opaque:
            self._thinking.clear()
        self._thoughts.append(Thought(text, seal, is_opaque, data.get("id", "")))
