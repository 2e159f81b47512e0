"""Finish words: the seven that we use, and how providers' own words map to them.

`stop length tool_calls content_filter error incomplete unknown`. The provider's word always
travels beside ours, so nothing is lost where a mapping is coarse.
"""

from __future__ import annotations

from typing import Literal

FinishWord = Literal[
    "stop", "length", "tool_calls", "content_filter", "error", "incomplete", "unknown"
]

_WORDS: dict[str, FinishWord] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "max_output_tokens": "length",
    "completed": "stop",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "image_safety": "content_filter",
    "failed": "error",
    "insufficient_system_resource": "error",
}


def finish_word(raw: str | None, *, has_calls: bool, is_marked: bool) -> FinishWord:
    """Return our word for how an answer ended.

    Args:
        raw: the provider's word; None or "" where it gave none.
        has_calls: tool calls came; many servers say `stop` all the same.
        is_marked: the stream came to its end marker.
    """
    if not raw:
        return "unknown" if is_marked else "incomplete"
    word = _WORDS.get(raw.lower())
    if word is None:
        return "error" if is_error_word(raw) else "unknown"
    return "tool_calls" if word == "stop" and has_calls else word


def is_error_word(raw: str | None) -> bool:
    """Say whether a provider's finish word means that it failed."""
    if not raw:
        return False
    word = raw.lower()
    return "error" in word or word.startswith("malformed") or _WORDS.get(word) == "error"
