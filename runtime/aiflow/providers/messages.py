"""What a chat request is, before any dialect has put it into its own words.

The one shape that operators see. Params of a node and fields of the wire are elsewhere:
in the operator's file and in `dialects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiflow.events import ToolCall

Role = Literal["system", "user", "assistant", "tool"]
Effort = Literal["none", "minimal", "low", "medium", "high"]
ToolChoice = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning that goes back with the message it led to, because its provider wants it again.

    Attributes:
        text: what of it could be read; "" where nothing could.
        seal: the provider's signature, or the sealed reasoning itself; "" where it gave none.
        is_opaque: the seal is all there is of it.
        id: the provider's id of it, "" where it has none.
        place: what carried the seal: the reasoning, the answer's `text`, or a `call`.
        call: of a `call`, its place among the message's calls.
        details: entries that go back as they came, where a provider has a list of its own for it.
    """

    text: str = ""
    seal: str = ""
    is_opaque: bool = False
    id: str = ""
    place: Literal["reasoning", "text", "call"] = "reasoning"
    call: int = 0
    details: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        tool_calls: what the assistant asked for in this message.
        tool_call_id: which call a message of role `tool` answers; "" elsewhere.
        name: the tool's name in a message of role `tool`; "" elsewhere.
        is_error: in a message of role `tool`: the call failed, and `content` says why.
        thoughts: what led to an assistant's message, in order.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    is_error: bool = False
    thoughts: tuple[Thought, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may ask for.

    Attributes:
        parameters: JSON Schema of the arguments' object.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    def as_function(self) -> dict[str, Any]:
        """Return the entry of a request's `tools`, in the shape that OpenAI gave it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are picked; None leaves a value to the provider.

    Attributes:
        temperature: 0 to 2; 0 picks the likeliest token.
        top_p: share of probability that is considered, above 0 and at most 1.
        max_tokens: longest answer in tokens, 1 or more.
        stop: texts at which the answer ends.
        seed: the same seed asks for the same answer.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None


# How many tokens a level of effort stands for where an API counts them, and the other way round.
_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 2048,
    "medium": 8192,
    "high": 24_576,
}


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How much a model may think before it answers; one of both is enough.

    Attributes:
        effort: in words; None where `budget_tokens` says it.
        budget_tokens: longest reasoning in tokens, 0 or more; None where `effort` says it.
    """

    effort: Effort | None = None
    budget_tokens: int | None = None

    @property
    def level(self) -> Effort:
        """The effort in words: the least one whose tokens are enough."""
        if self.effort is not None:
            return self.effort
        wanted = self.tokens
        return next((word for word, tokens in _BUDGETS.items() if tokens >= wanted), "high")

    @property
    def tokens(self) -> int:
        """The effort in tokens; 0 is no reasoning at all."""
        if self.budget_tokens is not None:
            return self.budget_tokens
        return _BUDGETS[self.effort or "medium"]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked.

    Attributes:
        model: the provider's name of the model; "" where the endpoint has only one.
        system: instructions that stand before all messages; "" for none.
        tools: what the model may ask for.
        tool_choice: whether it may ask as it likes, must not, or must; says nothing without tools.
        reasoning: None leaves it to the provider.
        extra: further fields of the dialect's own, put into the body as they are.
        asked_by: the node and the conversation that ask, for the names of recordings; never sent.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    sampling: Sampling = field(default_factory=Sampling)
    reasoning: Reasoning | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    asked_by: tuple[str, str] = field(default=("", ""), compare=False)
