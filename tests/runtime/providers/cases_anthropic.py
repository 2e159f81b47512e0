"""Streams of our own in the dialect `anthropic-messages`, each with its right reading."""

from __future__ import annotations

import json
from typing import Any

from tests.runtime.providers.cases import Case, sse


def named(*events: dict[str, Any]) -> bytes:
    """Return events as the API frames them: each with its name."""
    frames = [f"event: {event['type']}\ndata: {json.dumps(event)} " for event in events]
    return sse(*frames, done=False)


def start(**usage: int) -> dict[str, Any]:
    """Return the first event."""
    return {"type": "message_start", "message": {"id": "m1", "model": "c1", "usage": usage}}


def opened(index: int, kind: str, **content: Any) -> dict[str, Any]:
    """Return the event that opens a block."""
    block = {"type": kind, **content}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **content: Any) -> dict[str, Any]:
    """Return a piece of a block."""
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{kind}_delta", **content},
    }


def closed(index: int) -> dict[str, Any]:
    """Return the event that closes a block."""
    return {"type": "content_block_stop", "index": index}


def said(index: int, text: str) -> list[dict[str, Any]]:
    """Return a whole block of text."""
    return [opened(index, "text", text=""), delta(index, "text", text=text), closed(index)]


def end(word: str | None = "end_turn", **usage: int | None) -> list[dict[str, Any]]:
    """Return the last two events."""
    return [
        {"type": "message_delta", "delta": {"stop_reason": word}, "usage": usage},
        {"type": "message_stop"},
    ]


PING = {"type": "ping"}
STOPPED: dict[str, Any] = {"finish": "stop", "finish_raw": "end_turn", "error": None}
URL = "http://tide.test/table"

_CASES = {
    "thought-then-answer-with-a-signature-and-a-ping": (
        named(
            start(input_tokens=9, output_tokens=1),
            opened(0, "thinking", thinking="", signature=""),
            delta(0, "thinking", thinking="tides "),
            PING,
            delta(0, "thinking", thinking="turn"),
            delta(0, "thinking", thinking=""),
            delta(0, "signature", signature="QQ=="),
            closed(0),
            *said(1, "Twice a dæg."),
            *end(output_tokens=7),
        ),
        {
            **STOPPED,
            "reasoning": "tides turn",
            "answer": "Twice a dæg.",
            "usage": {"input": 9, "output": 7, "total": None, "cached_input": None},
            "keepalives": 1,
            "opaque_reasoning_blocks": 0,
        },
    ),
    "running-totals-may-rise-and-null-is-not-known": (
        named(
            start(input_tokens=9, output_tokens=1, cache_read_input_tokens=4),
            *said(0, "a"),
            *end(input_tokens=20, output_tokens=3, cache_read_input_tokens=None),
        ),
        {"usage": {"input": 20, "output": 3, "cached_input": 4}},
    ),
    "sealed-reasoning-is-carried-and-counted": (
        named(
            start(),
            opened(0, "redacted_thinking", data="QUJD"),
            closed(0),
            opened(1, "redacted_thinking", data="REVG"),
            closed(1),
            *said(2, "a"),
            *end(),
        ),
        {**STOPPED, "reasoning": "", "answer": "a", "opaque_reasoning_blocks": 2, "usage": None},
    ),
    "two-calls-whose-pieces-alternate": (
        named(
            start(),
            opened(1, "tool_use", id="t1", name="look", input={}),
            opened(2, "tool_use", id="t2", name="listen", input={}),
            delta(1, "input_json", partial_json=""),
            delta(1, "input_json", partial_json='{"at": '),
            delta(2, "input_json", partial_json='{"to"'),
            delta(1, "input_json", partial_json='"sea"}'),
            delta(2, "input_json", partial_json=': "wind"}'),
            closed(1),
            closed(2),
            *end("tool_use"),
        ),
        {
            "finish": "tool_calls",
            "finish_raw": "tool_use",
            "tool_calls": [
                {"id": "t1", "name": "look", "arguments": {"at": "sea"}},
                {"id": "t2", "name": "listen", "arguments": {"to": "wind"}},
            ],
        },
    ),
    "a-call-without-any-piece-has-no-arguments": (
        named(
            start(),
            opened(0, "tool_use", id="t1", name="now", input={}),
            delta(0, "input_json", partial_json=""),
            closed(0),
            *end("tool_use"),
        ),
        {"tool_calls": [{"id": "t1", "name": "now", "arguments": {}, "arguments_raw": ""}]},
    ),
    "a-call-whose-input-comes-at-once": (
        named(
            start(),
            opened(0, "tool_use", id="t1", name="look", input={"at": "sea"}),
            closed(0),
            *end("tool_use"),
        ),
        {"tool_calls": [{"name": "look", "arguments": {"at": "sea"}}]},
    ),
    "a-search-of-the-providers-own-and-what-it-found": (
        named(
            start(),
            opened(0, "server_tool_use", id="s1", name="web_search", input={}),
            delta(0, "input_json", partial_json='{"query": "tide"}'),
            closed(0),
            opened(
                1,
                "web_search_tool_result",
                tool_use_id="s1",
                content=[{"type": "web_search_result", "title": "Table", "url": URL}],
            ),
            closed(1),
            opened(2, "text", text="", citations=[]),
            delta(2, "citations", citation={"url": URL, "cited_text": "twice"}),
            delta(
                2,
                "citations",
                citation={
                    "type": "char_location",
                    "document_index": 0,
                    "document_title": "Log",
                    "cited_text": "slack water",
                },
            ),
            delta(2, "text", text="Twice."),
            closed(2),
            *end(),
        ),
        {
            **STOPPED,
            "answer": "Twice.",
            "tool_calls": [],
            "retrievals": [
                {"title": "Table", "url": URL},
                {"id": "0", "title": "Log", "text": "slack water"},
            ],
        },
    ),
    "a-search-that-failed-is-no-document": (
        named(
            start(),
            opened(
                0,
                "web_search_tool_result",
                content={"type": "web_search_tool_result_error", "error_code": "unavailable"},
            ),
            closed(0),
            *said(1, "a"),
            *end(),
        ),
        {**STOPPED, "answer": "a", "retrievals": []},
    ),
    "kinds-of-events-blocks-and-deltas-that-nobody-knew": (
        named(
            start(),
            {"type": "weather_report"},
            opened(0, "mural", colour="blue"),
            delta(0, "brush", stroke=1),
            closed(0),
            *said(1, "a"),
            *end(),
        ),
        {**STOPPED, "answer": "a", "malformed_frames": 0},
    ),
    "an-unknown-stop-reason": (
        named(start(), *said(0, "a"), *end("pause_turn")),
        {"finish": "unknown", "finish_raw": "pause_turn", "error": None},
    ),
    "the-longest-answer-was-reached": (
        named(start(), *said(0, "a"), *end("max_tokens")),
        {"finish": "length", "finish_raw": "max_tokens"},
    ),
    "an-overload-in-mid-stream": (
        named(
            start(input_tokens=3),
            opened(0, "text", text=""),
            delta(0, "text", text="Hal"),
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
        ),
        {
            "answer": "Hal",
            "finish": "error",
            "finish_raw": None,
            "usage": {"input": 3},
            "error": {"type": "overloaded_error", "message": "busy", "retryable": True},
        },
    ),
    "an-end-without-its-last-events": (
        named(start(), opened(0, "text", text=""), delta(0, "text", text="cut")),
        {"answer": "cut", "finish": "incomplete", "error": None},
    ),
    "names-of-events-are-not-needed": (
        sse(start(), *said(0, "a"), *end(), done=False),
        {**STOPPED, "answer": "a"},
    ),
    "a-whole-message-instead-of-a-stream": (
        json.dumps(
            {
                "type": "message",
                "id": "m1",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "QQ=="},
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 1, "output_tokens": 2},
            },
            indent=2,
        ).encode(),
        {
            "reasoning": "hm",
            "answer": "a",
            "finish": "tool_calls",
            "tool_calls": [{"id": "t1", "name": "f", "arguments": {"x": 1}}],
            "usage": {"input": 1, "output": 2},
        },
    ),
    "an-error-where-a-message-was-due": (
        b'{"type": "error", "error": {"type": "not_found_error", "message": "no such model"}}',
        {"finish": "error", "error": {"type": "not_found_error", "message": "no such model"}},
    ),
    "json-of-someone-else": (
        b'{"status": "fine"}',
        {"finish": "error", "error": {"kind": "protocol"}},
    ),
}

CASES = [Case(id, body, expect, "anthropic-messages") for id, (body, expect) in _CASES.items()]
