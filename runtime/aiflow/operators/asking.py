"""What every operator that asks a model has in common: its params, and the request they make.

How the answer leaves, by which port and with which marks, is in `answer`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from aiflow.operators.base import Params
from aiflow.operators.scope import Scope
from aiflow.providers.messages import (
    ChatMessage,
    ChatRequest,
    Effort,
    Reasoning,
    Sampling,
    ToolChoice,
)
from aiflow.tools.resource import Tools


class AskParams(Params):
    """Parameters of whoever asks a model."""

    model: str = Field(
        "",
        title="Model",
        description="The model's name at the provider; empty where there is only one, and"
        " for a trace.",
    )
    system: str = Field(
        "",
        title="System prompt",
        description="Instructions that stand before the prompt; empty sends none.",
        json_schema_extra={"x-editor": "multiline"},
    )
    temperature: float | None = Field(
        None,
        ge=0,
        le=2,
        title="Temperature",
        description="How freely the model chooses words; empty leaves it to the provider.",
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        title="Longest answer",
        description="Where the provider cuts the answer; empty leaves it to the provider.",
        json_schema_extra={"x-unit": "tokens"},
    )
    effort: Effort | None = Field(
        None,
        title="Reasoning effort",
        description="How much the model thinks before it answers, if it can; empty leaves it to"
        " the provider.",
    )


def request_of(
    params: AskParams,
    messages: Sequence[ChatMessage],
    scope: Scope,
    tool_choice: ToolChoice = "auto",
) -> ChatRequest:
    """Return what a model is asked, with the tools of the node's tool set where it has one."""
    tools: Tools | None = scope.resources.get("tools")
    return ChatRequest(
        params.model,
        tuple(messages),
        params.system,
        tools=() if tools is None else tools.specs(),
        tool_choice=tool_choice,
        sampling=Sampling(temperature=params.temperature, max_tokens=params.max_tokens),
        reasoning=None if params.effort is None else Reasoning(params.effort),
        asked_by=(scope.node, scope.conversation),
    )
