"""`aiflow run --serve`: the run is served while it lasts, and says where and to whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from aiflow.cli.console import say
from aiflow.cli.exits import UsageError
from aiflow.engine.session import Session
from aiflow.errors import RemoteError
from aiflow.remote import Server, serve
from aiflow.remote.addresses import announcement

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
    def stops_when_left(self) -> bool:
        """Whether the run stops when nobody is attached."""
        ...


@asynccontextmanager
async def served(session: Session, wanted: Wanted) -> AsyncIterator[Server]:
    """Serve a session and tell on stderr where, and the token if one was made.

    Raises:
        UsageError: it cannot be served there.
    """
    assert wanted.serve is not None
    try:
        server = await serve(session, wanted.serve, serve_anywhere=wanted.serve_anywhere)
    except RemoteError as error:
        raise UsageError(str(error).replace("(serve_anywhere)", "(--serve-anywhere)")) from error
    alone = None
    if wanted.stops_when_left:
        server.on_left = session.stop
        alone = asyncio.get_running_loop().call_later(ALONE_S, _stop_if_alone, session, server)
    try:
        say(f"aiflow: {announcement(server.address)}")
        if server.token_file is not None:
            say(f"aiflow: token {server.token}, kept in {server.token_file}")
        yield server
    finally:
        if alone is not None:
            alone.cancel()
        await server.close()


def _stop_if_alone(session: Session, server: Server) -> None:
    if not server.clients:
        session.stop()
