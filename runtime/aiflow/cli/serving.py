"""`aiflow run --serve` and `--prometheus`: what others see of a run while it lasts, and where."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

from aiflow.cli.console import say
from aiflow.cli.exits import UsageError
from aiflow.engine.session import Session
from aiflow.errors import RemoteError
from aiflow.remote import Server, serve
from aiflow.remote.addresses import announcement, listening_address
from aiflow.remote.scraping import PATH, scraped

#: Seconds in which somebody must attach to a run that stops when nobody is there.
ALONE_S = 10.0


class Wanted(Protocol):
    """How a run is to be served."""

    @property
    def serve(self) -> str | None:
        """The address, None for nowhere."""
        ...

    @property
    def serve_anywhere(self) -> bool:
        """Whether other machines may reach it."""
        ...

    @property
    def prometheus(self) -> str | None:
        """Where its metrics can be read, None for nowhere."""
        ...

    @property
    def stops_when_left(self) -> bool:
        """Whether the run begins when somebody attaches, and stops when nobody is attached."""
        ...


@asynccontextmanager
async def served(session: Session, wanted: Wanted, is_told: asyncio.Event) -> AsyncIterator[Server]:
    """Serve a session, tell on stderr where, and the token if one was made.

    Args:
        session: about to run.
        wanted: where, and whether it waits for somebody to attach.
        is_told: set when a signal asks for the end, which nobody is waited for then.

    Raises:
        UsageError: it cannot be served there.
    """
    assert wanted.serve is not None
    try:
        server = await serve(session, wanted.serve, serve_anywhere=wanted.serve_anywhere)
    except RemoteError as error:
        raise _refused("--serve", error) from error
    try:
        say(f"aiflow: {announcement(server.address)}")
        if server.token_file is not None:
            say(f"aiflow: token {server.token}, kept in {server.token_file}")
        if wanted.stops_when_left:
            await _wait_for_company(session, server, is_told)
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def measured(session: Session, wanted: Wanted) -> AsyncIterator[None]:
    """Let Prometheus read a session's metrics; tell on stderr where.

    Raises:
        UsageError: they cannot be read there.
    """
    assert wanted.prometheus is not None
    async with AsyncExitStack() as stack:
        try:
            address = await stack.enter_async_context(
                scraped(session.snapshot, wanted.prometheus, serve_anywhere=wanted.serve_anywhere)
            )
        except RemoteError as error:
            raise _refused("--prometheus", error) from error
        say(f"aiflow: metrics at http://{address}{PATH}")
        yield


def check_address(option: str, address: str, *, serve_anywhere: bool) -> None:
    """Refuse an address that nothing can listen at, before a run is begun for it.

    Raises:
        UsageError: it is none, or is not of this machine and should be.
    """
    try:
        listening_address(address, serve_anywhere=serve_anywhere)
    except RemoteError as error:
        raise _refused(option, error) from error


def _refused(option: str, error: RemoteError) -> UsageError:
    return UsageError(f"{option}: {error}".replace("(serve_anywhere)", "(--serve-anywhere)"))


async def _wait_for_company(session: Session, server: Server, is_told: asyncio.Event) -> None:
    """Let the run begin when somebody is there to see it, and stop when nobody is any more."""
    server.on_left = session.stop
    waits = [asyncio.ensure_future(each.wait()) for each in (server.joined, is_told)]
    try:
        done, _ = await asyncio.wait(waits, timeout=ALONE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
    if not done:
        raise RemoteError(f"nobody has attached within {ALONE_S:g} s, so the run was not begun")
