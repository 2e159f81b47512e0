"""Streams of our own that once broke some client, each with its right reading.

Every case is read whole, byte by byte and at every single cut (`test_cases.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """A body and what must be read from it.

    Attributes:
        expect: keys of the summary; what is not named is not compared.
        options: of the model's profile.
    """

    id: str
    body: bytes
    expect: dict[str, Any]
    dialect: str = "openai-chat"
    end: Literal["closed", "broken"] = "closed"
    options: dict[str, bool] = field(default_factory=dict)


def sse(*frames: object, done: bool = True, eol: str = "\n") -> bytes:
    """Return frames as an event stream."""
    texts = [frame if isinstance(frame, str) else f"data: {json.dumps(frame)}" for frame in frames]
    texts += ["data: [DONE]"] if done else []
    return "".join(text + 2 * eol for text in texts).encode()


def chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return one chat completion chunk of choice 0."""
    index = more.pop("index", 0)
    choice = {"index": index, "delta": delta, "finish_reason": finish} | more.pop("choice", {})
    return {"id": "x1", "model": "m1", "choices": [choice]} | more


def tool(**entry: Any) -> dict[str, Any]:
    """Return a chunk with one entry of `tool_calls`."""
    function = {key: entry.pop(key) for key in ("name", "arguments") if key in entry}
    return chunk({"tool_calls": [{**entry, "function": function}]})


def ndjson(*objects: dict[str, Any]) -> bytes:
    """Return objects one a line."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in objects)


def line(**message: Any) -> dict[str, Any]:
    """Return a line of Ollama's chat endpoint."""
    return {"model": "o1", "message": {"role": "assistant", **message}, "done": False}


def last_line(**more: Any) -> dict[str, Any]:
    """Return Ollama's last line."""
    counts = {"prompt_eval_count": 5, "eval_count": 9}
    return line(content="") | {"done": True, "done_reason": "stop", **counts} | more


STOP = chunk({}, "stop")
STOPPED: dict[str, Any] = {
    "finish": "stop",
    "finish_raw": "stop",
    "error": None,
    "malformed_frames": 0,
}
ANSWERED: dict[str, Any] = {**STOPPED, "reasoning": "", "refusal": "", "tool_calls": []}

FRAMING = [
    Case(
        "crlf-and-a-utf8-character-in-many-pieces",
        sse(chunk({"content": "fjørd "}), chunk({"content": "日本 🦜"}), STOP, eol="\r\n"),
        {**ANSWERED, "answer": "fjørd 日本 🦜"},
    ),
    Case(
        "raw-utf8-with-line-separators-inside-json",
        'data: {"choices":[{"index":0,"delta":{"content":"a\u2028b\u2029c\u0085d\u000ce"}}]}\n\n'
        "data: [DONE]\n\n".replace("\u000c", "\\f").encode(),
        {"answer": "a\u2028b\u2029c\u0085d\u000ce", "finish": "unknown"},
    ),
    Case(
        "control-letters-that-nobody-escaped",
        sse(chunk({"content": "aTABbBELLc"}), chunk({"content": "d\ne"}), STOP)
        .replace(b"TAB", b"\t")
        .replace(b"BELL", b"\x07")
        .replace(b"d\\n", b"d\ndata: "),
        {**ANSWERED, "answer": "a\tb\x07cd\ne"},
    ),
    Case(
        "lone-cr-up-to-the-last-byte",
        sse(chunk({"content": "tide"}), STOP, eol="\r"),
        {**ANSWERED, "answer": "tide"},
    ),
    Case(
        "a-mark-of-byte-order-comes-first",
        b"\xef\xbb\xbf" + sse(chunk({"content": "bell"}), STOP),
        {**ANSWERED, "answer": "bell"},
    ),
    Case(
        "heartbeats-of-every-kind",
        sse(": wait", "data:", "data: null", "retry: 10\nid: 7", chunk({"content": "oak"}), STOP),
        {**ANSWERED, "answer": "oak", "keepalives": 3},
    ),
    Case(
        "no-space-after-the-colon-and-a-padded-end-marker",
        sse(chunk({"content": "elm"}), STOP, done=False).replace(b"data: ", b"data:")
        + b"data:[DONE]  \n\n",
        {**ANSWERED, "answer": "elm"},
    ),
    Case(
        "the-end-marker-inside-the-text-is-text",
        sse(chunk({"content": "write [DONE] and data: [DONE]"}), STOP),
        {**ANSWERED, "answer": "write [DONE] and data: [DONE]"},
    ),
    Case(
        "one-event-over-several-data-lines",
        b'event: chunk\r\ndata: {"choices": [{"index": 0,\r\ndata: "delta": {"content": "ash"},'
        b'\r\ndata: "finish_reason": "stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n',
        {**ANSWERED, "answer": "ash"},
    ),
    Case(
        "two-documents-in-one-event",
        sse(f"data: {json.dumps(chunk({'content': 'one'}))}{json.dumps(STOP)}", done=False),
        {**ANSWERED, "answer": "one"},
    ),
    Case(
        "the-last-event-has-no-blank-line",
        sse(chunk({"content": "fir"}), STOP, done=False).removesuffix(b"\n\n"),
        {**ANSWERED, "answer": "fir"},
    ),
    Case(
        "half-a-frame-glued-to-the-next",
        b'data: {"choices":[{"delta":{"contdata: {"choices":[]}\n\n'
        + sse(chunk({"content": "yew"}), STOP),
        {**ANSWERED, "answer": "yew", "malformed_frames": 1},
    ),
    Case(
        "nothing-is-read-after-the-end-marker",
        sse(chunk({"content": "end"}), STOP) + sse(chunk({"content": " not this"})),
        {**ANSWERED, "answer": "end"},
    ),
    Case(
        "a-plain-completion-after-blank-lines",
        b"\n\n "
        + json.dumps(
            {
                "choices": [
                    {
                        "message": {"content": "whole", "reasoning_content": "so"},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
            },
            indent=2,
        ).encode(),
        {**STOPPED, "answer": "whole", "reasoning": "so", "usage": {"input": 1, "output": 2}},
    ),
    Case(
        "an-array-of-chunks-instead-of-events",
        b"["
        + b"\n,\r\n".join(
            json.dumps(each, indent=1).encode()
            for each in (chunk({"content": "in "}), chunk({"content": "[order]"}), STOP)
        )
        + b"]\n",
        {**ANSWERED, "answer": "in [order]"},
    ),
    Case(
        "an-indented-error-object-ends-an-event-stream",
        sse(chunk({"content": "half"}), done=False)
        + json.dumps({"error": {"message": "quota is used up", "code": 429}}, indent=2).encode(),
        {
            "answer": "half",
            "finish": "error",
            "error": {"message": "quota is used up", "code": 429},
        },
    ),
    Case("an-empty-body", b"", {"finish": "error", "error": {"kind": "protocol"}}),
    Case(
        "a-page-instead-of-a-stream",
        b"<!doctype html><html><head><title>Bad gateway</title></head></html>",
        {
            "finish": "error",
            "error": {
                "kind": "protocol",
                "message": "the provider sent a page, not a stream: Bad gateway",
            },
        },
    ),
    Case(
        "plain-words-instead-of-a-stream",
        b"upstream connect error\n",
        {
            "finish": "error",
            "error": {
                "message": "the provider sent no event that could be read: upstream connect error"
            },
        },
    ),
]

CHAT = [
    Case(
        "reasoning-under-its-newer-name",
        sse(
            chunk({"reasoning": "why "}), chunk({"reasoning": "so"}), chunk({"content": "A"}), STOP
        ),
        {**STOPPED, "reasoning": "why so", "answer": "A"},
    ),
    Case(
        "reasoning-in-three-places-is-read-once",
        sse(
            chunk(
                {
                    "reasoning_content": "r",
                    "reasoning": "r",
                    "reasoning_details": [{"type": "reasoning.text", "text": "r"}],
                }
            ),
            chunk({"reasoning_content": "", "reasoning": None, "content": "A"}),
            STOP,
        ),
        {**STOPPED, "reasoning": "r", "answer": "A"},
    ),
    Case(
        "reasoning-only-in-details",
        sse(
            chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "in "}]}),
            chunk(
                {
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "short"},
                        {"type": "reasoning.encrypted", "data": "AAAA"},
                    ]
                }
            ),
            STOP,
        ),
        {**STOPPED, "reasoning": "in short", "answer": ""},
    ),
    Case(
        "both-channels-in-one-delta",
        sse(chunk({"content": "A", "reasoning_content": "r"}), STOP),
        {**STOPPED, "reasoning": "r", "answer": "A"},
    ),
    Case(
        "content-as-a-list-of-parts",
        sse(
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}),
            chunk(
                {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "u"}]},
                        {"type": "text", "text": "A"},
                        {"type": "reference", "reference_ids": [3]},
                    ]
                }
            ),
            STOP,
        ),
        {**STOPPED, "reasoning": "tu", "answer": "A", "retrievals": [{"id": "3"}]},
    ),
    Case(
        "think-tags-cut-anywhere",
        sse(
            chunk({"content": "Well. <th"}),
            chunk({"content": "ink>hm</thin"}),
            chunk({"content": "k> 1 <"}),
            chunk({"content": " 2 </th"}),
            STOP,
        ),
        {**STOPPED, "reasoning": "hm", "answer": "Well.  1 < 2 </th"},
        options={"think_tags": True},
    ),
    Case(
        "think-tags-are-text-unless-asked-for",
        sse(chunk({"content": "<think>x</think>y"}), STOP),
        {**STOPPED, "reasoning": "", "answer": "<think>x</think>y"},
    ),
    Case(
        "a-template-that-opened-the-block-and-a-model-that-opens-it-again",
        sse(chunk({"content": "\n<thi"}), chunk({"content": "nk>deep</think>out"}), STOP),
        {**STOPPED, "reasoning": "deep", "answer": "out"},
        options={"think_tags": True, "start_in_reasoning": True},
    ),
    Case(
        "a-block-that-length-cuts-off",
        sse(chunk({"content": "<think>and then"}), chunk({}, "length")),
        {"reasoning": "and then", "answer": "", "finish": "length"},
        options={"think_tags": True},
    ),
    Case(
        "halves-of-a-character-in-two-deltas",
        sse(
            'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83e"}}]}',
            'data: {"choices":[{"index":0,"delta":{"content":"\\udd9cb"}}]}',
            STOP,
        ),
        {**ANSWERED, "answer": "a🦜b"},
    ),
    Case(
        "a-half-whose-other-half-never-comes",
        sse(
            'data: {"choices":[{"index":0,"delta":{"reasoning":"q\\ud83e"}}]}',
            'data: {"choices":[{"index":0,"delta":{"content":"\\udd9cr\\ud83e"}}]}',
            STOP,
        ),
        {**STOPPED, "reasoning": "q\ufffd", "answer": "\ufffdr\ufffd"},
    ),
    Case(
        "choices-null-delta-null-and-no-delta",
        sse(
            chunk({"content": "a"}),
            {"choices": None},
            {"choices": [{"index": 0, "finish_reason": None}]},
            chunk(None),
            chunk({"content": "b"}),
            STOP,
        ),
        {**ANSWERED, "answer": "ab"},
    ),
    Case(
        "an-empty-finish-reason-is-none",
        sse(chunk({"content": "a"}, ""), chunk({"content": "b"}, "length"), chunk({}, "")),
        {"answer": "ab", "finish": "length", "finish_raw": "length"},
    ),
    Case(
        "the-message-repeated-beside-the-delta-is-not-added",
        sse(
            chunk({"content": "once"}, choice={"message": {"content": "once"}}, object="x.done"),
            STOP,
        ),
        {**ANSWERED, "answer": "once"},
    ),
    Case(
        "an-unknown-finish-word",
        sse(chunk({"content": "a"}), chunk({}, "wandered_off")),
        {"finish": "unknown", "finish_raw": "wandered_off", "error": None},
    ),
    Case(
        "an-end-marker-without-a-finish",
        sse(chunk({"content": "a"})),
        {"finish": "unknown", "finish_raw": None, "error": None},
    ),
    Case(
        "an-end-without-marker-or-finish",
        sse(chunk({"content": "cut"}), done=False),
        {"answer": "cut", "finish": "incomplete", "finish_raw": None, "error": None},
    ),
    Case(
        "a-finish-that-comes-twice-and-running-totals",
        sse(
            chunk({"content": "a"}, usage={"prompt_tokens": 4, "completion_tokens": 1}),
            chunk({"content": ""}, "stop"),
            chunk(
                {"content": ""},
                "stop",
                usage={
                    "prompt_tokens": 4,
                    "completion_tokens": 2,
                    "total_tokens": 9,
                    "prompt_tokens_details": {"cached_tokens": 3},
                    "completion_tokens_details": {"reasoning_tokens": 1},
                },
            ),
        ),
        {
            **ANSWERED,
            "usage": {"input": 4, "output": 2, "total": 9, "reasoning": 1, "cached_input": 3},
        },
    ),
    Case(
        "usage-in-a-vendor-object",
        sse(chunk({"content": "a"}), chunk({}, "stop", x_groq={"usage": {"prompt_tokens": 8}})),
        {"usage": {"input": 8, "output": None, "total": None}},
    ),
    Case("no-usage-is-unknown", sse(chunk({"content": "a"}), STOP), {"usage": None}),
    Case(
        "a-refusal",
        sse(
            chunk({"refusal": "I would "}), chunk({"content": None, "refusal": "rather not"}), STOP
        ),
        {**STOPPED, "refusal": "I would rather not", "answer": ""},
    ),
    Case(
        "several-choices-end-each-by-itself",
        sse(
            chunk({"content": "a"}),
            chunk({"content": "b"}, index=1),
            chunk({}, "length", index=1),
            STOP,
        ),
        {
            **ANSWERED,
            "answer": "a",
            "choices": [
                {"index": 0, "answer": "a", "finish": "stop"},
                {"index": 1, "answer": "b", "finish": "length"},
            ],
        },
    ),
    Case(
        "filters-label-the-prompt-and-the-answer",
        sse(
            {
                "choices": [],
                "model": "",
                "prompt_filter_results": [
                    {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}
                ],
            },
            chunk({"content": "a"}, choice={"content_filter_results": {}}),
            chunk(
                None,
                "content_filter",
                choice={
                    "content_filter_results": {
                        "hate": {"filtered": False, "severity": "safe"},
                        "violence": {"filtered": True, "severity": "high"},
                    }
                },
            ),
            {"choices": [], "moderation": {"output": {"results": [{"flagged": False}]}}},
        ),
        {
            "finish": "content_filter",
            "safety_labels": [
                {"scope": "prompt", "category": "hate", "filtered": False, "severity": "safe"},
                {
                    "scope": "completion",
                    "category": "violence",
                    "filtered": True,
                    "severity": "high",
                },
                {"scope": "completion", "filtered": False, "raw": {"flagged": False}},
            ],
        },
    ),
    Case(
        "citations-beside-the-text-and-repeated-results",
        sse(
            chunk(
                {
                    "content": "see",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "url_citation": {"url": "http://a/1", "title": "One", "content": "…"},
                        }
                    ],
                }
            ),
            chunk({"content": " it"}, search_results=[{"url": "http://a/2", "title": "Two"}]),
            chunk({}, "stop", search_results=[{"url": "http://a/2", "title": "Two"}]),
        ),
        {
            **ANSWERED,
            "answer": "see it",
            "retrievals": [
                {"url": "http://a/1", "title": "One", "text": "…"},
                {"url": "http://a/2", "title": "Two"},
            ],
        },
    ),
]

TOOLS = [
    Case(
        "one-call-in-pieces",
        sse(
            tool(index=0, id="c", name="f", arguments=""),
            tool(index=0, arguments='{"a":'),
            tool(index=0, id=None, name=None, arguments="1}"),
            chunk({}, "tool_calls"),
        ),
        {
            "finish": "tool_calls",
            "tool_calls": [
                {"id": "c", "name": "f", "arguments": {"a": 1}, "arguments_raw": '{"a":1}'}
            ],
        },
    ),
    Case(
        "calls-alternate-by-index-from-one",
        sse(
            tool(index=1, id="p", name="f", arguments='{"x'),
            tool(index=4, id="q", name="g", arguments='{"y'),
            tool(index=1, id="", name="", arguments='":1}'),
            tool(index=4, arguments='":2}'),
            STOP,
        ),
        {
            "finish": "tool_calls",
            "finish_raw": "stop",
            "tool_calls": [
                {"id": "p", "name": "f", "arguments": {"x": 1}},
                {"id": "q", "name": "g", "arguments": {"y": 2}},
            ],
        },
    ),
    Case(
        "every-call-has-index-zero",
        sse(
            tool(index=0, id="p", name="f", arguments='{"x":'),
            tool(index=0, id="q", name="f", arguments='{"x":'),
            tool(index=0, id="p", arguments="1}"),
            tool(index=0, id="q", arguments="2}"),
            STOP,
        ),
        {
            "tool_calls": [
                {"id": "p", "name": "f", "arguments": {"x": 1}},
                {"id": "q", "name": "f", "arguments": {"x": 2}},
            ]
        },
    ),
    Case(
        "no-index-at-all",
        sse(
            tool(id="p", name="f", arguments='{"x'),
            tool(arguments='":1}'),
            tool(id="q", name="g", arguments="{}"),
            STOP,
        ),
        {
            "tool_calls": [
                {"id": "p", "name": "f", "arguments": {"x": 1}},
                {"id": "q", "name": "g", "arguments": {}},
            ]
        },
    ),
    Case(
        "neither-index-nor-id",
        sse(tool(name="f", arguments='{"x":1}'), tool(name="f", arguments='{"x":2}'), STOP),
        {
            "tool_calls": [
                {"id": None, "name": "f", "arguments": {"x": 1}},
                {"id": None, "name": "f", "arguments": {"x": 2}},
            ]
        },
    ),
    Case(
        "name-repeated-in-every-piece",
        sse(
            tool(index=0, id="c", name="find", arguments="{"),
            tool(index=0, id="c", name="find", arguments="}"),
            STOP,
        ),
        {"tool_calls": [{"id": "c", "name": "find", "arguments": {}}]},
    ),
    Case(
        "name-in-pieces",
        sse(tool(index=0, id="c", name="fi"), tool(index=0, name="nd", arguments="{}"), STOP),
        {"tool_calls": [{"id": "c", "name": "find", "arguments": {}}]},
    ),
    Case(
        "arguments-null-or-an-object",
        sse(
            tool(index=0, id="c", name="f", arguments=None),
            tool(index=1, id="d", name="g", arguments={"ö": [1]}),
            STOP,
        ),
        {
            "tool_calls": [
                {"id": "c", "name": "f", "arguments": {}, "arguments_raw": ""},
                {"id": "d", "name": "g", "arguments": {"ö": [1]}, "arguments_raw": '{"ö":[1]}'},
            ]
        },
    ),
    Case(
        "arguments-said-twice-are-shown-and-not-repaired",
        sse(
            tool(index=0, id="c", name="f", arguments='{"n":1}'),
            tool(index=0, name="f", arguments='{"n":1}'),
            chunk({}, "tool_calls"),
        ),
        {"tool_calls": [{"arguments": None, "arguments_raw": '{"n":1}{"n":1}'}]},
    ),
    Case(
        "the-old-function-call",
        sse(
            chunk({"function_call": {"name": "f", "arguments": '{"a"'}}),
            chunk({"function_call": {"arguments": ":1}"}}),
            chunk({}, "function_call"),
        ),
        {
            "finish": "tool_calls",
            "finish_raw": "function_call",
            "tool_calls": [{"id": None, "name": "f", "arguments": {"a": 1}}],
        },
    ),
]

ERRORS = [
    Case(
        "an-error-frame-without-choices",
        sse(
            chunk({"content": "so far"}), {"error": {"code": 502, "message": "gone"}, "choices": []}
        ),
        {
            "answer": "so far",
            "finish": "error",
            "error": {"message": "gone", "code": 502, "status": 502, "retryable": True},
        },
    ),
    Case(
        "an-error-beside-a-finish-of-error",
        sse(chunk({"content": "a"}, "error", error={"code": "server_error", "message": "lost"})),
        {
            "answer": "a",
            "finish": "error",
            "finish_raw": "error",
            "error": {"message": "lost", "code": "server_error", "retryable": True},
        },
    ),
    Case(
        "an-event-called-error",
        sse(
            chunk({"content": "a"}),
            'event: error\ndata: {"error":{"message":"no such tool","code":"tool","type":"bad"}}',
            done=False,
        ),
        {
            "answer": "a",
            "finish": "error",
            "error": {"message": "no such tool", "code": "tool", "type": "bad", "retryable": False},
        },
    ),
    Case(
        "an-error-field",
        sse('error: {"code":400,"message":"too long"}'),
        {"finish": "error", "error": {"message": "too long", "code": 400}},
    ),
    Case(
        "an-error-that-is-only-text",
        sse({"error": "model crashed"}),
        {"finish": "error", "error": {"message": "model crashed", "code": None}},
    ),
    Case(
        "an-error-object-that-says-so-itself",
        sse({"object": "error", "message": "bad prompt", "code": 400}),
        {"finish": "error", "error": {"message": "bad prompt", "code": 400}},
    ),
    Case(
        "a-finish-word-that-means-failure",
        sse(chunk({"content": "a"}), chunk({}, "network_error")),
        {
            "answer": "a",
            "finish": "error",
            "finish_raw": "network_error",
            "error": {"code": "network_error", "retryable": True},
        },
    ),
    Case(
        "a-harmless-finish-with-a-native-failure",
        sse(chunk({"content": "a"}, "stop", choice={"native_finish_reason": "network_error"})),
        {
            "answer": "a",
            "finish": "error",
            "finish_raw": "stop",
            "error": {"code": "network_error"},
        },
    ),
    Case(
        "a-finish-then-an-error",
        sse(chunk({"content": "a"}, "length"), {"error": {"message": "late"}, "choices": []}),
        {"answer": "a", "finish": "error", "finish_raw": "length", "error": {"message": "late"}},
    ),
    Case(
        "an-error-where-a-completion-was-due",
        json.dumps({"detail": "model not loaded"}).encode(),
        {"finish": "error", "error": {"message": "model not loaded"}},
    ),
    Case(
        "a-reset-inside-a-frame",
        sse(chunk({"content": "kept"}), done=False) + b'data: {"choices":[{"delta":{"content":"x"',
        {
            "answer": "kept",
            "finish": "error",
            "error": {"kind": "connection", "retryable": True},
            "malformed_frames": 0,
        },
        end="broken",
    ),
    Case(
        "a-reset-after-a-whole-line-without-its-blank-line",
        sse(chunk({"content": "kept"}), done=False) + b'data: {"choices":[]}\n',
        {"answer": "kept", "finish": "error", "error": {"kind": "connection"}},
        end="broken",
    ),
]

OLLAMA = [
    Case(
        "lines-of-thought-and-answer",
        ndjson(
            line(content="", thinking=""),
            line(content="", thinking="h"),
            line(content="", thinking="m"),
            line(content="Å"),
            last_line(),
        ),
        {**STOPPED, "reasoning": "hm", "answer": "Å", "usage": {"input": 5, "output": 9}},
    ),
    Case(
        "no-line-end-at-the-end",
        ndjson(line(content="a"), last_line()).rstrip(b"\n"),
        {**STOPPED, "answer": "a", "usage": {"output": 9}},
    ),
    Case(
        "an-error-line",
        ndjson(line(content="a"), {"error": "runner has stopped"}),
        {"answer": "a", "finish": "error", "error": {"message": "runner has stopped"}},
    ),
    Case(
        "calls-come-whole-and-the-end-says-stop",
        ndjson(
            line(content="", tool_calls=[{"function": {"name": "f", "arguments": {"x": 1}}}]),
            line(
                content="",
                tool_calls=[
                    {"id": "k", "function": {"index": 0, "name": "f", "arguments": {"x": 2}}}
                ],
            ),
            last_line(),
        ),
        {
            "finish": "tool_calls",
            "finish_raw": "stop",
            "tool_calls": [
                {"id": None, "name": "f", "arguments": {"x": 1}},
                {"id": "k", "name": "f", "arguments": {"x": 2}},
            ],
        },
    ),
    Case(
        "a-call-in-the-last-line",
        ndjson(
            last_line(
                message={
                    "content": "",
                    "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
                }
            )
        ),
        {"finish": "tool_calls", "tool_calls": [{"name": "f", "arguments": {}}]},
    ),
    Case(
        "the-generate-endpoint-of-an-old-server",
        ndjson(
            {"response": "hi", "done": False},
            {"response": "", "done": True, "context": [1, 2], "eval_count": 2},
        ),
        {"answer": "hi", "finish": "unknown", "finish_raw": None, "usage": {"input": None}},
    ),
    Case(
        "an-end-without-a-done-line",
        ndjson(line(content="cut")),
        {"answer": "cut", "finish": "incomplete", "error": None, "usage": None},
    ),
    Case(
        "a-torn-line-is-one-malformed-frame",
        b'{"model":"o1","message":{"content":"x\n' + ndjson(line(content="ok"), last_line()),
        {"answer": "ok", "finish": "stop", "malformed_frames": 1},
    ),
    Case(
        "think-tags-in-the-content",
        ndjson(line(content="<think>h</th"), line(content="ink>a"), last_line()),
        {"reasoning": "h", "answer": "a"},
        options={"think_tags": True},
    ),
]

CASES = [
    *FRAMING,
    *CHAT,
    *TOOLS,
    *ERRORS,
    *[Case(c.id, c.body, c.expect, "ollama", c.end, c.options) for c in OLLAMA],
]
