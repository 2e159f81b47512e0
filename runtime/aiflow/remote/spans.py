"""A sample of a session's events as OpenTelemetry spans.

Every so often one event of each source is traced to its end: a root span from its arrival until
the last of its descendants has been settled, and in it one span for each stay at a node, with wait,
service and blocked time. While nobody samples nothing is paid. Only the API of OpenTelemetry is
used: what becomes of the spans is decided by the tracer that the application hands in, and
payloads are never in them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Protocol

from aiflow.clock import Clock, SystemClock
from aiflow.engine.session import Session
from aiflow.errors import RemoteError

#: Periods that an event gets to come to its end; what has not is exported as it is.
MOST_PERIODS = 10
#: Sources sampled in one period, in turn where there are more.
MOST_SOURCES = 4

Row = Mapping[str, Any]


class Tracer(Protocol):
    """What is needed of an OpenTelemetry tracer."""

    def start_span(self, name: str, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - another package's types
        """Return a span that has begun."""
        ...


@contextlib.asynccontextmanager
async def spanned(
    session: Session, tracer: Tracer, every_s: float = 1.0, clock: Clock | None = None
) -> AsyncIterator[None]:
    """Sample a session's events while the block lasts.

    Args:
        session: that runs, or begins to within the block.
        tracer: an OpenTelemetry tracer, such as `opentelemetry.trace.get_tracer("my-server")`.
        every_s: seconds between samples, > 0.
        clock: the session's; None is the machine's.

    Raises:
        RemoteError: OpenTelemetry is not installed.
    """
    try:
        within = import_module("opentelemetry.trace").set_span_in_context
    except ImportError as error:
        raise RemoteError('spans need OpenTelemetry; pip install "aiflow-runtime[otel]"') from error
    own = SystemClock() if clock is None else clock
    sampler = _Sampler(session, tracer, within, own)
    task = asyncio.ensure_future(sampler.go_on(every_s))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        sampler.close()
        if not task.cancelled():
            task.result()


class _Sampler:
    """Opens traces, and makes spans of those that have come to their end."""

    def __init__(
        self, session: Session, tracer: Tracer, within: Callable[[Any], Any], clock: Clock
    ) -> None:
        self._session = session
        self._tracer = tracer
        self._within = within
        self._clock = clock
        self._open: dict[Any, int] = {}
        self._turn = 0
        # Spans carry the time of day, and the session has none.
        self._of_day_s = time.time() - clock.now()

    async def go_on(self, every_s: float) -> None:
        """Sample until cancelled, or until the session is over."""
        while self._session.status.phase == "idle":
            await self._clock.sleep(every_s)
        while self._session.status.phase in ("running", "draining"):
            self._begin()
            await self._clock.sleep(every_s)
            self._end()

    def close(self) -> None:
        """Make spans of what is open, however far it has come."""
        for trace in tuple(self._open):
            self._close(trace)

    def _begin(self) -> None:
        sources = [id for id, node in self._session.plan.nodes.items() if node.is_source]
        busy = {trace.source for trace in self._open}
        for _ in range(min(MOST_SOURCES - len(self._open), len(sources))):
            source = sources[self._turn % len(sources)]
            self._turn += 1
            if source not in busy:
                self._open[self._session.trace(source)] = 0

    def _end(self) -> None:
        for trace in tuple(self._open):
            self._open[trace] += 1
            rows = trace.rows()
            is_over = bool(rows) and all(row["outcome"] for row in rows)
            if is_over or self._open[trace] >= MOST_PERIODS:
                self._close(trace)

    def _close(self, trace: Any) -> None:  # noqa: ANN401 - what `Session.trace` returns
        del self._open[trace]
        rows = trace.rows()
        trace.close()
        if rows:
            self._tell(rows)

    def _tell(self, rows: Iterable[Row]) -> None:
        """Make a root span of the event, and a span of each stay."""
        now = self._clock.now()
        spans = [(_began(row, now), _ended(row, now), row) for row in rows]
        first = spans[0][2]
        root = self._tracer.start_span(
            f"event of {first['source']}",
            start_time=self._ns(min(began for began, _, _ in spans)),
            attributes=_named(first, ("conversation", "turn", "source", "sequence", "type")),
        )
        for began, ended, row in spans:
            span = self._tracer.start_span(
                row["node"],
                context=self._within(root),
                start_time=self._ns(began),
                attributes=_named(
                    row, ("edge", "part", "hops", "outcome", "wait_s", "service_s", "blocked_s")
                ),
            )
            span.end(end_time=self._ns(ended))
        root.end(end_time=self._ns(max(ended for _, ended, _ in spans)))

    def _ns(self, at_s: float) -> int:
        return int((at_s + self._of_day_s) * 1e9)


def _began(row: Row, now: float) -> float:
    times = [row[name] for name in ("arrived_at", "begun_at", "settled_at")]
    return min((at for at in times if at is not None), default=now)


def _ended(row: Row, now: float) -> float:
    return now if row["settled_at"] is None else float(row["settled_at"])


def _named(row: Row, names: Iterable[str]) -> dict[str, Any]:
    """Return attributes; a time that nobody knows is left out."""
    return {f"aiflow.{name}": row[name] for name in names if row[name] is not None}
