"""What a model and its graph have said to each other: messages, and calls that wait for results.

Data only; who asks the model, and how much is remembered, is the operator's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from aiflow.events import Chunk, Message, ToolResult
from aiflow.providers.messages import ChatMessage


@dataclass(slots=True)
class Exchange:
    """What was said about one prompt, or in one conversation.

    Attributes:
        turn: in which the last answer was given.
        answers: how many were given. `rounds`: answers to the last prompt that called tools.
        results: id of each call of the last answer -> its result, None until it has come.
    """

    messages: list[ChatMessage] = field(default_factory=list)
    turn: int = 0
    answers: int = 0
    rounds: int = 0
    results: dict[str, ToolResult | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Characters of all messages."""
        return sum(map(_size_of, self.messages))

    def drop_open_calls(self) -> None:
        """Forget an answer whose calls were never answered, because its turn was cancelled."""
        if self.results:
            self.messages.pop()
            self.results = {}

    def forget_oldest(self) -> bool:
        """Forget the oldest prompt and the answers to it; say whether there was a newer one."""
        starts = [place for place, each in enumerate(self.messages) if each.role == "user"]
        if len(starts) > 1:
            del self.messages[: starts[1]]
        return len(starts) > 1

    def next_messages(self, payload: Message | Chunk | ToolResult) -> list[ChatMessage]:
        """Return what is said to the model next; [] while results are missing."""
        if not isinstance(payload, ToolResult):
            return [ChatMessage("user", payload.text)]
        results = [each for each in self.results.values() if each is not None]
        if len(results) < len(self.results):
            return []
        return [
            ChatMessage(
                "tool",
                each.content,
                tool_call_id=each.id,
                name=each.name,
                is_error=each.is_error,
            )
            for each in results
        ]


def _size_of(message: ChatMessage) -> int:
    """Return the characters of a message, with all that goes back with it."""
    calls = sum(len(call.name) + len(call.arguments_raw) for call in message.tool_calls)
    thoughts = sum(
        len(each.text) + len(each.seal) + (len(json.dumps(each.details)) if each.details else 0)
        for each in message.thoughts
    )
    return len(message.content) + calls + thoughts
