"""Tests of `aiflow.operators.builtin.chat_reply`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.engine.session import Session
from aiflow.errors import ProviderError
from aiflow.events import Control, Message, Payload, Retrieval, SafetyLabel, Token, ToolFragment
from aiflow.operators.builtin.chat_reply import ChatReply, ChatReplyParams
from aiflow.operators.scope import Scope
from aiflow.providers.chat import Arrival
from aiflow.providers.messages import ChatMessage, ChatRequest, Reasoning
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

ANSWER = [
    Control("start"),
    Token("hm", "reasoning"),
    Token("yes"),
    ToolFragment(0, name="look"),
    Retrieval(title="a page"),
    SafetyLabel("prompt", "violence"),
    Control("finish", {"reason": "stop"}),
]


class CannedStream:
    """Payloads half a second apart."""

    def __init__(self, payloads: list[Payload], error: Exception | None) -> None:
        self._payloads = iter(payloads)
        self._error = error
        self.request_sent_at: float | None = None
        self.undecoded_bytes = 0
        self.is_closed = False

    def __aiter__(self) -> CannedStream:
        return self

    async def __anext__(self) -> Arrival:
        loop = asyncio.get_running_loop()
        if self.request_sent_at is None:
            self.request_sent_at = loop.time()
        await asyncio.sleep(0.5)
        for payload in self._payloads:
            return Arrival(payload, loop.time())
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.is_closed = True


class CannedProvider:
    """Answers every request with the same payloads and keeps the requests."""

    def __init__(self, *payloads: Payload, error: Exception | None = None) -> None:
        self._payloads = list(payloads)
        self._error = error
        self.requests: list[ChatRequest] = []
        self.streams: list[CannedStream] = []

    async def start(self, clock: object) -> None:
        """Be ready at once."""

    async def stop(self) -> None:
        """Have nothing to close."""

    def stream_chat(self, request: ChatRequest, profile: object = None) -> CannedStream:
        self.requests.append(request)
        self.streams.append(CannedStream(self._payloads, self._error))
        return self.streams[-1]


def reply(provider: CannedProvider, *prompts: str, **params: object) -> OperatorRun:
    """Run a reply on prompts."""
    operator = ChatReply(ChatReplyParams.model_validate(params))
    return run_operator(operator, map(Message, prompts), resources={"provider": provider})


def test_each_prompt_is_answered_and_each_payload_leaves_by_its_port() -> None:
    """Text by `out`; what is no text never mixes with it."""
    run = reply(CannedProvider(*ANSWER), "Why?", "How?")

    ports = ["control", "out", "out", "tools", "retrieval", "safety", "control"]
    assert [port for port, _ in run.outputs] == ports * 2
    assert [payload for _, payload in run.outputs] == ANSWER * 2


def test_the_answer_streams() -> None:
    """The first payload leaves when it has come, not when the last has."""
    run = reply(CannedProvider(*ANSWER), "Why?")

    assert run.times == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5])
    assert run.marks == pytest.approx({"request_sent": 0.0, "first_delta": 1.0})


def test_the_request_is_made_of_the_prompt_and_the_params() -> None:
    """System prompt, model and sampling reach the provider."""
    provider = CannedProvider()

    reply(provider, "Why?", system="Be brief.", model="m", temperature=0.5, max_tokens=9)

    (request,) = provider.requests
    assert request.messages == (ChatMessage("user", "Why?"),)
    assert (request.model, request.system) == ("m", "Be brief.")
    assert (request.sampling.temperature, request.sampling.max_tokens) == (0.5, 9)


def test_effort_is_asked_for_only_where_it_is_set() -> None:
    """Empty leaves it to the provider, as with `chat`."""
    provider = CannedProvider()

    reply(provider, "Why?")
    reply(provider, "Why?", effort="low")

    assert [request.reasoning for request in provider.requests] == [None, Reasoning("low")]


def test_a_stream_that_breaks_off_raises_after_what_came() -> None:
    """The error reaches the engine, the stream is closed."""
    provider = CannedProvider(Token("a"), error=ProviderError("broke off", kind="incomplete"))

    with pytest.raises(ProviderError, match="broke off"):
        reply(provider, "Why?")

    assert provider.streams[0].is_closed


def test_closing_the_answer_closes_the_connection() -> None:
    """A cancelled turn closes the iterator in the middle of the answer."""
    provider = CannedProvider(*ANSWER)

    async def read_one_and_close() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        scope = Scope("reply", VirtualClock(loop), {"provider": provider})
        stream: Any = ChatReply(ChatReplyParams()).process(Message("Why?"), scope)
        await anext(stream)
        await stream.aclose()

    run_virtual(read_one_and_close())
    assert provider.streams[0].is_closed


def test_in_a_graph_the_models_first_delta_is_measured_and_a_cancel_closes_it() -> None:
    """As for the source: request sent to first delta; and barge-in leaves no connection."""
    provider = CannedProvider(*ANSWER)
    seen: list[Any] = []
    plan = (
        PlanBuilder(max_conversations=1)
        .source("ask", [Message("Why?")])
        .operator("reply", ChatReply(ChatReplyParams()))
        .sink("sink", seen.append)
        .chain("ask", "reply", "sink")
        .resource("provider", lambda: provider)
        .build()
    )
    session = Session(plan)

    async def run_and_cancel() -> None:
        run = asyncio.ensure_future(session.run())
        await asyncio.sleep(1.2)
        session.cancel("c1")
        await run

    run_virtual(run_and_cancel())
    assert seen == [Token("hm", "reasoning")]
    assert session.snapshot().model_ttft_ms == pytest.approx(1000)
    assert provider.streams[0].is_closed
