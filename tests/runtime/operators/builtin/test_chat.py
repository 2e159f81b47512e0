"""Tests of `aiflow.operators.builtin.chat`."""

from __future__ import annotations

import asyncio

import pytest

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.errors import ProviderError
from aiflow.events import Control, Payload, Retrieval, SafetyLabel, Token, ToolFragment
from aiflow.operators.builtin.chat import Chat, ChatParams
from aiflow.operators.scope import Scope
from aiflow.providers.chat import Arrival
from aiflow.providers.messages import ChatMessage, ChatRequest, Reasoning
from aiflow.testing.operators import OperatorRun, run_operator

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
    """Payloads half a second apart; the request leaves after a tenth."""

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
            await asyncio.sleep(0.1)
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

    def stream_chat(self, request: ChatRequest, profile: object = None) -> CannedStream:
        self.requests.append(request)
        self.streams.append(CannedStream(self._payloads, self._error))
        return self.streams[-1]


def ask(provider: CannedProvider, run_input: str | None = None, **params: object) -> OperatorRun:
    """Run a chat source on a canned provider."""
    chat = Chat(ChatParams.model_validate(params))
    return run_operator(chat, resources={"provider": provider}, run_input=run_input)


def test_each_kind_of_payload_leaves_by_its_port() -> None:
    """Text by `out`, and what is no text never mixes with it."""
    run = ask(CannedProvider(*ANSWER))

    assert [port for port, _ in run.outputs] == [
        *("control", "out", "out", "tools", "retrieval", "safety", "control")
    ]
    assert [payload for _, payload in run.outputs] == ANSWER


def test_times_are_those_of_the_adapter() -> None:
    """Marks and times of arrival are the provider's, and a start is no delta."""
    run = ask(CannedProvider(*ANSWER))

    assert run.marks == pytest.approx(
        {"request_asked": 0.0, "request_sent": 0.1, "first_delta": 1.1}
    )
    assert run.arrived[:3] == pytest.approx([0.6, 1.1, 1.6])


def test_the_request_is_made_of_the_params() -> None:
    """Prompt, system prompt, model and sampling reach the provider."""
    provider = CannedProvider()

    ask(provider, prompt="Why?", system="Be brief.", model="m", temperature=0.5, max_tokens=9)

    (request,) = provider.requests
    assert request.messages == (ChatMessage("user", "Why?"),)
    assert (request.model, request.system) == ("m", "Be brief.")
    assert (request.sampling.temperature, request.sampling.max_tokens) == (0.5, 9)


def test_effort_is_asked_for_only_where_it_is_set() -> None:
    """Empty leaves it to the provider."""
    provider = CannedProvider()

    ask(provider)
    ask(provider, effort="low")

    assert [request.reasoning for request in provider.requests] == [None, Reasoning("low")]


def test_the_text_given_to_a_run_takes_the_place_of_the_prompt() -> None:
    """`aiflow run --input` asks what it says."""
    provider = CannedProvider()

    ask(provider, "What now?", prompt="Why?")

    assert provider.requests[0].messages[0].content == "What now?"


def test_a_stream_that_breaks_off_raises_after_what_came() -> None:
    """Nothing that arrived is lost, the error reaches the engine, the stream is closed."""
    provider = CannedProvider(Token("a"), error=ProviderError("broke off", kind="incomplete"))

    with pytest.raises(ProviderError, match="broke off"):
        ask(provider)

    assert provider.streams[0].is_closed


def test_closing_the_source_closes_the_connection() -> None:
    """A cancelled turn closes the iterator in the middle of the answer."""
    provider = CannedProvider(*ANSWER)

    async def read_one_and_close() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        scope = Scope("chat", VirtualClock(loop), {"provider": provider})
        stream = Chat(ChatParams()).stream(scope)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(read_one_and_close())

    assert provider.streams[0].is_closed
