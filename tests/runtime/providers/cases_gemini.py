"""Streams of our own in the dialect `gemini`, each with its right reading."""

from __future__ import annotations

import json
from typing import Any

from tests.runtime.providers.cases import Case, sse


def answer(*parts: dict[str, Any], finish: str = "", **more: Any) -> dict[str, Any]:
    """Return one response with one candidate."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    candidate |= {"finishReason": finish} if finish else {}
    candidate |= more.pop("candidate", {})
    return {"candidates": [candidate], "modelVersion": "g1", "responseId": "r1"} | more


def crlf(*responses: dict[str, Any]) -> bytes:
    """Return responses as the API frames them."""
    return sse(*responses, done=False, eol="\r\n")


def partial(*values: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return one response with a part of a call's arguments, each value at its path."""
    parts = [{"jsonPath": path, **value} for path, value in values]
    return answer({"functionCall": {"partialArgs": parts, "willContinue": True}})


STOPPED: dict[str, Any] = {"finish": "stop", "finish_raw": "STOP", "error": None}
END = answer({"text": ""}, finish="STOP")
RATINGS = [
    {"category": "HARM_A", "probability": "NEGLIGIBLE"},
    {"category": "HARM_B", "probability": "HIGH", "blocked": True},
]
SITE = {"web": {"uri": "http://tide.test/table", "title": "Table"}}

_CASES = {
    "thought-and-answer-in-parts-of-one-response": (
        crlf(
            answer({"text": "tides ", "thought": True}),
            answer({"text": "turn", "thought": True}, {"text": "Twice "}),
            answer({"text": "a dæg.", "thoughtSignature": "QQ=="}, finish="STOP"),
        ),
        {**STOPPED, "reasoning": "tides turn", "answer": "Twice a dæg.", "tool_calls": []},
    ),
    "totals-run-and-the-last-one-stands": (
        crlf(
            answer({"text": "a"}, usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 1}),
            answer(
                {"text": "b"},
                finish="STOP",
                usageMetadata={
                    "promptTokenCount": 4,
                    "candidatesTokenCount": 2,
                    "thoughtsTokenCount": 5,
                    "cachedContentTokenCount": 3,
                    "totalTokenCount": 11,
                },
            ),
        ),
        {"usage": {"input": 4, "output": 2, "reasoning": 5, "cached_input": 3, "total": 11}},
    ),
    "an-array-instead-of-events": (
        b"["
        + b"\n,\r\n".join(
            json.dumps(each, indent=2).encode()
            for each in (answer({"text": 'in "{[" '}), answer({"text": "order"}, finish="STOP"))
        )
        + b"\n]",
        {**STOPPED, "answer": 'in "{[" order'},
    ),
    "calls-come-whole-without-an-id-and-the-end-says-stop": (
        crlf(
            answer(
                {"functionCall": {"name": "look", "args": {"at": "sea"}}, "thoughtSignature": "Q"},
                {"functionCall": {"name": "look", "args": {"at": "sky"}, "id": "k"}},
                {"functionCall": {"name": "now"}},
            ),
            END,
        ),
        {
            "finish": "tool_calls",
            "finish_raw": "STOP",
            "tool_calls": [
                {"id": None, "name": "look", "arguments": {"at": "sea"}},
                {"id": "k", "name": "look", "arguments": {"at": "sky"}},
                {"id": None, "name": "now", "arguments": {}},
            ],
        },
    ),
    "a-finish-before-the-text-is-no-end": (
        crlf(answer(finish="STOP"), answer({"text": "late"}), END),
        {**STOPPED, "answer": "late"},
    ),
    "content-that-is-empty-or-not-there": (
        crlf(
            answer({"text": "a"}),
            {"candidates": [{"content": {}}]},
            {"candidates": [{"index": 0}]},
            {"candidates": None, "usageMetadata": {"promptTokenCount": 1}},
            END,
        ),
        {**STOPPED, "answer": "a", "usage": {"input": 1}},
    ),
    "an-end-without-a-finish-reason": (
        crlf(answer({"text": "cut"})),
        {"answer": "cut", "finish": "incomplete", "error": None},
    ),
    "the-longest-answer-was-reached": (
        crlf(answer({"text": "a"}, finish="MAX_TOKENS")),
        {"finish": "length", "finish_raw": "MAX_TOKENS"},
    ),
    "a-blocked-prompt": (
        crlf({"promptFeedback": {"blockReason": "OTHER", "safetyRatings": RATINGS}}),
        {
            "answer": "",
            "finish": "content_filter",
            "finish_raw": "OTHER",
            "error": None,
            "safety_labels": [
                {"scope": "prompt", "category": "HARM_B", "filtered": True, "severity": "HIGH"}
            ],
        },
    ),
    "a-prompt-that-is-blocked-without-ratings": (
        crlf({"promptFeedback": {"blockReason": "BLOCKLIST"}}),
        {
            "finish": "content_filter",
            "safety_labels": [{"scope": "prompt", "category": "BLOCKLIST", "filtered": True}],
        },
    ),
    "a-blocked-answer-keeps-what-came": (
        crlf(
            answer({"text": "He"}, candidate={"safetyRatings": RATINGS[:1]}),
            answer({"text": "y"}, finish="SAFETY", candidate={"safetyRatings": RATINGS}),
        ),
        {
            "answer": "Hey",
            "finish": "content_filter",
            "finish_raw": "SAFETY",
            "safety_labels": [
                {"scope": "completion", "category": "HARM_A", "filtered": False},
                {"scope": "completion", "category": "HARM_B", "filtered": True},
            ],
        },
    ),
    "a-call-that-the-model-got-wrong": (
        crlf(answer(finish="MALFORMED_FUNCTION_CALL", candidate={"finishMessage": "no brace"})),
        {
            "finish": "error",
            "finish_raw": "MALFORMED_FUNCTION_CALL",
            "error": {"code": "MALFORMED_FUNCTION_CALL", "retryable": True},
        },
    ),
    "documents-come-once-though-all-responses-repeat-them": (
        crlf(
            answer({"text": "a"}, candidate={"groundingMetadata": {}}),
            answer({"text": "b"}, candidate={"groundingMetadata": {"groundingChunks": [SITE]}}),
            answer(
                finish="STOP",
                candidate={
                    "groundingMetadata": {"groundingChunks": [SITE]},
                    "citationMetadata": {"citationSources": [{"uri": "http://tide.test/law"}]},
                },
            ),
        ),
        {
            **STOPPED,
            "answer": "ab",
            "retrievals": [
                {"title": "Table", "url": "http://tide.test/table"},
                {"url": "http://tide.test/law"},
            ],
        },
    ),
    "tools-of-the-providers-own-are-no-calls": (
        crlf(
            answer(
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                {"text": "Two."},
                {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
                finish="STOP",
            )
        ),
        {**STOPPED, "answer": "Two.", "tool_calls": []},
    ),
    "a-call-whose-arguments-come-value-by-value": (
        crlf(
            answer({"functionCall": {"name": "tide", "id": "c1", "willContinue": True}}),
            partial(("$.place", {"stringValue": "Hel"})),
            partial(("$.place", {"stringValue": "goland"}), ("$.hours[0]", {"numberValue": 6})),
            partial(
                ("$.hours[1]", {"numberValue": 18}),
                ("$['when it'].is", {"boolValue": True}),
                ("$.unit", {"nullValue": "NULL_VALUE"}),
                ("$.hours[9]", {"numberValue": 1}),
            ),
            answer({"functionCall": {}}),
            answer({"functionCall": {"name": "moon", "args": {"day": 1}}}, finish="STOP"),
        ),
        {
            "finish": "tool_calls",
            "error": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "name": "tide",
                    "arguments": {
                        "place": "Helgoland",
                        "hours": [6, 18],
                        "when it": {"is": True},
                        "unit": None,
                    },
                },
                {"name": "moon", "arguments": {"day": 1}},
            ],
        },
    ),
    "a-call-whose-arguments-never-end-is-no-whole-one": (
        crlf(
            answer({"functionCall": {"name": "tide", "willContinue": True}}),
            partial(("$.place", {"stringValue": "Hel"})),
            END,
        ),
        {"tool_calls": [{"name": "tide", "arguments": None, "arguments_raw": '{"place":"Hel"'}]},
    ),
    "pieces-of-arguments-that-belong-to-no-call": (
        crlf(partial(("$.x", {"numberValue": 1})), END),
        {**STOPPED, "tool_calls": []},
    ),
    "several-candidates-end-each-by-itself": (
        crlf(
            answer({"text": "a"}, candidate={"index": 0}),
            answer({"text": "b"}, finish="MAX_TOKENS", candidate={"index": 1}),
            answer({"text": "c"}, finish="STOP", candidate={"index": 0}),
        ),
        {
            **STOPPED,
            "answer": "ac",
            "choices": [
                {"index": 0, "answer": "ac", "finish": "stop"},
                {"index": 1, "answer": "b", "finish": "length"},
            ],
        },
    ),
    "an-indented-error-instead-of-a-stream": (
        json.dumps(
            {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, indent=2
        ).encode(),
        {
            "finish": "error",
            "error": {"code": 503, "message": "busy", "status": "UNAVAILABLE", "retryable": True},
        },
    ),
    "an-error-in-an-array-after-half-an-answer": (
        b"["
        + json.dumps(answer({"text": "half"})).encode()
        + b',\r\n{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}]',
        {"answer": "half", "finish": "error", "error": {"message": "no", "retryable": False}},
    ),
    "an-object-that-nobody-knew": (
        crlf(answer({"text": "a"}), {"weather": "fair"}, END),
        {**STOPPED, "answer": "a", "malformed_frames": 0},
    ),
    "json-of-someone-else": (
        b'{"status": "fine"}',
        {"finish": "error", "error": {"kind": "protocol"}},
    ),
}

CASES = [Case(id, body, expect, "gemini") for id, (body, expect) in _CASES.items()]
