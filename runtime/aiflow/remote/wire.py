"""The wire: one JSON object a line, each with a version or a number; nothing else is spoken.

    client  {"aiflow": 1, "token": "…"}
    server  {"aiflow": 1, "graph": "slow-speech"}     or the connection ends, without a word
            {"aiflow": 1, "error": "one sentence"}    where the token is right and all else is not
    client  {"id": 1, "call": "tune", "arguments": {"node": "speech", "changes": {"workers": 2}}}
    server  {"id": 1, "result": {…}}                  or {"id": 1, "error": "one sentence"}
    server  {"bye": {"snapshot": {…}, "outputs": […]}}  when the run's process has done with it

Whoever asks gets an answer, and nobody is sent anything else but the goodbye: a slow reader
keeps only itself waiting, and a snapshot is made when it is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from aiflow.errors import RemoteError

T = TypeVar("T")

VERSION = 1
#: Longest first line; whoever has not shown a token is heard no further.
MOST_HELLO = 1_024
#: Longest line of a client that has.
MOST_REQUEST = 64 * 1024
#: Longest line of a server.
MOST_ANSWER = 32 * 1024 * 1024


class Hello(msgspec.Struct):
    """The first line of a client."""

    aiflow: int
    token: str = ""


class Request(msgspec.Struct):
    """What a client asks for."""

    id: int
    call: str
    arguments: dict[str, Any] = {}


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"


def fitting(message: Mapping[str, Any], most: int, what: str) -> bytes:
    """Return a message as a line that the other side will read.

    Raises:
        RemoteError: it is longer than `most` bytes, or no plain value.
    """
    try:
        line = encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RemoteError(f"{what} is not made of plain values: {error}") from error
    if len(line) > most:
        raise RemoteError(
            f"{what} would have {len(line):,} bytes, and at most {most:,} can be sent; ask for less"
        )
    return line


def decode(line: bytes, kind: type[T]) -> T:
    """Return what a line says.

    Raises:
        msgspec.MsgspecError: it says nothing of that kind, or is nested without end.
    """
    try:
        return msgspec.json.decode(line, type=kind)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


async def read_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next line, None at the end; a line over the reader's limit ends it too."""
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        return None
