"""`chat-loop`: ask a model, and ask it again with what comes back: results of tools, or remarks.

An operator beside `chat-reply` and not a mode of it: because of what it remembers, the events of
one conversation go one at a time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar, Literal

import msgspec
from pydantic import Field

from aiflow.events import Chunk, Control, Message, ToolFragment, ToolResult
from aiflow.operators.answer import AnswerMarks, port_of
from aiflow.operators.asking import AskParams, request_of
from aiflow.operators.base import Emit, Operator, Port
from aiflow.operators.exchange import Exchange
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.providers.chat import ChatProvider
from aiflow.providers.messages import ChatMessage
from aiflow.providers.said import Said
from aiflow.types import (
    CHUNK,
    CONTROL,
    MESSAGE,
    RETRIEVAL,
    SAFETY,
    TOKEN,
    TOOL_FRAGMENT,
    TOOL_RESULT,
    PortType,
)

#: What is asked comes whole; a token would be a prompt of one word.
PROMPT = PortType("prompt", (MESSAGE, CHUNK))


# By turn, source and sequence of the prompt.
Exchanges = dict[tuple[int, str, int], Exchange]


class ChatLoopParams(AskParams):
    """Parameters of `chat-loop`."""

    memory: Literal["prompt", "conversation"] = Field(
        "prompt",
        title="Memory",
        description="What the model is told of before: what was said about the same prompt, or all"
        " that was said in the conversation, also in earlier turns. An answer that was interrupted"
        " is not remembered.",
    )
    max_rounds: int = Field(
        8,
        ge=1,
        le=1_000,
        title="Rounds",
        description="Most answers that call tools about one prompt; then the model is told to"
        " answer without.",
        json_schema_extra={"x-unit": "rounds"},
    )
    max_calls: int = Field(
        16,
        ge=1,
        le=10_000,
        title="Calls",
        description="Most calls of one answer, whose results are kept until all have come.",
        json_schema_extra={"x-unit": "calls"},
    )
    max_characters: int = Field(
        400_000,
        ge=1,
        le=1_000_000_000,
        title="Longest exchange",
        description="Most text that is remembered about one prompt; more fails the conversation."
        " Of a conversation the oldest prompts are forgotten first.",
        json_schema_extra={"x-unit": "characters"},
    )
    max_exchanges: int = Field(
        32,
        ge=1,
        le=100_000,
        title="Exchanges",
        description="How many prompts of a conversation are remembered; the oldest that waits for"
        " nothing is forgotten first.",
        json_schema_extra={"x-unit": "prompts"},
    )


class ChatLoop(Operator[ChatLoopParams]):
    """Ask a model about each prompt, and again about the same prompt with what comes back.

    What descends from one prompt belongs to one exchange: a result at `results` answers a call of
    the last answer, and when all have come the model is asked again, with its own words, its
    calls and the reasoning that its provider wants to see again. A text that comes back to `in`
    over a feedback edge is the next thing said to the model. A new prompt begins anew, unless
    `memory` is the conversation's: then it comes behind all that was said before.

    For tools connect `tools` and `control` to a `tool-assemble`, that to a `tool-call`, and lead
    its results back to `results` by a feedback edge, whose max_returns is as many as one answer
    may call at once and whose hops are as many as there may be rounds. For several conversations
    at once raise the workers and the credit of that edge.

    Emits when: the provider's stream brings a token, a piece of a tool call, a document, a
        safety label or a control message; each leaves by the port of its kind.
    Backpressures when: downstream does; it then stops reading its connection. It asks for as many
        conversations at once as it has workers.
    Completes when: its input has ended, nothing is in the loop, and the last answer has ended.
    Fails when: the provider cannot be reached, refuses, times out or ends too early; the model
        still calls tools after `max_rounds`, or calls that nobody answers; an exchange outgrows
        its limits.
    """

    name = "chat-loop"
    title = "Chat loop"
    category = "text"
    summary = "Asks a model, and again with what comes back: tool results or remarks."
    inputs = (
        Port("in", PROMPT, "prompts, and remarks about the answers to them"),
        Port("results", TOOL_RESULT, "what the tools answered", is_optional=True),
    )
    outputs = (
        Port("out", TOKEN, "the text, with its channel: reasoning, answer or refusal"),
        Port("tools", TOOL_FRAGMENT, "pieces of tool calls as they come"),
        Port("retrieval", RETRIEVAL, "documents and citations the provider sends along"),
        Port("safety", SAFETY, "findings of the provider's content filter"),
        Port("control", CONTROL, "start, usage and finish of each answer"),
    )
    Params: ClassVar = ChatLoopParams
    requires: ClassVar = {"provider": "provider"}
    accepts: ClassVar = {"tools": "tools"}
    # Results and remarks continue what was said before them; conversations have nothing in common.
    state = State.PARTITIONED

    def new_state(self) -> Exchanges:
        """Return no exchanges."""
        return {}

    def kept_events(self) -> int:
        """Return how many results may wait for their siblings."""
        return self.params.max_calls

    async def process(
        self, payload: Message | Chunk | ToolResult, scope: Scope
    ) -> AsyncIterator[Emit]:
        """Yield the next answer, nothing while results are missing."""
        exchange = self._exchange(payload, scope)
        new = exchange.next_messages(payload)
        if not new:
            return
        said = Said()
        rounds = exchange.rounds if isinstance(payload, ToolResult) else 0
        is_last = rounds >= self.params.max_rounds
        messages = [*exchange.messages, *new]
        mark = f"{scope.sequence}_{exchange.answers}"
        # Closed in any case: a cancelled turn must not leave its connection open.
        async with aclosing(self._ask(messages, scope, said, is_last)) as answer:
            async for output in answer:
                for named in _named(said, mark) if _is_finish(output.payload) else ():
                    if not is_last:
                        yield named
                yield output
        if is_last and said.calls:
            raise ValueError(
                f"the model still calls tools after {self.params.max_rounds} rounds; raise"
                " max_rounds, or tell it when to stop"
            )
        # Only now: an attempt that failed has left everything as it was.
        self._remember(exchange, new, said, scope)

    def finish(self, scope: Scope) -> None:
        """Complain of calls that nobody answered."""
        exchanges: Exchanges = scope.state
        for exchange in exchanges.values():
            if exchange.turn == scope.turn and exchange.results:
                raise ValueError(
                    "the turn ended with tool calls that nobody answered; lead the results of a"
                    " tool-call back to the port results by a feedback edge"
                )

    async def _ask(
        self, messages: list[ChatMessage], scope: Scope, said: Said, is_last: bool
    ) -> AsyncGenerator[Emit, None]:
        """Yield one answer; no piece of a call where there shall be none."""
        provider: ChatProvider = scope.resources["provider"]
        request = request_of(self.params, messages, scope, "none" if is_last else "auto")
        marks = AnswerMarks(scope)
        async with aclosing(provider.stream_chat(request)) as stream:
            async for each, at in stream:
                marks.note(each, at, stream.request_sent_at)
                said.add(each)
                if not (is_last and isinstance(each, ToolFragment)):
                    yield Emit(port_of(each), each)

    def _exchange(self, payload: Message | Chunk | ToolResult, scope: Scope) -> Exchange:
        exchanges: Exchanges = scope.state
        exchange = exchanges.get(self._place_of(scope)) or Exchange(turn=scope.turn)
        if exchange.turn != scope.turn:
            exchange.drop_open_calls()
        if isinstance(payload, ToolResult):
            if payload.id not in exchange.results:
                raise ValueError(
                    f"a result of {payload.name} came for a call that was not made here; lead the"
                    " results of this node's own calls back to it"
                )
            exchange.results[payload.id] = payload
        elif exchange.results:
            raise ValueError(
                "a prompt came while tools are still called about the one before; give each prompt"
                " an event of its own, and in a conversation the feedback edge a credit of 1"
            )
        return exchange

    def _remember(
        self, exchange: Exchange, new: list[ChatMessage], said: Said, scope: Scope
    ) -> None:
        calls = [
            # Servers that copy the API read the text that goes back, and refuse what is no JSON.
            call if call.arguments is not None else msgspec.structs.replace(call, arguments_raw="")
            for call in said.calls
        ]
        if len(calls) > self.params.max_calls:
            raise ValueError(
                f"the answer calls {len(calls)} tools at once; raise max_calls, or tell the model"
                " to make fewer at once"
            )
        answer = replace(said.message(), tool_calls=tuple(calls))
        exchange.messages += [*new, answer]
        exchange.turn = scope.turn
        is_too_long = exchange.size > self.params.max_characters
        while is_too_long and self.params.memory == "conversation" and exchange.forget_oldest():
            is_too_long = exchange.size > self.params.max_characters
        if is_too_long:
            raise ValueError(
                f"what was said about one prompt has {exchange.size:,} characters; raise"
                " max_characters, or lower max_rounds"
            )
        exchange.results = {call.id: None for call in calls}
        exchange.answers += 1
        exchange.rounds = bool(calls) + (0 if new[0].role == "user" else exchange.rounds)
        self._keep(exchange, scope)

    def _place_of(self, scope: Scope) -> tuple[int, str, int]:
        """Return where the exchange stands that an event belongs to."""
        if self.params.memory == "conversation":
            return -1, "", 0
        return scope.turn, scope.source, scope.sequence

    def _keep(self, exchange: Exchange, scope: Scope) -> None:
        """Keep the exchange as the newest; forget the oldest that waits for nothing."""
        exchanges: Exchanges = scope.state
        place = self._place_of(scope)
        exchanges.pop(place, None)
        exchanges[place] = exchange
        if len(exchanges) > self.params.max_exchanges:
            over = next((key for key, each in exchanges.items() if not each.results), None)
            if over is None:
                raise ValueError(
                    f"more than {self.params.max_exchanges} prompts wait for tools; raise"
                    " max_exchanges, or lower the credit of the feedback edge"
                )
            del exchanges[over]


def _named(said: Said, mark: str) -> Iterator[Emit]:
    """Yield an id for each call that has none, so that its result can be told apart."""
    for index in said.unnamed_calls():
        named = ToolFragment(index, id=f"call_{mark}_{index}")
        said.add(named)
        yield Emit("tools", named)


def _is_finish(payload: object) -> bool:
    return (
        isinstance(payload, Control)
        and payload.kind == "finish"
        and payload.data.get("choice", 0) == 0
    )
