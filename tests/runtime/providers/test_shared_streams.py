"""Recorded streams and reported cases that lie beside the checkout, where they are there.

They belong to other projects, so they are not copied; `test_cases.py` stands without them.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.providers.dialect import dialect_names
from aiflow.providers.failure import Failure
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.resource import Provider, ProviderParams
from tests.runtime.providers.read_stream import agrees, read, single_bytes, single_cuts
from tests.runtime.transport.faulty_server import Exchange, serving

STREAMS = Path(__file__).resolve().parents[4] / "shared" / "streams"
STALLED = Failure("silent", "idle_timeout", retryable=True)

# An answer that never began has no bytes to cut; it is asked for over a socket.
_BEFORE_THE_STREAM = "http-"

pytestmark = pytest.mark.skipif(not STREAMS.is_dir(), reason="the shared streams are not here")


def _entries(path: str) -> list[dict[str, Any]]:
    file = STREAMS / path
    entries: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return entries


_ALL = _entries("cases.json")
CASES = [case for case in _ALL if not case["id"].startswith(_BEFORE_THE_STREAM)]
REFUSALS = [case for case in _ALL if case["id"].startswith(_BEFORE_THE_STREAM)]
RECORDED = _entries("recorded/expected.json")


def _cuts(chunks: list[bytes], every: int) -> Iterator[list[bytes]]:
    body = b"".join(chunks)
    yield chunks
    yield [body]
    yield single_bytes(body)
    yield from single_cuts(body, every)


def _check_case(case: dict[str, Any], every: int) -> None:
    how = {"clean": case["end"] == "eof", **case.get("options", {})}
    if case["end"] == "stall":
        how["failure"] = STALLED
    expected = _of_case(case["expect"])
    chunks = [base64.b64decode(each) for each in case["chunks"]]
    for pieces in _cuts(chunks, every):
        summary = read(pieces, case["dialect"], **how)

        assert agrees(expected, _counted(summary, expected)), summary


def _of_case(expect: dict[str, Any]) -> dict[str, Any]:
    """Return what a case expects; it leaves open which of two faults a torn event counts as."""
    error = expect["error"]
    is_open = error is not None and error.get("kind") == "malformed_or_upstream"
    return expect | ({"error": {"kind": "stream"}} if is_open else {})


def _counted(summary: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with labels as a number, where a case expects their number."""
    if isinstance(expected.get("safety_labels"), int):
        return summary | {"safety_labels": len(summary["safety_labels"])}
    return summary


def _safety(label: dict[str, Any]) -> dict[str, Any]:
    """Return an expected label in our words: an answer is a completion whoever gives it."""
    if "blocked" not in label:
        return label
    scope = {"candidate": "completion"}.get(label["scope"], label["scope"])
    return {"scope": scope, "category": ", ".join(label["blocked"]), "filtered": True}


def _retrieval(found: dict[str, Any]) -> dict[str, Any]:
    """Return an expected document: its title and address in our words, the rest as it came."""
    ours = {name: found[name] for name in ("title", "url") if name in found}
    return ours | {"raw": {name: part for name, part in found.items() if name not in ours}}


def _expected(entry: dict[str, Any]) -> dict[str, Any]:
    usage = entry["usage"]
    return {
        "reasoning": entry["reasoning"]["text"],
        "answer": entry["answer"]["text"],
        "refusal": entry["refusal"]["text"],
        "tool_calls": [
            {
                "id": call["id"],
                "name": call["name"],
                "arguments_raw": call["arguments"],
                "arguments": call["arguments_json"],
            }
            for call in entry["tool_calls"]
        ],
        "finish": entry["finish_suggested"],
        "finish_raw": entry["finish_raw"],
        "usage": usage if any(part is not None for part in usage.values()) else None,
        "error": entry["error"],
        "safety_labels": [_safety(label) for label in entry["safety"]],
        "retrievals": [_retrieval(found) for found in entry["retrieval"]],
        "malformed_frames": 0,
    }


def test_every_shared_stream_is_in_a_known_dialect() -> None:
    """None is left out because nothing here can read it."""
    assert {entry["dialect"] for entry in CASES + RECORDED} <= set(dialect_names())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reported_case_reads_right(case: dict[str, Any]) -> None:
    """As it was sent, whole, byte by byte and at some single cuts."""
    _check_case(case, every=17)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reported_case_reads_right_at_every_cut(case: dict[str, Any]) -> None:
    """At every single cut."""
    _check_case(case, every=1)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case["id"])
def test_a_reported_refusal_is_one_error(case: dict[str, Any]) -> None:
    """Over a socket: its status, the wait it asks for in either form, its words."""
    headers = dict(case["http"]["headers"])
    content_type = headers.pop("content-type")
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = b"".join(base64.b64decode(each) for each in case["chunks"])

    async def answer(exchange: Exchange) -> None:
        await exchange.whole(f"{case['http']['status']} No", body, content_type, more)

    async def main() -> ProviderError:
        async with serving(answer) as server:
            provider = Provider("p", ProviderParams(endpoint=server.url, retries=0))
            await provider.start(SystemClock())
            with pytest.raises(ProviderError) as caught:
                await anext(provider.stream_chat(ChatRequest("m", (ChatMessage("user", "hi"),))))
            await provider.stop()
        return caught.value

    failure = Failure.of_error(asyncio.run(main()))

    assert agrees(case["expect"]["error"], failure.as_data())


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry["file"])
def test_a_recording_reads_right(entry: dict[str, Any]) -> None:
    """Whole, in pieces of three sizes and cut in two at a few places."""
    body = (STREAMS / "recorded" / entry["file"]).read_bytes()
    sizes = (len(body), 4096, 61)
    in_pieces = [[body[at : at + n] for at in range(0, len(body), n)] for n in sizes]
    for pieces in (*in_pieces, *single_cuts(body, max(1, len(body) // 5))):
        assert agrees(_expected(entry), read(pieces, entry["dialect"]))


@pytest.mark.slow
@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry["file"])
def test_a_recording_reads_right_at_many_cuts(entry: dict[str, Any]) -> None:
    """Byte by byte, and at every cut (a few hundred of them in a large file)."""
    body = (STREAMS / "recorded" / entry["file"]).read_bytes()
    for pieces in (single_bytes(body), *single_cuts(body, max(1, len(body) // 300))):
        assert agrees(_expected(entry), read(pieces, entry["dialect"]))


@pytest.mark.parametrize(
    "entry",
    [entry for entry in RECORDED if "with_think_tag_splitting" in entry],
    ids=lambda entry: entry["file"],
)
def test_a_recording_with_think_tags_splits_when_asked(entry: dict[str, Any]) -> None:
    """Reasoning and answer come apart at the tags."""
    body = (STREAMS / "recorded" / entry["file"]).read_bytes()
    expected = entry["with_think_tag_splitting"]

    summary = read(
        [body[at : at + 997] for at in range(0, len(body), 997)], entry["dialect"], think_tags=True
    )

    assert summary["reasoning"] == expected["reasoning"]["text"]
    assert summary["answer"] == expected["answer"]["text"]
