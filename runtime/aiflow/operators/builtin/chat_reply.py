"""`chat-reply`: ask a model for each prompt that arrives, and stream what it answers.

An operator beside the source `chat` and not a port of it: a source opens conversations and has
no inputs, and a graph that begins with a question should not change what it means by an edge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import ClassVar

from aiflow.events import Chunk, Message
from aiflow.operators.answer import AnswerMarks, port_of
from aiflow.operators.asking import AskParams, request_of
from aiflow.operators.base import Emit, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.providers.chat import ChatProvider
from aiflow.providers.messages import ChatMessage
from aiflow.types import CHUNK, CONTROL, MESSAGE, RETRIEVAL, SAFETY, TOKEN, TOOL_FRAGMENT, PortType

#: A prompt comes whole; a token would be a prompt of one word.
PROMPT = PortType("prompt", (MESSAGE, CHUNK))


class ChatReplyParams(AskParams):
    """Parameters of `chat-reply`."""


class ChatReply(Operator[ChatReplyParams]):
    """Ask a model for each prompt and stream its answer, as fast as the graph takes it.

    Each prompt is asked by itself: what was said before goes into it or is not known.

    Emits when: the provider's stream brings a token, a piece of a tool call, a document, a
        safety label or a control message; each leaves by the port of its kind.
    Backpressures when: downstream does; it then stops reading its connection. With all workers
        asking, further prompts wait.
    Completes when: its input has ended and the last answer has.
    Fails when: the provider cannot be reached, refuses, times out or ends too early.
    """

    name = "chat-reply"
    title = "Chat reply"
    category = "text"
    summary = "Asks a model for each prompt and streams its answer."
    inputs = (Port("in", PROMPT, "prompts, each a whole text"),)
    outputs = (
        Port("out", TOKEN, "the text, with its channel: reasoning, answer or refusal"),
        Port("tools", TOOL_FRAGMENT, "pieces of tool calls as they come"),
        Port("retrieval", RETRIEVAL, "documents and citations the provider sends along"),
        Port("safety", SAFETY, "findings of the provider's content filter"),
        Port("control", CONTROL, "start, usage and finish of the stream"),
    )
    Params: ClassVar = ChatReplyParams
    requires: ClassVar = {"provider": "provider"}
    accepts: ClassVar = {"tools": "tools"}

    async def process(self, payload: Message | Chunk, scope: Scope) -> AsyncIterator[Emit]:
        """Yield what the provider sends."""
        provider: ChatProvider = scope.resources["provider"]
        request = request_of(self.params, [ChatMessage("user", payload.text)], scope)
        marks = AnswerMarks(scope)
        # Closed in any case: a cancelled turn must not leave its connection open.
        async with aclosing(provider.stream_chat(request)) as stream:
            async for each, at in stream:
                marks.note(each, at, stream.request_sent_at)
                yield Emit(port_of(each), each)
