"""Sources: where events begin, one stream for each conversation's turn."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from aiflow.engine.cells import Call, EdgeState, Event, Guardian, Lane
from aiflow.engine.pulledstream import PulledStream
from aiflow.engine.streams import Stream
from aiflow.engine.taskstream import TaskStream
from aiflow.operators.base import Source


class SourceRunner:
    """Stands where an operator's runner would: a source has no queue and takes no arrivals."""

    def wake(self, guardian: Guardian) -> None:
        """Do nothing: a source is not woken by a queue."""

    def start(self, lane: Lane, arrival: tuple[Event, EdgeState]) -> None:
        """Never called: nothing arrives at a source."""
        raise AssertionError(f"{arrival} arrived at the source {lane.guardian.id}")

    def resume(self, call: Call, _: object) -> None:
        """Do nothing: a source has one call a turn, which is always the head."""

    def left(self, call: Call, at: float) -> None:
        """Count the output for which there was no room, and go on reading."""
        call.lane.source.left(at)

    def cancel(self, call: Call, at: float) -> None:
        """Do nothing: a stream is stopped as a whole."""


def open_stream(lane: Lane) -> Stream | None:
    """Ask a source for its stream into a turn and begin to read it; None where it raised."""
    operator = lane.guardian.node.operator
    assert isinstance(operator, Source)
    try:
        outputs = _iterator(operator.stream(lane.scope))
    except BaseException as error:
        Stream(lane).fail(error)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None
    if isinstance(outputs, AsyncIterator):
        return TaskStream(lane, outputs)
    return PulledStream(lane, outputs)


def _iterator(outputs: Any) -> Iterator[Any] | AsyncIterator[Any]:  # noqa: ANN401 - what an operator returns
    """Return the iterator of what a source's `stream` returned.

    Raises:
        TypeError: there is none.
    """
    if isinstance(outputs, AsyncIterable):
        return aiter(outputs)
    if isinstance(outputs, Iterable):
        return iter(outputs)
    if inspect.iscoroutine(outputs):
        outputs.close()
        raise TypeError("stream() is a coroutine that yields nothing; yield each payload in it")
    raise TypeError(
        f"stream() returned {type(outputs).__name__}, over which nothing can iterate;"
        " yield each payload, or return an iterator"
    )
