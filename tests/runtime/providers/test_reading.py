"""Tests of `aiflow.providers.reading`."""

from __future__ import annotations

import json

from aiflow.events import Control, Token
from aiflow.providers.reading import Reading, lines, normalize, summarize
from tests.runtime.providers.cases import STOP, chunk, sse, tool

BODY = sse(
    chunk({"reasoning": "r"}),
    chunk({"content": "å"}, choice={"content_filter_results": {"hate": {"filtered": False}}}),
    tool(index=0, id="c", name="f", arguments="{}"),
    chunk({}, "tool_calls", usage={"prompt_tokens": 1}),
)


def test_a_summary_has_the_keys_of_the_contract() -> None:
    """Programs read it: each key is there, also where nothing came."""
    empty = summarize(normalize([sse(STOP)], "openai-chat"))
    full = summarize(normalize([BODY], "openai-chat"))

    keys = {
        *("reasoning", "answer", "refusal", "tool_calls", "finish", "finish_raw"),
        *("usage", "error", "retrievals", "safety_labels", "keepalives", "malformed_frames"),
        "opaque_reasoning_blocks",
    }
    assert set(empty) == set(full) == keys
    assert empty["usage"] is None
    assert set(full["usage"]) == {"input", "output", "total", "reasoning", "cached_input"}
    assert full["tool_calls"] == [{"id": "c", "name": "f", "arguments": {}, "arguments_raw": "{}"}]


def test_a_piece_size_changes_nothing() -> None:
    """Cut into pieces of any size, the reading is the same."""
    whole = summarize(normalize([BODY], "openai-chat"))

    for size in (1, 7, 10_000):
        assert summarize(normalize([BODY], "openai-chat", chunk_size=size)) == whole


def test_lines_are_json_with_a_type() -> None:
    """Each payload is one object on one line, in the order of the stream."""
    texts = list(lines(normalize([BODY], "openai-chat")))

    objects = [json.loads(text) for text in texts]
    assert [each["type"] for each in objects] == [
        *("start", "token", "token", "safety", "tool-fragment", "usage", "finish"),
    ]
    assert objects[1] == {"type": "token", "text": "r", "channel": "reasoning", "choice": 0}
    assert "å" in texts[2]
    assert objects[-1] == {
        "type": "finish",
        "choice": 0,
        "reason": "tool_calls",
        "raw": "tool_calls",
    }


def test_options_split_the_reasoning() -> None:
    """Think tags are taken apart only where it was asked for."""
    body = sse(chunk({"content": "a</think>b"}), STOP)

    plain = summarize(normalize([body], "openai-chat"))
    split = summarize(normalize([body], "openai-chat", think_tags=True, start_in_reasoning=True))

    assert (plain["reasoning"], plain["answer"]) == ("", "a</think>b")
    assert (split["reasoning"], split["answer"]) == ("a", "b")


def test_a_reading_without_a_finish_is_incomplete() -> None:
    """Payloads of a stream that was cancelled are no whole answer."""
    reading = Reading()
    reading.add(Token("x"))
    reading.add(Control("keep-alive"))

    assert reading.summary()["finish"] == "incomplete"
    assert reading.summary()["keepalives"] == 1
