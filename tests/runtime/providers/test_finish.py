"""Tests of `aiflow.providers.finish`."""

from __future__ import annotations

import pytest

from aiflow.providers.finish import finish_word


@pytest.mark.parametrize(
    ("raw", "has_calls", "is_marked", "word"),
    [
        ("stop", False, True, "stop"),
        ("stop", True, True, "tool_calls"),
        ("length", True, True, "length"),
        ("function_call", True, True, "tool_calls"),
        ("content_filter", False, False, "content_filter"),
        ("STOP", False, True, "stop"),
        ("end_turn", True, True, "tool_calls"),
        ("max_output_tokens", False, True, "length"),
        ("PROHIBITED_CONTENT", False, False, "content_filter"),
        ("MALFORMED_FUNCTION_CALL", False, False, "error"),
        ("pause_turn", False, True, "unknown"),
        (None, False, True, "unknown"),
        ("", False, False, "incomplete"),
        ("load", False, True, "unknown"),
        ("upstream_error", False, True, "error"),
        ("insufficient_system_resource", False, True, "error"),
    ],
)
def test_a_providers_word_becomes_one_of_seven(
    raw: str | None, has_calls: bool, is_marked: bool, word: str
) -> None:
    """Calls decide over `stop`; no word is unknown after an end marker, else incomplete."""
    assert finish_word(raw, has_calls=has_calls, is_marked=is_marked) == word
