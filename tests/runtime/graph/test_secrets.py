"""Tests of `aiflow.graph.secrets`. Every key here is made up."""

from __future__ import annotations

import pytest

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.graph.secrets import looks_like_secret, masked, secrets_in, shown_safely

RANDOM = "q7Zx2Lm9Tr4Vb8Nc1Ks6Wd3Hf5Jg0PyEx"


@pytest.mark.parametrize(
    "text",
    [
        *(f"{head}{RANDOM}" for head in ("sk-", "sk-proj-", "ghp_", "hf_", "gsk_", "AIza", "xai-")),
        *("AKIA" + "Z9" * 8, "xoxb-123456789012-abc", "Bearer " + RANDOM, RANDOM),
        *("https://me:hunter22@example.org/v1", "-----BEGIN RSA PRIVATE KEY-----"),
        *("eyJhbGciOiJI." + "eyJzdWIiOiI", "0123456789abcdef" * 2, f"please use {RANDOM} for it"),
    ],
)
def test_what_looks_like_a_key_is_found(text: str) -> None:
    """The forms that providers document, passwords in addresses, and what is random."""
    assert looks_like_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "OPENAI_API_KEY", "http://127.0.0.1:11434/v1", "traces/slow-speech.trace"),
        *("Why should a program ever wait on purpose?", "a" * 80, "-" * 40, "{n} "),
        *("a-very-long-name-of-a-file-that-somebody-chose-in-2026", "llama-3.1-8b-instruct"),
        *("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ", "task-specific-instructions-for-the-model"),
        "risk-assessment-for-our-model",
    ],
)
def test_ordinary_text_is_no_key(text: str) -> None:
    """A false alarm would teach people to look away."""
    assert not looks_like_secret(text)


@pytest.mark.parametrize(
    ("field", "text", "is_key"),
    [
        ("api_key", "hunter2222", True),
        ("headers.Authorization", "abcdefgh1", True),
        ("api_key", "MY_SERVICE_KEY", False),
        ("password", "short", False),
        ("author", "somebody", False),
        ("max_tokens", "twentytwo", False),
    ],
)
def test_a_name_may_tell_what_a_value_is(field: str, text: str, is_key: bool) -> None:
    """But the name of an environment variable is what should stand there."""
    assert looks_like_secret(text, field) is is_key


def test_a_key_is_found_at_its_place_and_masked() -> None:
    """Within lists and objects, in nodes and resources."""
    key = f"sk-{RANDOM}"
    graph = edits.add_node(Graph(), "tool", id="t", params={"headers": [{"x": key}, "fine"]})
    graph = edits.add_resource(graph, "provider", id="p", params={"credential": key})

    found = [(each.what, each.id, each.field, each.shown) for each in secrets_in(graph)]

    assert found == [
        ("node", "t", "headers.0.x", "sk-…"),
        ("resource", "p", "credential", "sk-…"),
    ]


def test_little_is_shown_of_a_key_and_all_of_other_text() -> None:
    """A short one shows nothing at all."""
    assert (masked("hunter"), masked("hunter22")) == ("…", "hun…")
    assert shown_safely(RANDOM) == "q7Z…"
    assert shown_safely("OPENAI_API_KEY") == "OPENAI_API_KEY"
