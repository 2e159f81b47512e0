"""Tests of what both dialects send: `openai_chat`, `ollama` and `dialect`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aiflow.errors import PluginError
from aiflow.events import ToolCall
from aiflow.providers.dialect import dialect_names, find_dialect
from aiflow.providers.messages import ChatMessage, ChatRequest, Sampling, ToolSpec
from aiflow.providers.profile import DEFAULT_PROFILE, ModelProfile

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
    for name in ("openai-chat", "ollama"):
        assert find_dialect(name).credential_headers("k1") == {"authorization": "Bearer k1"}


def test_an_unknown_dialect_is_told_with_those_there_are() -> None:
    """The error names what can be chosen."""
    with pytest.raises(PluginError, match=r"no such dialect; there are .*ollama, openai-chat"):
        find_dialect("telegraph")

    assert {"ollama", "openai-chat"} <= set(dialect_names())
