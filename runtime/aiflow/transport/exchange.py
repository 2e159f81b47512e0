"""One exchange with httpx whose steps are never cut in the middle.

httpx and httpcore protect their clean-up from anyio's cancellation but not from a task's own
`cancel()`: one that comes while a connection is being closed leaves it in the pool, open, for
good (seen under load: a tenth of 200 cancelled streams). So each step runs in a task of its own
that nobody cancels. To end a read, the socket under it is closed: the read then fails and all that
httpx has open is taken down by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import httpx

from aiflow.transport.inflate import Inflater

T = TypeVar("T")

_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")
_SENT = ".send_request_body.complete"


class InterruptedExchangeError(Exception):
    """Another task closed the exchange before the answer began."""


class HttpExchange:
    """A request, its response and the response's decompressed bytes.

    Args:
        client: sends it; its pool keeps the connection where the body was read to the end.
        on_sent: called when the request has left.
    """

    def __init__(self, client: httpx.AsyncClient, on_sent: Callable[[], None]) -> None:
        self._client = client
        self._on_sent = on_sent
        self._response: httpx.Response | None = None
        self._inflater = Inflater("")
        # httpcore's stream under the exchange: known from when it is connected, or, on a connection
        # that is used again, from when the response has begun.
        self._network: Any = None
        self._pieces: AsyncIterator[bytes] | None = None
        self._step: asyncio.Task[object] | None = None

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send the request and return the response when its head has come.

        A server may close a connection that was kept just when the next request is on its way
        (llama.cpp does after each long answer). Nobody has read that request then, so it is
        sent once more, on a connection that is not stale.

        Raises:
            httpx.HTTPError: something went wrong.
            InterruptedExchangeError: the exchange was closed meanwhile.
        """
        while True:
            try:
                return await self._run(self._send(request))
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                if self._network is not None or not _is_end(error):
                    raise

    async def read(self) -> bytes | None:
        """Return the next bytes of the body, None at its end.

        Raises:
            httpx.HTTPError: something went wrong, or the exchange was closed meanwhile.
            InflateError: the body is not what its content encoding says.
        """
        while self._pieces is not None:
            if piece := self._inflater.pull():
                return piece
            raw = await self._run(_next(self._pieces))
            if raw is None:
                self._inflater.finish()
                return None
            self._inflater.push(raw)
        return None

    async def aclose(self) -> None:
        """Close the connection, unless the body has been read to its end; safe to repeat."""
        step = self._step
        if step is not None and not step.done():
            await self._interrupt(step)
        response, self._response = self._response, None
        pieces, self._pieces = self._pieces, None
        if response is not None:
            await _finish(asyncio.get_running_loop().create_task(_close(response, pieces)))

    async def _send(self, request: httpx.Request) -> httpx.Response:
        request.extensions["trace"] = self._note
        response = await self._client.send(request, stream=True)
        self._response = response
        self._network = response.extensions["network_stream"]
        self._pieces = response.aiter_raw()
        self._inflater = Inflater(response.headers.get("content-encoding", ""))
        return response

    async def _note(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            self._network = info["return_value"]
        elif event.endswith(_SENT):
            self._on_sent()

    async def _run(self, coroutine: Coroutine[object, object, T]) -> T:
        # The exchange keeps the task, ends it and reads its error.
        step = asyncio.get_running_loop().create_task(coroutine)
        self._step = step
        try:
            return await asyncio.shield(step)
        except asyncio.CancelledError:
            if not step.done():
                await self._interrupt(step)
            waiting = asyncio.current_task()
            if step.cancelled() and waiting is not None and not waiting.cancelling():
                raise InterruptedExchangeError from None
            raise

    async def _interrupt(self, step: asyncio.Task[T]) -> None:
        """End a step that is waiting, and wait until it has cleaned up."""
        if self._network is None:
            # Nothing is open yet, or a connection of the pool that survives this.
            step.cancel()
        else:
            await _finish(asyncio.get_running_loop().create_task(self._network.aclose()))
        await _finish(step)


async def _finish(task: asyncio.Task[T]) -> None:
    """Wait until a task has ended, whatever happens to this one; then pass a cancellation on."""
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            is_cancelled = True
    if not task.cancelled():
        # Read, so that nobody reports it as forgotten.
        task.exception()
    if is_cancelled:
        raise asyncio.CancelledError


def _is_end(error: httpx.TransportError) -> bool:
    """Say whether a connection has ended, rather than that nonsense came over it."""
    return not isinstance(error, httpx.RemoteProtocolError) or "disconnected" in str(error)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    async for piece in pieces:
        return piece
    return None


async def _close(response: httpx.Response, pieces: AsyncIterator[bytes] | None) -> None:
    await response.aclose()
    # httpx reads through a chain of generators. One that is only dropped is ended later, by a task
    # of the loop's; reading on from the closed connection ends them all now.
    with suppress(httpx.HTTPError):
        while pieces is not None and await _next(pieces) is not None:
            pass
