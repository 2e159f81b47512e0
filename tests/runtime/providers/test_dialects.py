"""Tests of what the dialects send, and of `dialect`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from aiflow.errors import PluginError
from aiflow.events import ToolCall
from aiflow.providers.dialect import dialect_names, find_dialect
from aiflow.providers.messages import ChatMessage, ChatRequest, Reasoning, Sampling, ToolSpec
from aiflow.providers.profile import DEFAULT_PROFILE, ModelProfile, profile_for

FULL = ChatRequest(
    "m1",
    (
        ChatMessage("user", "weather?"),
        ChatMessage("assistant", "", tool_calls=(ToolCall("c1", "look", {"at": "sea"}),)),
        ChatMessage("tool", "grey", tool_call_id="c1", name="look"),
    ),
    system="Be brief.",
    tools=(ToolSpec("look", "Looks out.", {"type": "object", "properties": {}}),),
    sampling=Sampling(temperature=0.0, top_p=0.5, max_tokens=7, stop=("\n",), seed=1),
    extra={"user": "u1"},
)


BUILT_IN = ("anthropic-messages", "gemini", "ollama", "openai-chat", "openai-responses")


def body_of(dialect: str, request: ChatRequest, **profile: Any) -> dict[str, Any]:
    """Return the body that a dialect sends for a request."""
    body: dict[str, Any] = json.loads(
        find_dialect(dialect).encode(request, ModelProfile(**profile)).body
    )
    return body


def test_a_full_request_in_openai_words() -> None:
    """Messages, system, tools and sampling stand where the API wants them."""
    function = {"name": "look", "arguments": '{"at": "sea"}'}
    assert body_of("openai-chat", FULL) == {
        "model": "m1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "content": "grey", "tool_call_id": "c1"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [FULL.tools[0].as_function()],
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 7,
        "stop": ["\n"],
        "seed": 1,
        "user": "u1",
    }


def test_a_full_request_in_ollama_words() -> None:
    """Sampling stands in `options`, arguments are objects, a tool's answer has its name."""
    assert body_of("ollama", FULL) == {
        "model": "m1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "look", "arguments": {"at": "sea"}}}],
            },
            {"role": "tool", "content": "grey", "tool_name": "look"},
        ],
        "stream": True,
        "tools": [FULL.tools[0].as_function()],
        "options": {"temperature": 0.0, "top_p": 0.5, "num_predict": 7, "stop": ["\n"], "seed": 1},
        "user": "u1",
    }


def test_a_full_request_in_responses_words() -> None:
    """Calls and their answers are items of their own; it has neither stop texts nor a seed."""
    function = {"name": "look", "description": "Looks out.", "parameters": FULL.tools[0].parameters}
    assert body_of("openai-responses", FULL) == {
        "model": "m1",
        "input": [
            {"role": "user", "content": "weather?"},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "look",
                "arguments": '{"at": "sea"}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "grey"},
        ],
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "tools": [{"type": "function", **function, "strict": False}],
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.0,
        "top_p": 0.5,
        "max_output_tokens": 7,
        "user": "u1",
    }


def test_a_full_request_in_anthropic_words() -> None:
    """Turns of blocks, instructions apart, a version in a header; it has no seed."""
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sea"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "grey"}
    assert body_of("anthropic-messages", FULL) == {
        "model": "m1",
        "max_tokens": 7,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
        "stream": True,
        "system": "Be brief.",
        "tools": [
            {
                "name": "look",
                "description": "Looks out.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["\n"],
        "user": "u1",
    }
    call = find_dialect("anthropic-messages").encode(FULL, DEFAULT_PROFILE)
    assert call.headers["anthropic-version"] == "2023-06-01"


def test_a_full_request_in_gemini_words() -> None:
    """Turns of parts; the model stands in the address, sampling in an object of its own."""
    call = {"functionCall": {"id": "c1", "name": "look", "args": {"at": "sea"}}}
    reply = {"functionResponse": {"id": "c1", "name": "look", "response": {"result": "grey"}}}
    schema = {"type": "object", "properties": {}}
    assert body_of("gemini", FULL) == {
        "contents": [
            {"role": "user", "parts": [{"text": "weather?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [reply]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "look",
                        "description": "Looks out.",
                        "parametersJsonSchema": schema,
                    }
                ]
            }
        ],
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.5,
            "maxOutputTokens": 7,
            "stopSequences": ["\n"],
            "seed": 1,
        },
        "user": "u1",
    }


@pytest.mark.parametrize("dialect", ["anthropic-messages", "gemini"])
def test_what_one_side_says_in_a_row_is_one_turn(dialect: str) -> None:
    """Answers to calls of one turn stand in one turn too; instructions are no turn."""
    call = ToolCall("a", "f", {})
    request = ChatRequest(
        "m",
        (
            ChatMessage("system", "One."),
            ChatMessage("user", "go"),
            ChatMessage("assistant", "well", tool_calls=(call, call)),
            ChatMessage("tool", "1", tool_call_id="a", name="f"),
            ChatMessage("tool", "2", tool_call_id="a", name="f"),
            ChatMessage("system", "Two."),
            ChatMessage("user", "so?"),
        ),
        system="Zero.",
    )

    body = body_of(dialect, request)

    turns = body.get("messages") or body.get("contents") or []
    sides = [turn["role"] for turn in turns]
    assert sides == ["user", "assistant" if dialect == "anthropic-messages" else "model", "user"]
    assert [len(turn.get("content") or turn.get("parts")) for turn in turns] == [1, 3, 3]
    assert "Zero.\\n\\nOne.\\n\\nTwo." in json.dumps(body)


HIGH = Reasoning("high")


@pytest.mark.parametrize(
    ("dialect", "model", "reasoning", "expected"),
    [
        ("openai-chat", "m", HIGH, {"reasoning_effort": "high"}),
        ("openai-chat", "gpt-5-chat-latest", HIGH, {"reasoning_effort": None}),
        ("openai-responses", "gpt-5", HIGH, {"reasoning": {"effort": "high", "summary": "auto"}}),
        ("openai-responses", "gpt-4.1", HIGH, {"reasoning": None}),
        (
            "anthropic-messages",
            "claude-opus-4-6",
            Reasoning("minimal"),
            {"output_config": {"effort": "low"}, "temperature": None, "max_tokens": 7},
        ),
        (
            "anthropic-messages",
            "claude-sonnet-4-5-20250929",
            Reasoning(budget_tokens=2000),
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 2007},
        ),
        (
            "anthropic-messages",
            "claude-3-7-sonnet-latest",
            Reasoning(budget_tokens=5),
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1031},
        ),
        ("anthropic-messages", "claude-3-haiku-20240307", HIGH, {"thinking": None}),
        ("anthropic-messages", "claude-opus-4-6", Reasoning("none"), {"thinking": None}),
        ("ollama", "qwen3", HIGH, {"think": True}),
        ("ollama", "qwen3", Reasoning("none"), {"think": False}),
        ("ollama", "gpt-oss:20b", Reasoning("minimal"), {"think": "low"}),
    ],
)
def test_reasoning_is_asked_for_as_the_model_takes_it(
    dialect: str, model: str, reasoning: Reasoning, expected: dict[str, Any]
) -> None:
    """By a level, by tokens, by a switch, or not at all; None is a field that is not sent."""
    request = replace(FULL, model=model, reasoning=reasoning)

    call = find_dialect(dialect).encode(request, profile_for(dialect, model))

    body = json.loads(call.body)
    assert {name: body.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("model", "reasoning", "config"),
    [
        ("gemini-2.5-pro", HIGH, {"includeThoughts": True, "thinkingBudget": 24_576}),
        (
            "models/gemini-2.5-flash",
            Reasoning("none"),
            {"includeThoughts": False, "thinkingBudget": 0},
        ),
        (
            "gemini-3-pro-preview",
            Reasoning("low"),
            {"includeThoughts": True, "thinkingLevel": "low"},
        ),
        (
            "gemini-3-flash",
            Reasoning("none"),
            {"includeThoughts": False, "thinkingLevel": "minimal"},
        ),
        ("gemini-1.5-flash", HIGH, None),
    ],
)
def test_gemini_is_told_tokens_or_a_level(
    model: str, reasoning: Reasoning, config: dict[str, Any] | None
) -> None:
    """Never both, which it refuses."""
    request = ChatRequest(model, (ChatMessage("user", "hi"),), reasoning=reasoning)

    call = find_dialect("gemini").encode(request, profile_for("gemini", model))

    assert json.loads(call.body).get("generationConfig", {}).get("thinkingConfig") == config


@pytest.mark.parametrize(
    ("reasoning", "level", "tokens"),
    [
        (Reasoning("low"), "low", 2048),
        (Reasoning(budget_tokens=0), "none", 0),
        (Reasoning(budget_tokens=2049), "medium", 2049),
        (Reasoning(budget_tokens=99_999), "high", 99_999),
    ],
)
def test_effort_is_told_in_words_and_in_tokens(
    reasoning: Reasoning, level: str, tokens: int
) -> None:
    """Whichever was given; the level is the least whose tokens are enough."""
    assert (reasoning.level, reasoning.tokens) == (level, tokens)


def test_a_model_that_thinks_takes_no_temperature_at_openai() -> None:
    """The longest answer and the instructions have other names there too."""
    request = replace(FULL, model="o3-mini")
    body = json.loads(
        find_dialect("openai-chat").encode(request, profile_for("openai-chat", "o3-mini")).body
    )

    assert not {"temperature", "top_p", "max_tokens"} & set(body)
    assert (body["messages"][0]["role"], body["max_completion_tokens"]) == ("developer", 7)


def test_a_model_that_nobody_knows_has_the_default_profile() -> None:
    """A name that only looks like a known one is another server's."""
    assert profile_for("openai-chat", "vendor/gpt-5") == DEFAULT_PROFILE
    assert profile_for("anthropic-messages", "claude-opus-5") == DEFAULT_PROFILE


@pytest.mark.parametrize("dialect", ["openai-chat", "ollama"])
def test_what_was_not_given_is_left_out(dialect: str) -> None:
    """A plain question sends no sampling, no tools and no system message."""
    body = body_of(dialect, ChatRequest("m", (ChatMessage("user", "hi"),)))

    assert set(body) <= {"model", "messages", "stream", "stream_options"}
    assert body["messages"] == [{"role": "user", "content": "hi"}]


def test_a_profile_changes_the_words() -> None:
    """What a model cannot take is left out, by data and not by its name."""
    body = body_of(
        "openai-chat",
        FULL,
        sends_usage_on_request=False,
        system_role="developer",
        max_tokens_field="max_completion_tokens",
    )

    assert "stream_options" not in body
    assert body["messages"][0]["role"] == "developer"
    assert body["max_completion_tokens"] == 7
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("dialect", "endpoint", "url"),
    [
        ("openai-chat", "http://h:1", "http://h:1/v1/chat/completions"),
        ("openai-chat", "http://h:1/", "http://h:1/v1/chat/completions"),
        ("openai-chat", "https://h/api/v1/", "https://h/api/v1/chat/completions"),
        ("openai-chat", "https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("openai-chat", "https://h/d?v=2", "https://h/d/chat/completions?v=2"),
        ("openai-responses", "http://h:1", "http://h:1/v1/responses"),
        ("openai-responses", "https://h/api/v1/", "https://h/api/v1/responses"),
        ("openai-responses", "https://h/v1/responses", "https://h/v1/responses"),
        ("anthropic-messages", "http://h:1", "http://h:1/v1/messages"),
        ("anthropic-messages", "http://h:1/v1/", "http://h:1/v1/messages"),
        ("anthropic-messages", "https://h/a/v1/messages", "https://h/a/v1/messages"),
        ("gemini", "http://h:1", "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", "https://h/v1/", "https://h/v1/models/m:streamGenerateContent?alt=sse"),
        ("gemini", "https://h/v1/models", "https://h/v1/models/m:streamGenerateContent?alt=sse"),
        (
            "gemini",
            "https://h/v1/models/x:streamGenerateContent?q=1",
            "https://h/v1/models/x:streamGenerateContent?q=1&alt=sse",
        ),
        ("ollama", "http://h:1", "http://h:1/api/chat"),
        ("ollama", "http://h:1/api", "http://h:1/api/chat"),
        ("ollama", "http://h:1/api/chat", "http://h:1/api/chat"),
        ("ollama", "http://h/proxy/", "http://h/proxy/api/chat"),
    ],
)
def test_an_endpoint_may_be_written_as_people_do(dialect: str, endpoint: str, url: str) -> None:
    """With or without the version, the path of the call or a slash at the end."""
    found = find_dialect(dialect)
    call = found.encode(ChatRequest("m", ()), DEFAULT_PROFILE)

    assert found.url(endpoint, call.path) == url


def test_the_key_goes_into_a_header_and_nowhere_else() -> None:
    """The request itself knows no key."""
    bearer = {"authorization": "Bearer k1"}
    assert {name: find_dialect(name).credential_headers("k1") for name in BUILT_IN} == {
        "anthropic-messages": {"x-api-key": "k1"},
        "gemini": {"x-goog-api-key": "k1"},
        "ollama": bearer,
        "openai-chat": bearer,
        "openai-responses": bearer,
    }


def test_an_unknown_dialect_is_told_with_those_there_are() -> None:
    """The error names what can be chosen."""
    with pytest.raises(PluginError, match=r"no such dialect; there are .*ollama, openai-chat"):
        find_dialect("telegraph")

    assert set(BUILT_IN) <= set(dialect_names())
