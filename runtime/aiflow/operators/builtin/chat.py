"""`chat`: ask a model and stream its answer into the graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import ClassVar

from pydantic import Field

from aiflow.operators.answer import AnswerMarks, port_of
from aiflow.operators.asking import AskParams, request_of
from aiflow.operators.base import Emit, Params, Port, Source
from aiflow.operators.scope import Scope
from aiflow.providers.chat import ChatProvider
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.types import CONTROL, RETRIEVAL, SAFETY, TOKEN, TOOL_FRAGMENT


class _PromptParams(Params):
    """What stands before the other params."""

    prompt: str = Field(
        "Why should a program ever wait on purpose?",
        title="Prompt",
        description="What the model is asked; the text given to a run takes its place.",
        json_schema_extra={"x-editor": "multiline"},
    )


class ChatParams(AskParams, _PromptParams):
    """Parameters of `chat`."""

    conversations: int = Field(
        1,
        ge=1,
        le=100_000,
        title="Conversations",
        description="How many conversations one run opens; each asks once.",
        json_schema_extra={"x-unit": "conversations"},
    )


class Chat(Source[ChatParams]):
    """Ask a model and stream what it answers, as fast as the graph takes it.

    Emits when: the provider's stream brings a token, a piece of a tool call, a document,
        a safety label or a control message; each leaves by the port of its kind.
    Backpressures when: downstream does; it then stops reading its connection.
    Completes when: the provider's stream has ended.
    Fails when: the provider cannot be reached, refuses, times out or ends too early.
    """

    name = "chat"
    title = "Chat model"
    category = "sources"
    summary = "Asks a model and streams its answer."
    Params: ClassVar = ChatParams
    outputs = (
        Port("out", TOKEN, "the text, with its channel: reasoning, answer or refusal"),
        Port("tools", TOOL_FRAGMENT, "pieces of tool calls as they come"),
        Port("retrieval", RETRIEVAL, "documents and citations the provider sends along"),
        Port("safety", SAFETY, "findings of the provider's content filter"),
        Port("control", CONTROL, "start, usage and finish of the stream"),
    )
    requires: ClassVar = {"provider": "provider"}
    accepts: ClassVar = {"tools": "tools"}

    def conversations(self) -> int:
        """Return the number the params ask for."""
        return self.params.conversations

    async def stream(self, scope: Scope) -> AsyncIterator[Emit]:
        """Yield what the provider sends, each with the time at which it arrived."""
        provider: ChatProvider = scope.resources["provider"]
        marks = AnswerMarks(scope)
        # Closed in any case: a cancelled turn must not leave its connection open.
        async with aclosing(provider.stream_chat(self._request(scope))) as stream:
            async for payload, at in stream:
                marks.note(payload, at, stream.request_sent_at)
                yield Emit(port_of(payload), payload, at)

    def _request(self, scope: Scope) -> ChatRequest:
        prompt = self.params.prompt if scope.input is None else scope.input
        return request_of(self.params, [ChatMessage("user", prompt)], scope)
