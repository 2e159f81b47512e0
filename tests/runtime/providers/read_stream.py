"""Reads a body in given pieces, and compares a reading with what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from aiflow.events import Control, Payload
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.failure import Failure
from aiflow.providers.profile import ModelProfile
from aiflow.providers.reading import summarize


def decode(
    pieces: Iterable[bytes],
    dialect: str = "openai-chat",
    *,
    clean: bool = True,
    failure: Failure | None = None,
    think_tags: bool = False,
    start_in_reasoning: bool = False,
) -> list[Payload]:
    """Return the payloads of a body that comes in these pieces."""
    profile = ModelProfile(think_tags=think_tags, start_in_reasoning=start_in_reasoning)
    decoder = StreamDecoder(find_dialect(dialect).reader(profile))
    payloads = [payload for piece in pieces for payload in decoder.feed(piece)]
    return payloads + decoder.close(clean=clean, failure=failure)


def read(pieces: Iterable[bytes], dialect: str = "openai-chat", **how: Any) -> dict[str, Any]:
    """Return the summary of a body; its finish must come once per choice, and last."""
    payloads = decode(pieces, dialect, **how)
    kinds = [each.kind if isinstance(each, Control) else "data" for each in payloads]
    assert kinds[-1] == "finish"
    assert "finish" not in kinds[: -kinds.count("finish")]
    return summarize(payloads)


def single_cuts(body: bytes, every: int = 1) -> Iterator[list[bytes]]:
    """Yield the body in two pieces, cut at each place in turn."""
    for cut in range(0, len(body), every):
        yield [body[:cut], body[cut:]]


def single_bytes(body: bytes) -> list[bytes]:
    """Return the body byte by byte."""
    return [body[at : at + 1] for at in range(len(body))]


def agrees(expected: Any, found: Any) -> bool:
    """Say whether all that was expected is there; mappings may hold more."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and agrees(part, found[key]) for key, part in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(map(agrees, expected, found))
        )
    return bool(expected == found)
