"""Tests of `chat-loop`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.events import Control, Message, Payload, Token, ToolFragment, ToolResult
from aiflow.operators.base import Emit
from aiflow.operators.builtin.chat import Chat, ChatParams
from aiflow.operators.builtin.chat_loop import ChatLoop, ChatLoopParams
from aiflow.operators.builtin.chat_reply import ChatReply, ChatReplyParams
from aiflow.operators.scope import Scope
from aiflow.providers.chat import Arrival
from aiflow.providers.messages import ChatRequest, Thought
from aiflow.testing.operators import run_operator
from aiflow.tools.resource import Tools, ToolsParams

Answer = list[Payload | Exception]


class ScriptedStream:
    """One answer, which may break."""

    request_sent_at = 0.0
    undecoded_bytes = 0

    def __init__(self, answer: Answer) -> None:
        self._answer = iter(answer)
        self.is_closed = False

    def __aiter__(self) -> ScriptedStream:
        return self

    async def __anext__(self) -> Arrival:
        for each in self._answer:
            if isinstance(each, Exception):
                raise each
            return Arrival(each, 0.0)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.is_closed = True


class ScriptedProvider:
    """Gives one answer after the other and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[ChatRequest] = []
        self.streams: list[ScriptedStream] = []

    def stream_chat(self, request: ChatRequest, profile: object = None) -> ScriptedStream:
        self.requests.append(request)
        self.streams.append(ScriptedStream(self._answers.pop(0)))
        return self.streams[-1]


def answer(*payloads: Payload, reason: str = "stop") -> Answer:
    """Return an answer with its beginning and its end."""
    return [Control("start"), *payloads, Control("finish", {"choice": 0, "reason": reason})]


def calling(*ids: str) -> Answer:
    """Return an answer that calls `look` once for each id; "" is a call without one."""
    calls = [ToolFragment(index, id, "look", "{}") for index, id in enumerate(ids)]
    return answer(Token("Let me look."), *calls, reason="tool_calls")


class Loop:
    """A chat loop with a state of its own, fed step by step."""

    def __init__(self, *answers: Answer, **params: Any) -> None:
        self.provider = ScriptedProvider(*answers)
        self.operator = ChatLoop(ChatLoopParams(**params))
        tools = Tools("tools", ToolsParams(functions=("calculator",)))
        asyncio.run(tools.start(SystemClock()))
        self.scope = Scope(
            "loop", SystemClock(), {"provider": self.provider, "tools": tools}, frozenset({"tools"})
        )
        self.scope.state = self.operator.new_state()

    def feed(self, payload: Any, sequence: int = 0) -> list[Emit]:
        """Return what one payload brings forth."""
        self.scope.sequence = sequence

        async def scenario() -> list[Emit]:
            async with aclosing(self.operator.process(payload, self.scope)) as outputs:  # type: ignore[type-var]
                return [each async for each in outputs]

        return asyncio.run(scenario())

    def last_messages(self) -> list[tuple[str, str]]:
        """Return role and content of the last request's messages."""
        return [(each.role, each.content) for each in self.provider.requests[-1].messages]


def result(id: str, content: str = "grey", *, is_error: bool = False) -> ToolResult:
    """Return a tool's answer."""
    return ToolResult(id, "look", content, is_error)


def payloads(outputs: list[Emit], port: str) -> list[Any]:
    """Return what left by one port."""
    return [each.payload for each in outputs if each.port == port]


def test_a_result_goes_back_with_the_call_that_it_answers() -> None:
    """The model sees its own words, its call and the result, and may call again."""
    loop = Loop(calling("c1"), answer(Token("Grey.")))

    first = loop.feed(Message("Sky?", "user"))
    second = loop.feed(result("c1", is_error=True))

    assert [piece.id for piece in payloads(first, "tools")] == ["c1"]
    assert payloads(second, "out") == [Token("Grey.")]
    user, assistant, tool = loop.provider.requests[1].messages
    assert (user.role, user.content) == ("user", "Sky?")
    assert (assistant.role, assistant.content) == ("assistant", "Let me look.")
    assert [(call.id, call.name) for call in assistant.tool_calls] == [("c1", "look")]
    assert (tool.role, tool.content, tool.tool_call_id) == ("tool", "grey", "c1")
    assert (tool.name, tool.is_error) == ("look", True)
    assert [spec.name for spec in loop.provider.requests[0].tools] == ["calculator"]
    assert all(stream.is_closed for stream in loop.provider.streams)


def test_the_model_is_asked_again_when_all_results_have_come() -> None:
    """In the order of the calls, whatever the order of the results."""
    loop = Loop(calling("a", "b"), answer(Token("Done.")))
    loop.feed(Message("Sky?", "user"))

    assert loop.feed(result("b", "second")) == []
    loop.feed(result("a", "first"))

    assert loop.last_messages()[2:] == [("tool", "first"), ("tool", "second")]


def test_a_remark_is_the_next_thing_said_about_the_same_prompt() -> None:
    """It comes back with the prompt's sequence; another prompt begins anew."""
    loop = Loop(answer(Token("Draft.")), answer(Token("Better.")), answer(Token("Other.")))

    loop.feed(Message("Write.", "user"))
    loop.feed(Message("Shorter."))
    continued = loop.last_messages()
    loop.feed(Message("New.", "user"), sequence=1)

    assert continued == [("user", "Write."), ("assistant", "Draft."), ("user", "Shorter.")]
    assert loop.last_messages() == [("user", "New.")]


def test_a_prompt_of_another_source_is_another_prompt() -> None:
    """Though it has the same number there."""
    loop = Loop(answer(Token("One.")), answer(Token("Two.")))

    loop.feed(Message("First.", "user"))
    loop.scope.source = "other"
    loop.feed(Message("Second.", "user"))

    assert loop.last_messages() == [("user", "Second.")]


def test_a_conversation_is_remembered_over_its_turns() -> None:
    """Where it is asked for; a prompt of another source belongs to it too."""
    loop = Loop(
        answer(Token("Hello Ann.")), answer(Token("Ann.")), answer(Token("Yes.")),
        memory="conversation",
    )  # fmt: skip

    loop.feed(Message("I am Ann.", "user"))
    loop.scope.turn = 1
    loop.feed(Message("Who am I?", "user"))
    loop.scope.source = "other"
    loop.feed(Message("Sure?", "user"), sequence=5)

    assert loop.last_messages() == [
        *(("user", "I am Ann."), ("assistant", "Hello Ann.")),
        *(("user", "Who am I?"), ("assistant", "Ann."), ("user", "Sure?")),
    ]


def test_a_turn_that_was_cancelled_leaves_no_call_without_its_result() -> None:
    """A provider refuses messages with one."""
    loop = Loop(calling("c1"), answer(Token("Yes?")), memory="conversation")
    loop.feed(Message("Sky?", "user"))

    loop.scope.turn = 1
    loop.feed(Message("Stop.", "user"))
    loop.operator.finish(loop.scope)

    assert loop.last_messages() == [("user", "Sky?"), ("user", "Stop.")]


def test_of_a_long_conversation_the_oldest_is_forgotten() -> None:
    """With all that was said about it; the last prompt never is."""
    loop = Loop(
        *(answer(Token("x" * 10)) for _ in range(3)), answer(Token("y")),
        memory="conversation", max_characters=25,
    )  # fmt: skip
    for text in ("one", "two", "three", "four"):
        loop.feed(Message(text, "user"))

    assert loop.last_messages() == [
        *(("user", "three"), ("assistant", "x" * 10), ("user", "four")),
    ]


def test_each_prompt_of_a_conversation_has_its_own_rounds() -> None:
    """The first one's do not count for the second."""
    loop = Loop(
        calling("a"), answer(Token("One.")), calling("b"), answer(Token("Two.")),
        memory="conversation", max_rounds=1,
    )  # fmt: skip

    for prompt, id in (("1", "a"), ("2", "b")):
        loop.feed(Message(prompt, "user"))
        loop.feed(result(id))

    choices = [request.tool_choice for request in loop.provider.requests]
    assert choices == ["auto", "none", "auto", "none"]


def test_sealed_reasoning_goes_back_with_the_call() -> None:
    """As its provider gave it."""
    seal = Control("notice", {"what": "signature", "data": "s1"})
    thinking = [Token("Hm.", "reasoning"), seal]
    loop = Loop([*thinking, *calling("c1")], answer())

    loop.feed(Message("Sky?", "user"))
    loop.feed(result("c1"))

    assert loop.provider.requests[1].messages[1].thoughts == (Thought("Hm.", "s1"),)


def test_a_call_without_id_leaves_with_one() -> None:
    """Before the finish, so that whoever assembles it has it, and the same as goes back."""
    loop = Loop(calling("", ""), answer())

    first = loop.feed(Message("Sky?", "user"))
    ids = ["call_0_0_0", "call_0_0_1"]
    for id in ids:
        loop.feed(result(id))

    ports = [each.port for each in first]
    assert [piece.id for piece in payloads(first, "tools")] == ["", "", *ids]
    assert ports.index("tools") < len(ports) - 1 - ports[::-1].index("control")
    assert ports[-1] == "control"
    assert [call.id for call in loop.provider.requests[1].messages[1].tool_calls] == ids


def test_after_its_rounds_the_model_is_told_to_answer_without_tools() -> None:
    """The tools stay in the request, because the messages speak of them."""
    loop = Loop(calling("a"), calling("b"), answer(Token("Enough.")), max_rounds=2)
    loop.feed(Message("Sky?", "user"))

    loop.feed(result("a"))
    last = loop.feed(result("b"))

    assert [request.tool_choice for request in loop.provider.requests] == ["auto", "auto", "none"]
    assert payloads(last, "out") == [Token("Enough.")]


def test_a_model_that_calls_all_the_same_ends_the_conversation() -> None:
    """None of those calls leaves."""
    loop = Loop(calling("a"), calling("b"), max_rounds=1)
    left: list[Emit] = []

    async def scenario() -> None:
        async with aclosing(loop.operator.process(result("a"), loop.scope)) as outputs:  # type: ignore[type-var]
            async for each in outputs:
                left.append(each)  # noqa: PERF401 - kept also where the next step raises

    loop.feed(Message("Sky?", "user"))
    with pytest.raises(ValueError, match="still calls tools after 1 rounds; raise max_rounds"):
        asyncio.run(scenario())
    assert payloads(left, "tools") == []


def test_arguments_that_are_no_json_do_not_go_back() -> None:
    """Servers that copy the API read them, and refuse the whole request."""
    broken = answer(ToolFragment(0, "c1", "look", '{"at": '))
    loop = Loop(broken, answer())

    loop.feed(Message("Sky?", "user"))
    loop.feed(result("c1", "Error: no JSON", is_error=True))

    (call,) = loop.provider.requests[1].messages[1].tool_calls
    assert (call.arguments, call.arguments_raw) == (None, "")


def test_an_attempt_that_failed_leaves_everything_as_it_was() -> None:
    """A node may try again: nothing is said twice."""
    lost = ProviderError("gone", retryable=True)
    loop = Loop(calling("c1"), [lost], answer(Token("Grey.")))
    loop.feed(Message("Sky?", "user"))

    with pytest.raises(ProviderError):
        loop.feed(result("c1"))
    loop.feed(result("c1"))

    assert [role for role, _ in loop.last_messages()] == ["user", "assistant", "tool"]


def test_a_result_of_a_strangers_call_is_refused() -> None:
    """It would answer something that was never asked."""
    loop = Loop(calling("c1"))
    loop.feed(Message("Sky?", "user"))

    with pytest.raises(ValueError, match="a call that was not made here"):
        loop.feed(result("other"))
    with pytest.raises(ValueError, match="a call that was not made here"):
        loop.feed(result("c1"), sequence=1)


def test_a_prompt_between_call_and_result_is_refused() -> None:
    """A provider takes nothing between them."""
    loop = Loop(calling("c1"))
    loop.feed(Message("Sky?", "user"))

    with pytest.raises(ValueError, match="give each prompt an event of its own"):
        loop.feed(Message("And the sea?", "user"))


def test_calls_that_nobody_answers_are_told_at_the_end() -> None:
    """The model waits for them, and the answer would never come."""
    loop = Loop(calling("c1"))
    loop.feed(Message("Sky?", "user"))

    with pytest.raises(ValueError, match="back to the port results by a feedback edge"):
        loop.operator.finish(loop.scope)


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ({"max_characters": 5}, "has 16 characters; raise max_characters"),
        ({"max_calls": 1}, "calls 2 tools at once; raise max_calls"),
    ],
)
def test_what_is_remembered_is_bounded(limit: dict[str, int], says: str) -> None:
    """Beyond the limit the conversation fails, with what to do."""
    answers = calling("a", "b") if "max_calls" in limit else answer(Token("A long answer"))
    loop = Loop(answers, **limit)

    with pytest.raises(ValueError, match=says):
        loop.feed(Message("Sky", "user"))


def test_the_oldest_exchange_that_waits_for_nothing_is_forgotten() -> None:
    """One that waits for results never is."""
    loop = Loop(calling("c1"), answer(), answer(), answer(), max_exchanges=2)
    for sequence in range(3):
        loop.feed(Message(f"{sequence}", "user"), sequence)

    loop.feed(result("c1"))

    assert loop.last_messages()[0] == ("user", "0")
    assert list(loop.scope.state) == [(0, "", 2), (0, "", 0)]


def test_more_waiting_exchanges_than_allowed_fail() -> None:
    """None of them can be forgotten."""
    loop = Loop(calling("a"), calling("b"), max_exchanges=1)
    loop.feed(Message("0", "user"))

    with pytest.raises(ValueError, match="more than 1 prompts wait for tools"):
        loop.feed(Message("1", "user"), 1)


@pytest.mark.parametrize(
    "operator",
    [Chat(ChatParams()), ChatReply(ChatReplyParams()), ChatLoop(ChatLoopParams())],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("has_tools", [True, False])
def test_whoever_asks_a_model_shows_it_the_tools_it_was_handed(
    operator: Any, has_tools: bool
) -> None:
    """And can do without."""
    provider = ScriptedProvider(answer(Token("hi")))
    tools = Tools("tools", ToolsParams(functions=("calculator", "clock")))
    asyncio.run(tools.start(SystemClock()))
    resources: dict[str, object] = {"provider": provider}

    run_operator(
        operator,
        [Message("hello", "user")],
        resources=resources | ({"tools": tools} if has_tools else {}),
    )

    (request,) = provider.requests
    assert [spec.name for spec in request.tools] == (["calculator", "clock"] if has_tools else [])
