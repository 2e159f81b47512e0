"""Asking a server of the tests over real sockets, and what its failing must always leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError
from aiflow.transport.client import HttpClient, HttpRequest, HttpStream
from aiflow.transport.patience import Timeouts
from tests.runtime.transport.faulty_server import Answer, FaultyServer, serving

SECRET = "sk-very-secret-0123456789"
PATIENT = Timeouts(first_byte_s=30, idle_s=30)


@asynccontextmanager
async def asking(
    url: str,
    timeouts: Timeouts = PATIENT,
    credential: str = "MODEL_KEY",
    secret: str = SECRET,
) -> AsyncIterator[HttpStream]:
    """Open a client and give a stream that has not been read."""
    client = HttpClient(url, SystemClock())
    request = HttpRequest(
        url=f"{url}/v1/chat/completions",
        body=b"{}",
        headers={"authorization": f"Bearer {secret}"},
        where="provider p",
        credential=credential,
        secret=secret,
    )
    stream = client.stream(request, timeouts)
    try:
        yield stream
    finally:
        await stream.aclose()
        await client.aclose()


async def read_all(stream: HttpStream, pieces: list[bytes] | None = None) -> bytes:
    """Return the whole body; its pieces are added to `pieces` as they come."""
    pieces = [] if pieces is None else pieces
    while (piece := await stream.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


async def failing(
    answer: Answer, timeouts: Timeouts = PATIENT, credential: str = "MODEL_KEY"
) -> tuple[ProviderError, bytes, FaultyServer]:
    """Return the error that an answer ends in, what came before it, and the server."""
    pieces: list[bytes] = []
    async with serving(answer) as server:
        async with asking(server.url, timeouts, credential) as stream:
            with pytest.raises(ProviderError) as caught:
                await read_all(stream, pieces)
        await asyncio.gather(*[event.wait() for event in server.gone])
    assert server.open_connections == 0
    assert SECRET not in str(caught.value)
    return caught.value, b"".join(pieces), server
