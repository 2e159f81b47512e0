"""Streams of our own in the dialect `openai-responses`, each with its right reading."""

from __future__ import annotations

import json
from typing import Any

from tests.runtime.providers.cases import Case, sse


def named(*events: dict[str, Any]) -> bytes:
    """Return events as the API frames them: each with its name."""
    frames = [f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events]
    return sse(*frames, done=False)


def event(kind: str, **more: Any) -> dict[str, Any]:
    """Return an event."""
    return {"type": f"response.{kind}", **more}


def piece(kind: str, text: str, item: int = 0, part: int = 0) -> dict[str, Any]:
    """Return a delta of an item's part."""
    place = "summary_index" if "summary" in kind else "content_index"
    return event(f"{kind}.delta", output_index=item, **{place: part}, delta=text)


def repeat(kind: str, text: str, item: int = 0, part: int = 0) -> dict[str, Any]:
    """Return the event that has a part's whole text."""
    place = "summary_index" if "summary" in kind else "content_index"
    field = "refusal" if kind == "refusal" else "text"
    return event(f"{kind}.done", output_index=item, **{place: part, field: text})


def item(phase: str, place: int, kind: str, **more: Any) -> dict[str, Any]:
    """Return the event that opens or closes an item."""
    return event(f"output_item.{phase}", output_index=place, item={"type": kind, **more})


def end(status: str = "completed", *output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the event with the whole response."""
    return event(status, response={"id": "r1", "status": status, "output": list(output), **more})


def message(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    """Return a whole message."""
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": "i1", "content": [part]}


START = event("created", response={"id": "r1", "model": "m1", "output": []})
STOPPED: dict[str, Any] = {
    "finish": "stop",
    "finish_raw": "completed",
    "error": None,
    "malformed_frames": 0,
}
CITED = {"type": "url_citation", "url": "http://tide.test/table", "title": "Table"}
CALL = {"call_id": "c1", "id": "f1", "name": "look"}

_CASES = {
    "everything-is-said-four-times-and-read-once": (
        named(
            START,
            item("added", 0, "reasoning", id="r", summary=[]),
            piece("reasoning_summary_text", "tides "),
            piece("reasoning_summary_text", "turn"),
            repeat("reasoning_summary_text", "tides turn"),
            item("done", 0, "reasoning", summary=[{"type": "summary_text", "text": "tides turn"}]),
            item("added", 1, "message", content=[]),
            event("content_part.added", output_index=1, content_index=0, part={}),
            piece("output_text", "Twice ", 1),
            piece("output_text", "a dæg.", 1),
            repeat("output_text", "Twice a dæg.", 1),
            item("done", 1, **message("Twice a dæg.", CITED) | {"kind": "message"}),
            end("completed", {"type": "reasoning"}, message("Twice a dæg.", CITED)),
        ),
        {
            **STOPPED,
            "reasoning": "tides turn",
            "answer": "Twice a dæg.",
            "retrievals": [{"url": "http://tide.test/table", "title": "Table"}],
            "usage": None,
        },
    ),
    "a-text-that-only-its-end-has": (
        named(START, repeat("output_text", "whole"), end("completed", message("whole"))),
        {**STOPPED, "answer": "whole"},
    ),
    "a-text-that-only-its-item-has": (
        named(START, item("done", 0, **message("whole") | {"kind": "message"}), end()),
        {**STOPPED, "answer": "whole"},
    ),
    "a-text-and-a-call-that-only-the-whole-response-has": (
        named(
            START,
            end(
                "completed",
                message("whole", CITED),
                {"type": "function_call", "arguments": '{"at": "sea"}', **CALL},
            ),
        ),
        {
            "answer": "whole",
            "finish": "tool_calls",
            "finish_raw": "completed",
            "retrievals": [{"title": "Table"}],
            "tool_calls": [{"id": "c1", "name": "look", "arguments": {"at": "sea"}}],
        },
    ),
    "an-end-that-numbers-its-items-anew-repeats-nothing": (
        named(
            START,
            piece("output_text", "a", 3),
            item("added", 4, "function_call", arguments="", **CALL),
            end(
                "completed",
                message("a"),
                {"type": "function_call", "arguments": "{}", **CALL},
            ),
        ),
        {"answer": "a", "tool_calls": [{"id": "c1", "name": "look", "arguments": {}}]},
    ),
    "reasoning-and-its-summary-are-one-thing": (
        named(
            START,
            piece("reasoning_text", "long"),
            piece("reasoning_summary_text", "short"),
            piece("output_text", "a", 1),
            end(),
        ),
        {**STOPPED, "reasoning": "long", "answer": "a"},
    ),
    "items-overlap-and-parts-are-kept-apart": (
        named(
            START,
            piece("reasoning_text", "so", 0),
            piece("output_text", "a", 1, 0),
            piece("output_text", "b", 1, 1),
            repeat("output_text", "a", 1, 0),
            repeat("output_text", "b", 1, 1),
            repeat("output_text", "c", 1, 2),
            repeat("reasoning_text", "so", 0),
            end(),
        ),
        {**STOPPED, "reasoning": "so", "answer": "abc"},
    ),
    "reasoning-that-cannot-be-read-is-counted-once": (
        named(
            START,
            item("added", 0, "reasoning", id="r", encrypted_content="QQ"),
            item("done", 0, "reasoning", id="r", encrypted_content="QUJD", summary=[]),
            piece("output_text", "a", 1),
            end("completed", {"type": "reasoning", "id": "r", "encrypted_content": "QUJD"}),
        ),
        {**STOPPED, "reasoning": "", "opaque_reasoning_blocks": 1},
    ),
    "two-calls-in-pieces-by-the-calls-own-ids": (
        named(
            START,
            item("added", 1, "function_call", arguments="", **CALL),
            item("added", 2, "function_call", call_id="c2", id="f2", name="now", arguments=""),
            event("function_call_arguments.delta", output_index=1, delta='{"at": '),
            event("function_call_arguments.delta", output_index=1, delta='"sea"}'),
            event("function_call_arguments.done", output_index=2, arguments="{}"),
            event("function_call_arguments.done", output_index=1, arguments='{"at": "sea"}'),
            item("done", 1, "function_call", arguments='{"at": "sea"}', **CALL),
            end(),
        ),
        {
            "finish": "tool_calls",
            "tool_calls": [
                {"id": "c1", "name": "look", "arguments_raw": '{"at": "sea"}'},
                {"id": "c2", "name": "now", "arguments_raw": "{}"},
            ],
        },
    ),
    "a-call-with-free-text": (
        named(
            START,
            item("added", 0, "custom_tool_call", call_id="c1", name="shell", input=""),
            event("custom_tool_call_input.delta", output_index=0, delta="ls"),
            end(),
        ),
        {"tool_calls": [{"id": "c1", "name": "shell", "arguments": None, "arguments_raw": "ls"}]},
    ),
    "searches-of-the-providers-own": (
        named(
            START,
            item("added", 0, "file_search_call", id="s1", queries=[], results=None),
            event("file_search_call.searching", output_index=0, item_id="s1"),
            item(
                "done",
                0,
                "file_search_call",
                id="s1",
                queries=["tide"],
                results=[{"file_id": "d1", "filename": "log.pdf", "text": "slack", "score": 0.5}],
            ),
            item(
                "done",
                1,
                "web_search_call",
                id="s2",
                action={"query": "tide", "sources": [{"type": "url", "url": CITED["url"]}]},
            ),
            piece("output_text", "a", 2),
            event(
                "output_text.annotation.added",
                output_index=2,
                content_index=0,
                annotation_index=0,
                annotation={"type": "file_citation", "file_id": "d1", "filename": "log.pdf"},
            ),
            end(),
        ),
        {
            **STOPPED,
            "tool_calls": [],
            "retrievals": [
                {"id": "d1", "title": "log.pdf", "text": "slack", "score": 0.5},
                {"url": "http://tide.test/table"},
                {"id": "d1", "title": "log.pdf", "text": ""},
            ],
        },
    ),
    "a-refusal": (
        named(START, piece("refusal", "I would "), piece("refusal", "rather not"), end()),
        {**STOPPED, "refusal": "I would rather not", "answer": ""},
    ),
    "usage-is-the-providers-own": (
        named(
            START,
            end(
                usage={
                    "input_tokens": 5,
                    "output_tokens": 9,
                    "total_tokens": 14,
                    "input_tokens_details": {"cached_tokens": 2},
                    "output_tokens_details": {"reasoning_tokens": 4},
                }
            ),
        ),
        {"usage": {"input": 5, "output": 9, "total": 14, "cached_input": 2, "reasoning": 4}},
    ),
    "the-longest-answer-was-reached": (
        named(
            START,
            piece("output_text", "a"),
            end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        {"answer": "a", "finish": "length", "finish_raw": "incomplete", "error": None},
    ),
    "the-filter-ended-it": (
        named(START, end("incomplete", incomplete_details={"reason": "content_filter"})),
        {"finish": "content_filter", "finish_raw": "incomplete"},
    ),
    "an-error-is-told-once-with-what-it-ends-in": (
        named(
            START,
            {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
            end("failed", error={"code": "rate_limit_exceeded", "message": "slow down, again"}),
        ),
        {
            "finish": "error",
            "finish_raw": "failed",
            "error": {"code": "rate_limit_exceeded", "message": "slow down", "retryable": True},
        },
    ),
    "an-error-at-the-end-of-the-stream": (
        named(START, piece("output_text", "a"), {"type": "error", "message": "gone", "code": None}),
        {"answer": "a", "finish": "error", "finish_raw": None, "error": {"message": "gone"}},
    ),
    "a-failure-without-an-error-event": (
        named(START, end("failed", error={"code": "server_error", "message": "gone"})),
        {"finish": "error", "error": {"code": "server_error", "retryable": True}},
    ),
    "an-error-put-into-an-event-that-was-still-open": (
        named(START, piece("output_text", "a"))
        + b'event: response.completed\ndata: {"type":"response.comple\nevent: error\n'
        b'data: {"type":"error","error":{"message":"upstream is gone"}}\n\n',
        {
            "answer": "a",
            "finish": "error",
            "error": {"message": "upstream is gone"},
            "malformed_frames": 1,
        },
    ),
    "no-names-of-events-comments-and-an-end-marker": (
        sse(": working", START, piece("output_text", "a"), end(usage={"input_tokens": 1})),
        {**STOPPED, "answer": "a", "keepalives": 1, "usage": {"input": 1}},
    ),
    "an-end-marker-without-the-whole-response": (
        sse(START, piece("output_text", "a")),
        {"answer": "a", "finish": "unknown", "finish_raw": None},
    ),
    "an-end-without-the-whole-response": (
        named(START, piece("output_text", "cut")),
        {"answer": "cut", "finish": "incomplete", "error": None},
    ),
    "kinds-of-events-items-and-parts-that-nobody-knew": (
        named(
            START,
            event("weather_report", sky="fair"),
            {"type": "keepalive"},
            item("done", 0, "image_generation_call", result="AA=="),
            item("done", 1, "message", content=[{"type": "mural"}]),
            piece("output_text", "a", 2),
            end(),
        ),
        {**STOPPED, "answer": "a", "keepalives": 1},
    ),
    "a-whole-response-instead-of-a-stream": (
        json.dumps(
            {"object": "response", "status": "completed", "error": None, "output": [message("a")]},
            indent=2,
        ).encode(),
        {**STOPPED, "answer": "a"},
    ),
    "an-error-where-a-response-was-due": (
        b'{"error": {"code": "model_not_found", "message": "no such model"}}',
        {"finish": "error", "error": {"code": "model_not_found", "message": "no such model"}},
    ),
    "json-of-someone-else": (
        b'{"status": "fine"}',
        {"finish": "error", "error": {"kind": "protocol"}},
    ),
}

CASES = [Case(id, body, expect, "openai-responses") for id, (body, expect) in _CASES.items()]
