"""A session that goes on until it is told to end, served on a free port of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiflow.compiler.plan import Plan
from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.remote import Server, serve
from aiflow.testing.plans import PlanBuilder

TOKEN = "a token that is long enough"


class Gate:
    """Holds each event until it is opened."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.entered = asyncio.Event()
        self.over = asyncio.Event()
        self.over.set()

    def open(self) -> None:
        """Let all through."""
        self._open.set()

    async def pass_through(self, payload: Token, scope: Scope) -> None:
        """Wait until it is open, and show what went through."""
        self.entered.set()
        await self._open.wait()
        scope.show(payload.text)


@dataclass
class Served:
    """What runs and is served."""

    session: Session
    server: Server
    gate: Gate
    task: asyncio.Task[Snapshot]

    @property
    def address(self) -> str:
        """Where it is served."""
        return self.server.address


def plan_of(gate: Gate, events: int = 20) -> Plan:
    """Return a source, which ends when `over` is set, and a sink that waits for the gate."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for number in range(events):
            yield Token(str(number))
        await gate.over.wait()

    builder = PlanBuilder(1).source("s", stream)
    return builder.sink("k", gate.pass_through, queue_capacity=4).edge("s", "k").build()


@asynccontextmanager
async def serving(events: int = 20, *, is_over: bool = True) -> AsyncIterator[Served]:
    """Serve a session whose sink stands at a gate, and stop it in the end."""
    gate = Gate()
    if not is_over:
        gate.over.clear()
    session = Session(plan_of(gate, events))
    async with serve(session, "127.0.0.1:0", TOKEN) as server:
        task = asyncio.create_task(session.run())
        await gate.entered.wait()
        try:
            yield Served(session, server, gate, task)
        finally:
            session.stop()
            await task
