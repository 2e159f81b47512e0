"""From a sink to whoever iterates over it: one event at a time, and only when it is asked for.

The sink waits until its event has been taken, so an iterator that is slow holds the graph
back as any slow node does: nothing is buffered here but the one event in each worker's hand.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from aiflow.errors import EngineError
from aiflow.events import text_of
from aiflow.operators.base import Operator
from aiflow.operators.scope import Scope


@dataclass(frozen=True, slots=True)
class SinkEvent:
    """An event that a sink has processed.

    Attributes:
        payload: the typed value.
        conversation, turn: whose it is.
        sequence: its place in them, from the source.
        created_at: when its first ancestor arrived, seconds on the session's clock.
    """

    payload: Any
    conversation: str
    turn: int
    sequence: int
    created_at: float

    @property
    def text(self) -> str:
        """The payload's text, "" for one without."""
        return text_of(self.payload)


class Handover:
    """Where a sink's workers and one iterator meet."""

    def __init__(self) -> None:
        self._offers: deque[tuple[SinkEvent, asyncio.Future[None]]] = deque()
        self._taker: asyncio.Future[None] | None = None
        self._is_over = False

    async def give(self, event: SinkEvent) -> None:
        """Wait until the event has been taken."""
        taken = asyncio.get_running_loop().create_future()
        offer = (event, taken)
        self._offers.append(offer)
        self._wake()
        try:
            await taken
        finally:
            # A cancelled turn takes its event back.
            if not taken.done() or taken.cancelled():
                self._offers = deque(each for each in self._offers if each is not offer)

    async def take(self) -> SinkEvent | None:
        """Return the next event, None when no more will come.

        Raises:
            EngineError: somebody else waits for it already.
        """
        if self._taker is not None:
            raise EngineError("two tasks wait for one sink's next event; iterate in one")
        while not self._offers:
            if self._is_over:
                return None
            self._taker = asyncio.get_running_loop().create_future()
            try:
                await self._taker
            finally:
                self._taker = None
        event, taken = self._offers.popleft()
        if not taken.done():
            taken.set_result(None)
        return event

    def end(self) -> None:
        """Say that no more will come."""
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)


def handing_over(operator: Operator[Any], give: Callable[[SinkEvent], Any]) -> Operator[Any]:
    """Return an operator that does what this one does, and then hands each event over.

    Raises:
        EngineError: the operator blocks its thread, and so cannot wait on the loop.
    """
    if operator.is_blocking:
        raise EngineError(f"operator {operator.name} blocks its thread; iterate over another sink")

    async def process(self: Operator[Any], payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        event = SinkEvent(payload, scope.conversation, scope.turn, scope.sequence, scope.created_at)
        done = operator.process(payload, scope)
        if isawaitable(done):
            await done
        await give(event)

    # A subclass of the operator's own class, so that all else of it stays as it is.
    watched = type(f"Watched{type(operator).__name__}", (type(operator),), {"process": process})
    made: Operator[Any] = object.__new__(watched)
    made.__dict__.update(vars(operator))
    return made
