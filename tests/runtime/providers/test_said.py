"""Tests of `aiflow.providers.said`, and of how each dialect sends an answer back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aiflow.events import Control, Payload, Token, ToolFragment
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.messages import ChatMessage, ChatRequest, Thought, ToolChoice, ToolSpec
from aiflow.providers.profile import DEFAULT_PROFILE, profile_for
from aiflow.providers.said import Said

TOOLS = (ToolSpec("look"),)


def said_of(payloads: list[Payload]) -> Said:
    """Return the fold of an answer."""
    said = Said()
    for payload in payloads:
        said.add(payload)
    return said


def read(dialect: str, *events: dict[str, Any]) -> ChatMessage:
    """Return the message that a dialect's events make."""
    decoder = StreamDecoder(find_dialect(dialect).reader(DEFAULT_PROFILE))
    payloads = list(decoder.feed(b"".join(f"data: {json.dumps(e)}\n\n".encode() for e in events)))
    return said_of([*payloads, *decoder.close()]).message()


def body_with(dialect: str, *messages: ChatMessage, model: str = "m", **more: Any) -> Any:
    """Return the request's body."""
    request = ChatRequest(model, messages, tools=TOOLS, **more)
    return json.loads(find_dialect(dialect).encode(request, profile_for(dialect, model)).body)


def result(text: str = "grey", *, is_error: bool = False) -> ChatMessage:
    """Return a tool's answer."""
    return ChatMessage("tool", text, tool_call_id="c1", name="look", is_error=is_error)


def test_text_and_calls_are_kept_of_choice_0_alone() -> None:
    """Calls stand in their order, whatever the order of their pieces."""
    said = said_of(
        [
            Token("Let me "),
            Token("other", choice=1),
            ToolFragment(1, "b", "two", "{}"),
            ToolFragment(0, "", "one", '{"a"'),
            Token("look."),
            ToolFragment(0, "", "", ":1}"),
        ]
    )

    message = said.message()

    assert message.content == "Let me look."
    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [
        ("", "one", {"a": 1}),
        ("b", "two", {}),
    ]
    assert said.unnamed_calls() == [0]
    assert not said.has_finished
    assert said.size == len("Let me look.") + len('onetwo{"a":1}') + len("b{}")


def test_the_finish_of_choice_0_is_noted() -> None:
    """A finish of another choice says nothing of it."""
    said = said_of([Control("finish", {"choice": 1, "reason": "stop"})])
    assert not said.has_finished

    said.add(Control("finish", {"choice": 0, "reason": "stop"}))

    assert said.has_finished


def test_anthropic_gets_each_thought_with_its_own_signature() -> None:
    """Neighbours are not merged, and what is redacted goes back as it came."""
    message = read(
        "anthropic-messages",
        {"type": "message_start", "message": {"id": "m", "model": "c"}},
        *_block(0, "thinking", {"type": "thinking_delta", "thinking": "One."}, "s1"),
        *_block(1, "thinking", {"type": "thinking_delta", "thinking": "Two."}, "s2"),
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "redacted_thinking", "data": "dark"},
        },
        {"type": "content_block_stop", "index": 2},
        {
            "type": "content_block_start",
            "index": 3,
            "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        },
        {"type": "content_block_stop", "index": 3},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )

    body = body_with("anthropic-messages", ChatMessage("user", "?"), message, result(is_error=True))

    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "One.", "signature": "s1"},
        {"type": "thinking", "thinking": "Two.", "signature": "s2"},
        {"type": "redacted_thinking", "data": "dark"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "grey", "is_error": True}
    ]


def _block(place: int, kind: str, delta: dict[str, Any], signature: str) -> list[dict[str, Any]]:
    signed = {"type": "signature_delta", "signature": signature}
    return [
        {"type": "content_block_start", "index": place, "content_block": {"type": kind}},
        {"type": "content_block_delta", "index": place, "delta": delta},
        {"type": "content_block_delta", "index": place, "delta": signed},
        {"type": "content_block_stop", "index": place},
    ]


def test_gemini_gets_each_signature_on_the_part_that_carried_it() -> None:
    """On the text, and on the one of two calls that had it."""
    parts = [
        {"text": "Let me", "thought": True},
        {"text": "See.", "thoughtSignature": "on-text"},
        {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}},
        {"functionCall": {"id": "c2", "name": "look"}, "thoughtSignature": "on-second"},
    ]
    message = read(
        "gemini", {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    )

    body = body_with("gemini", ChatMessage("user", "?"), message, result(is_error=True))

    assert body["contents"][1]["parts"] == [
        {"text": "See.", "thoughtSignature": "on-text"},
        {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}},
        {
            "functionCall": {"id": "c2", "name": "look", "args": {}},
            "thoughtSignature": "on-second",
        },
    ]
    response = body["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert response == {"error": "grey"}


def test_responses_gets_its_sealed_reasoning_before_the_call() -> None:
    """With the summary that could be read, under its own id."""
    message = read(
        "openai-responses",
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {
            "type": "response.reasoning_summary_text.delta",
            "output_index": 0,
            "summary_index": 0,
            "delta": "Look first.",
        },
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "reasoning", "id": "rs1", "encrypted_content": "sealed"},
        },
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        },
        {"type": "response.completed", "response": {"status": "completed"}},
    )

    body = body_with("openai-responses", ChatMessage("user", "?"), message, result())

    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["input"][1] == {
        "type": "reasoning",
        "id": "rs1",
        "summary": [{"type": "summary_text", "text": "Look first."}],
        "encrypted_content": "sealed",
    }
    assert [item.get("type") for item in body["input"]] == [
        *(None, "reasoning", "function_call", "function_call_output")
    ]


def test_a_gateways_own_list_of_reasoning_goes_back_as_it_came() -> None:
    """Where something of it is sealed; else there is nothing that it would miss."""
    text = {"type": "reasoning.text", "text": "Hm.", "index": 0}
    sealed = {"type": "reasoning.text", "signature": "s1", "index": 0}
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}

    def chunk(**delta: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    calling = chunk(tool_calls=[call])
    open_ = read("openai-chat", chunk(reasoning_details=[text]), calling)
    closed = read(
        "openai-chat", chunk(reasoning_details=[text]), chunk(reasoning_details=[sealed]), calling
    )

    assert "reasoning_details" not in body_with("openai-chat", open_, result())["messages"][0]
    said = body_with("openai-chat", closed, result())["messages"][0]
    assert said["reasoning_details"] == [text, sealed]
    assert "reasoning_content" not in said


@pytest.mark.parametrize(
    ("model", "expected"), [("deepseek-reasoner", "Hm."), ("gpt-4.1", None), ("m", None)]
)
def test_reasoning_goes_back_as_text_only_where_the_model_wants_it(
    model: str, expected: str | None
) -> None:
    """Others refuse the field, or have no use for it."""
    call = read_call()

    body = body_with("openai-chat", call, result(), model=model)

    assert body["messages"][0].get("reasoning_content") == expected


def read_call() -> ChatMessage:
    """Return a message that thought and called."""
    fragment = ToolFragment(0, "c1", "look", "{}")
    return said_of([Token("Hm.", "reasoning"), fragment]).message()


def test_ollama_gets_its_thinking_back_with_the_call() -> None:
    """As the field in which it came."""
    body = body_with("ollama", read_call(), result())

    assert body["messages"][0]["thinking"] == "Hm."


@pytest.mark.parametrize("dialect", ["anthropic-messages", "gemini"])
def test_an_answer_without_a_word_is_left_out(dialect: str) -> None:
    """These refuse a turn with nothing in it."""
    empty = ChatMessage("assistant", "", thoughts=(Thought("unsigned"),))
    body = body_with(dialect, ChatMessage("user", "a"), empty, ChatMessage("user", "b"))

    turns = body.get("messages") or body["contents"]
    assert len(turns) == 1


@pytest.mark.parametrize(
    ("dialect", "choice", "expected"),
    [
        ("openai-chat", "none", {"tool_choice": "none"}),
        ("openai-responses", "required", {"tool_choice": "required"}),
        ("anthropic-messages", "none", {"tool_choice": {"type": "none"}}),
        ("anthropic-messages", "required", {"tool_choice": {"type": "any"}}),
        ("gemini", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
        ("gemini", "required", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        ("ollama", "none", {"tools": None}),
        ("openai-chat", "auto", {"tool_choice": None}),
        ("gemini", "auto", {"toolConfig": None}),
    ],
)
def test_whether_tools_may_be_called_is_told_as_each_takes_it(
    dialect: str, choice: ToolChoice, expected: dict[str, Any]
) -> None:
    """The tools stay in the request, because the messages speak of them; Ollama has no word."""
    body = body_with(dialect, ChatMessage("user", "?"), tool_choice=choice)

    assert {name: body.get(name) for name in expected} == expected
